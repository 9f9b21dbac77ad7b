// SPDX-License-Identifier: Apache-2.0
// Copy, fill, host, native and empty nodes.
#include "base/error.h"
#include "graph/add.h"

// Checks the common part, makes room for it and for the payload; BRAID_OK means nothing later
// fails.
static braid_status prepare(braid_graph *graph, const char *name, const braid_node_options *options,
                            struct array *payloads, size_t payload_bytes)
{
    braid_status status = braid_graph_reserve_node(graph, name, options);
    if (!status && !braid_array_reserve(payloads, 1, payload_bytes))
        status = braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    return status;
}

static const char *name_or(const braid_node_options *options, const char *kind)
{
    return options->name ? options->name : kind;
}

static braid_status check_copy(const char *name, const braid_copy *copy)
{
    if (!copy->to || !copy->from)
        return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': .%s is NULL", name,
                           copy->to ? "from" : "to");
    if (copy->bytes == 0)
        return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': a copy of 0 bytes", name);
    return BRAID_OK;
}

braid_status braid_graph_add_copy(braid_graph *graph, const braid_copy *copy, braid_node *out_node)
{
    if (!copy)
        return braid_error_null("braid_graph_add_copy", "copy");
    const char *name = name_or(&copy->node, "copy");
    braid_status status = braid_graph_check_node(graph, name, &copy->node);
    if (!status)
        status = check_copy(name, copy);
    if (!status)
        status = prepare(graph, name, &copy->node, &graph->copies, sizeof(struct graph_copy));
    if (status)
        return status;
    uint32_t payload = (uint32_t)graph->copies.num;
    struct graph_copy *slot = braid_array_append(&graph->copies, 1, sizeof(*slot));
    *slot = (struct graph_copy){ .to = copy->to, .from = copy->from, .bytes = copy->bytes };
    braid_graph_append_node(graph, GRAPH_COPY, payload, &copy->node, out_node);
    return BRAID_OK;
}

static braid_status check_fill(const char *name, const braid_fill *fill, uint32_t value_bytes)
{
    if (!fill->to)
        return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': .to is NULL", name);
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
    braid_status status = braid_graph_check_node(graph, name, &fill->node);
    if (!status)
        status = check_fill(name, fill, value_bytes);
    if (!status)
        status = prepare(graph, name, &fill->node, &graph->fills, sizeof(struct graph_fill));
    if (status)
        return status;
    uint32_t payload = (uint32_t)graph->fills.num;
    struct graph_fill *slot = braid_array_append(&graph->fills, 1, sizeof(*slot));
    *slot = (struct graph_fill){ .to = fill->to,
                                 .num_values = fill->num_values,
                                 .value = fill->value,
                                 .value_bytes = value_bytes };
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
    braid_status status = braid_graph_check_node(graph, name, &host_call->node);
    if (!status && !host_call->call)
        status = null_call(name);
    if (!status)
        status = prepare(graph, name, &host_call->node, &graph->hosts, sizeof(struct graph_host));
    if (status)
        return status;
    uint32_t payload = (uint32_t)graph->hosts.num;
    struct graph_host *slot = braid_array_append(&graph->hosts, 1, sizeof(*slot));
    *slot = (struct graph_host){ .call = host_call->call, .user = host_call->user };
    braid_graph_append_node(graph, GRAPH_HOST, payload, &host_call->node, out_node);
    return BRAID_OK;
}

braid_status braid_graph_add_native(braid_graph *graph, const braid_native *native,
                                    braid_node *out_node)
{
    if (!native)
        return braid_error_null("braid_graph_add_native", "native");
    const char *name = name_or(&native->node, "native call");
    braid_status status = braid_graph_check_node(graph, name, &native->node);
    if (!status && !native->call)
        status = null_call(name);
    if (!status)
        status = prepare(graph, name, &native->node, &graph->natives, sizeof(struct graph_native));
    if (status)
        return status;
    uint32_t payload = (uint32_t)graph->natives.num;
    struct graph_native *slot = braid_array_append(&graph->natives, 1, sizeof(*slot));
    *slot = (struct graph_native){ .call = native->call, .user = native->user };
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
