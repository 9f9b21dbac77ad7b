// SPDX-License-Identifier: Apache-2.0
// Copy, fill, host, native and empty nodes.
#include "base/error.h"
#include "graph/add.h"
#include "graph/addresses.h"

enum { MOST_ADDRESSES = 2 }; // of transient buffers that a node of these kinds may take

// A pointer that may be given as a resource.
struct pointer {
    const void *given;
    braid_resource resource; // { 0 }: `given` counts
    enum graph_address_field field;
    const void *address; // as found; NULL where frames find it, or nothing is given
};

// Checks the common part, makes room for it and for the payload; BRAID_OK means nothing later
// fails.
static braid_status prepare(braid_graph *graph, const char *name, const braid_node_options *options,
                            struct array *payloads, size_t payload_bytes)
{
    braid_status status = braid_graph_reserve_node(graph, name, options);
    if (!status && (!braid_array_reserve(payloads, 1, payload_bytes) ||
                    !braid_graph_reserve_addresses(graph, MOST_ADDRESSES)))
        status = braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    return status;
}

static const char *name_or(const braid_node_options *options, const char *kind)
{
    return options->name ? options->name : kind;
}

static const char *field_name(enum graph_address_field field)
{
    return field == GRAPH_ADDRESS_TO ? "to" : field == GRAPH_ADDRESS_FROM ? "from" : "user";
}

static braid_status find_pointer(const braid_graph *graph, const char *name,
                                 const braid_node_options *options, uint64_t bytes,
                                 struct pointer *pointer)
{
    const char *field = field_name(pointer->field);
    pointer->address = pointer->given;
    if (!pointer->resource.graph)
        return BRAID_OK;
    if (pointer->given)
        return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': .%s and .%s_resource are both given",
                           name, field, field);
    char what[32];
    snprintf(what, sizeof(what), ".%s_resource", field);
    const struct address_request request = {
        .node = name,
        .what = what,
        .options = options,
        .resource = pointer->resource,
        .bytes = bytes,
    };
    return braid_graph_find_address(graph, &request, &pointer->address);
}

// The same, of a copy or fill: it must be given.
static braid_status find_end(const braid_graph *graph, const char *name,
                             const braid_node_options *options, uint64_t bytes, struct pointer *end)
{
    if (!end->given && !end->resource.graph)
        return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': .%s is NULL", name,
                           field_name(end->field));
    return find_pointer(graph, name, options, bytes, end);
}

// Behind everything that can fail, right before the node is added.
static void append_pointer(braid_graph *graph, const struct pointer *pointer)
{
    if (pointer->resource.graph && !pointer->address)
        braid_graph_append_address(graph, pointer->field, 0, pointer->resource);
}

static braid_status check_copy(const braid_graph *graph, const char *name, const braid_copy *copy,
                               struct pointer *to, struct pointer *from)
{
    *to = (struct pointer){ copy->to, copy->to_resource, GRAPH_ADDRESS_TO, NULL };
    *from = (struct pointer){ copy->from, copy->from_resource, GRAPH_ADDRESS_FROM, NULL };
    braid_status status = find_end(graph, name, &copy->node, copy->bytes, to);
    if (!status)
        status = find_end(graph, name, &copy->node, copy->bytes, from);
    if (!status && copy->bytes == 0)
        return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': a copy of 0 bytes", name);
    return status;
}

braid_status braid_graph_add_copy(braid_graph *graph, const braid_copy *copy, braid_node *out_node)
{
    if (!copy)
        return braid_error_null("braid_graph_add_copy", "copy");
    const char *name = name_or(&copy->node, "copy");
    struct pointer to, from;
    braid_status status = braid_graph_check_node(graph, name, &copy->node);
    if (!status)
        status = check_copy(graph, name, copy, &to, &from);
    if (!status)
        status = prepare(graph, name, &copy->node, &graph->copies, sizeof(struct graph_copy));
    if (status)
        return status;
    uint32_t payload = (uint32_t)graph->copies.num;
    struct graph_copy *slot = braid_array_append(&graph->copies, 1, sizeof(*slot));
    *slot = (struct graph_copy){ .to = (void *)(uintptr_t)to.address,
                                 .from = from.address,
                                 .bytes = copy->bytes };
    append_pointer(graph, &to);
    append_pointer(graph, &from);
    braid_graph_append_node(graph, GRAPH_COPY, payload, &copy->node, out_node);
    return BRAID_OK;
}

static braid_status check_fill(const braid_graph *graph, const char *name, const braid_fill *fill,
                               uint32_t value_bytes, struct pointer *to)
{
    *to = (struct pointer){ fill->to, fill->to_resource, GRAPH_ADDRESS_TO, NULL };
    braid_status status = find_end(graph, name, &fill->node, fill->num_values * value_bytes, to);
    if (status)
        return status;
    if (fill->num_values == 0 || fill->num_values > UINT64_MAX / 4)
        return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': a fill of %llu values", name,
                           (unsigned long long)fill->num_values);
    if (value_bytes != 1 && value_bytes != 2 && value_bytes != 4)
        return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': .value_bytes is %u, not 1, 2 or 4",
                           name, value_bytes);
    return BRAID_OK;
}

braid_status braid_graph_add_fill(braid_graph *graph, const braid_fill *fill, braid_node *out_node)
{
    if (!fill)
        return braid_error_null("braid_graph_add_fill", "fill");
    const char *name = name_or(&fill->node, "fill");
    uint32_t value_bytes = fill->value_bytes ? fill->value_bytes : 1;
    struct pointer to;
    braid_status status = braid_graph_check_node(graph, name, &fill->node);
    if (!status)
        status = check_fill(graph, name, fill, value_bytes, &to);
    if (!status)
        status = prepare(graph, name, &fill->node, &graph->fills, sizeof(struct graph_fill));
    if (status)
        return status;
    uint32_t payload = (uint32_t)graph->fills.num;
    struct graph_fill *slot = braid_array_append(&graph->fills, 1, sizeof(*slot));
    *slot = (struct graph_fill){ .to = (void *)(uintptr_t)to.address,
                                 .num_values = fill->num_values,
                                 .value = fill->value,
                                 .value_bytes = value_bytes };
    append_pointer(graph, &to);
    braid_graph_append_node(graph, GRAPH_FILL, payload, &fill->node, out_node);
    return BRAID_OK;
}

static braid_status null_call(const char *name)
{
    return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': .call is NULL", name);
}

braid_status braid_graph_add_host_call(braid_graph *graph, const braid_host_call *host_call,
                                       braid_node *out_node)
{
    if (!host_call)
        return braid_error_null("braid_graph_add_host_call", "host_call");
    const char *name = name_or(&host_call->node, "host call");
    struct pointer user = { host_call->user, host_call->user_resource, GRAPH_ADDRESS_USER, NULL };
    braid_status status = braid_graph_check_node(graph, name, &host_call->node);
    if (!status && !host_call->call)
        status = null_call(name);
    if (!status)
        status = find_pointer(graph, name, &host_call->node, 0, &user);
    if (!status)
        status = prepare(graph, name, &host_call->node, &graph->hosts, sizeof(struct graph_host));
    if (status)
        return status;
    uint32_t payload = (uint32_t)graph->hosts.num;
    struct graph_host *slot = braid_array_append(&graph->hosts, 1, sizeof(*slot));
    *slot = (struct graph_host){ .call = host_call->call, .user = (void *)(uintptr_t)user.address };
    append_pointer(graph, &user);
    braid_graph_append_node(graph, GRAPH_HOST, payload, &host_call->node, out_node);
    return BRAID_OK;
}

braid_status braid_graph_add_native(braid_graph *graph, const braid_native *native,
                                    braid_node *out_node)
{
    if (!native)
        return braid_error_null("braid_graph_add_native", "native");
    const char *name = name_or(&native->node, "native call");
    struct pointer user = { native->user, native->user_resource, GRAPH_ADDRESS_USER, NULL };
    braid_status status = braid_graph_check_node(graph, name, &native->node);
    if (!status && !native->call)
        status = null_call(name);
    if (!status)
        status = find_pointer(graph, name, &native->node, 0, &user);
    if (!status)
        status = prepare(graph, name, &native->node, &graph->natives, sizeof(struct graph_native));
    if (status)
        return status;
    uint32_t payload = (uint32_t)graph->natives.num;
    struct graph_native *slot = braid_array_append(&graph->natives, 1, sizeof(*slot));
    *slot = (struct graph_native){ .call = native->call, .user = (void *)(uintptr_t)user.address };
    append_pointer(graph, &user);
    braid_graph_append_node(graph, GRAPH_NATIVE, payload, &native->node, out_node);
    return BRAID_OK;
}

braid_status braid_graph_add_empty(braid_graph *graph, const braid_empty *empty,
                                   braid_node *out_node)
{
    if (!empty)
        return braid_error_null("braid_graph_add_empty", "empty");
    const char *name = name_or(&empty->node, "empty");
    braid_status status = braid_graph_check_node(graph, name, &empty->node);
    if (!status)
        status = braid_graph_reserve_node(graph, name, &empty->node);
    if (status)
        return status;
    braid_graph_append_node(graph, GRAPH_EMPTY, 0, &empty->node, out_node);
    return BRAID_OK;
}
