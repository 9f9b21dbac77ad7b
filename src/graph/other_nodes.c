// SPDX-License-Identifier: Apache-2.0
// Copy, fill, host, queue and empty nodes.
#include "base/error.h"
#include "graph/add.h"
#include "graph/addresses.h"
#include "graph/owners.h"

enum { MOST_ADDRESSES = 2 }; // of transient buffers that a node of these kinds may take

// A pointer that may be given as a resource.
struct pointer {
    const void *given;
    braid_resource resource; // { 0 }: `given` counts
    const char *name;
    size_t place;        // in the node's work
    const void *address; // as found; NULL where frames find it, or nothing is given
    uint64_t room;       // bytes of the resource, if it is one
};

static const char *name_or(const braid_node_options *options, const char *kind)
{
    return options->name ? options->name : kind;
}

static braid_status find_pointer(const braid_graph *graph, const char *name,
                                 const braid_node_options *options, uint64_t bytes,
                                 struct pointer *pointer)
{
    pointer->address = pointer->given;
    if (!pointer->resource.graph)
        return BRAID_OK;
    if (pointer->given)
        return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': .%s and .%s_resource are both given",
                           name, pointer->name, pointer->name);
    char what[32];
    snprintf(what, sizeof(what), ".%s_resource", pointer->name);
    const struct address_request request = {
        .node = name,
        .what = what,
        .options = options,
        .resource = pointer->resource,
        .bytes = bytes,
    };
    braid_status status = braid_graph_find_address(graph, &request, &pointer->address);
    if (status)
        return status;
    pointer->room = graph_resource_at(graph, pointer->resource.index)->bytes;
    return BRAID_OK;
}

// The same, of a copy or fill: it must be given.
static braid_status find_end(const braid_graph *graph, const char *name,
                             const braid_node_options *options, uint64_t bytes, struct pointer *end)
{
    if (!end->given && !end->resource.graph)
        return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': .%s is NULL", name, end->name);
    return find_pointer(graph, name, options, bytes, end);
}

// Behind everything that can fail, right before the node is added.
static void append_pointer(braid_graph *graph, const struct pointer *pointer)
{
    if (pointer->resource.graph)
        braid_graph_append_address(graph, (uint32_t)pointer->place, pointer->resource);
}

// A node that was checked.
static braid_status append_work(braid_graph *graph, const char *name, enum work_kind kind,
                                const braid_node_options *options, union work work,
                                const struct pointer pointers[2], braid_node *out_node)
{
    braid_status status = braid_graph_reserve_node(graph, name, options);
    if (status)
        return status;
    uint32_t payload = (uint32_t)graph->works.num;
    if (!braid_array_reserve(&graph->works, 1, sizeof(work)) ||
        !braid_graph_reserve_addresses(graph, options, MOST_ADDRESSES))
        return braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    *(union work *)braid_array_append(&graph->works, 1, sizeof(work)) = work;
    for (int i = 0; i < MOST_ADDRESSES; i++)
        append_pointer(graph, &pointers[i]);
    braid_graph_append_node(graph, kind, payload, options, out_node);
    return BRAID_OK;
}

static braid_status check_copy(const braid_graph *graph, const char *name, const braid_copy *copy,
                               struct pointer *to, struct pointer *from)
{
    *to = (struct pointer){ copy->to, copy->to_resource, "to", offsetof(struct work_copy, to), NULL,
                            0 };
    *from = (struct pointer){ copy->from, copy->from_resource,
                              "from",     offsetof(struct work_copy, from),
                              NULL,       0 };
    braid_status status = find_end(graph, name, &copy->node, copy->bytes, to);
    if (!status)
        status = find_end(graph, name, &copy->node, copy->bytes, from);
    if (!status && copy->bytes == 0)
        return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': a copy of 0 bytes", name);
    return status;
}

static braid_status add_copy(braid_graph *graph, const char *name, const void *description,
                             braid_node *out_node)
{
    const braid_copy *copy = description;
    struct pointer ends[MOST_ADDRESSES] = { 0 };
    braid_status status = braid_graph_check_node(graph, name, &copy->node);
    if (!status)
        status = check_copy(graph, name, copy, &ends[0], &ends[1]);
    if (status)
        return status;
    const union work work = { .copy = { .to = (void *)(uintptr_t)ends[0].address,
                                        .from = ends[1].address,
                                        .bytes = copy->bytes,
                                        .to_room = ends[0].room,
                                        .from_room = ends[1].room } };
    return append_work(graph, name, WORK_COPY, &copy->node, work, ends, out_node);
}

braid_status braid_graph_add_copy(braid_graph *graph, const braid_copy *copy, braid_node *out_node)
{
    if (!copy)
        return braid_error_null("braid_graph_add_copy", "copy");
    return braid_graph_add_task(graph, name_or(&copy->node, "copy"), &copy->node, add_copy, copy,
                                out_node);
}

static braid_status check_fill(const braid_graph *graph, const char *name, const braid_fill *fill,
                               uint32_t value_bytes, struct pointer *to)
{
    *to = (struct pointer){ fill->to, fill->to_resource, "to", offsetof(struct work_fill, to), NULL,
                            0 };
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

static braid_status add_fill(braid_graph *graph, const char *name, const void *description,
                             braid_node *out_node)
{
    const braid_fill *fill = description;
    uint32_t value_bytes = fill->value_bytes ? fill->value_bytes : 1;
    struct pointer to[MOST_ADDRESSES] = { 0 };
    braid_status status = braid_graph_check_node(graph, name, &fill->node);
    if (!status)
        status = check_fill(graph, name, fill, value_bytes, &to[0]);
    if (status)
        return status;
    const union work work = { .fill = { .to = (void *)(uintptr_t)to[0].address,
                                        .num_values = fill->num_values,
                                        .value = fill->value,
                                        .value_bytes = value_bytes,
                                        .to_room = to[0].room } };
    return append_work(graph, name, WORK_FILL, &fill->node, work, to, out_node);
}

braid_status braid_graph_add_fill(braid_graph *graph, const braid_fill *fill, braid_node *out_node)
{
    if (!fill)
        return braid_error_null("braid_graph_add_fill", "fill");
    return braid_graph_add_task(graph, name_or(&fill->node, "fill"), &fill->node, add_fill, fill,
                                out_node);
}

static braid_status null_call(const char *name)
{
    return braid_error(BRAID_INVALID_ARGUMENT, "node '%s': .call is NULL", name);
}

static braid_status add_host_call(braid_graph *graph, const char *name, const void *description,
                                  braid_node *out_node)
{
    const braid_host_call *host_call = description;
    struct pointer user[MOST_ADDRESSES] = { { host_call->user, host_call->user_resource, "user",
                                              offsetof(struct work_host, user), NULL, 0 } };
    braid_status status = braid_graph_check_node(graph, name, &host_call->node);
    if (!status && !host_call->call)
        status = null_call(name);
    if (!status)
        status = find_pointer(graph, name, &host_call->node, 0, &user[0]);
    if (status)
        return status;
    const union work work = { .host = { .call = host_call->call,
                                        .user = (void *)(uintptr_t)user[0].address,
                                        .is_blocking = host_call->blocking } };
    return append_work(graph, name, WORK_HOST, &host_call->node, work, user, out_node);
}

braid_status braid_graph_add_host_call(braid_graph *graph, const braid_host_call *host_call,
                                       braid_node *out_node)
{
    if (!host_call)
        return braid_error_null("braid_graph_add_host_call", "host_call");
    return braid_graph_add_task(graph, name_or(&host_call->node, "host call"), &host_call->node,
                                add_host_call, host_call, out_node);
}

static braid_status add_queue_call(braid_graph *graph, const char *name, const void *description,
                                   braid_node *out_node)
{
    const braid_queue_call *call = description;
    struct pointer user[MOST_ADDRESSES] = { { call->user, call->user_resource, "user",
                                              offsetof(struct work_queue, user), NULL, 0 } };
    braid_status status = braid_graph_check_node(graph, name, &call->node);
    if (!status && !call->call)
        status = null_call(name);
    if (!status)
        status = find_pointer(graph, name, &call->node, 0, &user[0]);
    if (status)
        return status;
    const union work work = { .queue = { .call = call->call,
                                         .user = (void *)(uintptr_t)user[0].address } };
    return append_work(graph, name, WORK_QUEUE, &call->node, work, user, out_node);
}

braid_status braid_graph_add_queue_call(braid_graph *graph, const braid_queue_call *call,
                                        braid_node *out_node)
{
    if (!call)
        return braid_error_null("braid_graph_add_queue_call", "call");
    return braid_graph_add_task(graph, name_or(&call->node, "queue call"), &call->node,
                                add_queue_call, call, out_node);
}

static braid_status add_empty(braid_graph *graph, const char *name, const void *description,
                              braid_node *out_node)
{
    const braid_empty *empty = description;
    braid_status status = braid_graph_check_node(graph, name, &empty->node);
    if (!status)
        status = braid_graph_reserve_node(graph, name, &empty->node);
    if (status)
        return status;
    braid_graph_append_node(graph, WORK_EMPTY, 0, &empty->node, out_node);
    return BRAID_OK;
}

braid_status braid_graph_add_empty(braid_graph *graph, const braid_empty *empty,
                                   braid_node *out_node)
{
    if (!empty)
        return braid_error_null("braid_graph_add_empty", "empty");
    return braid_graph_add_task(graph, name_or(&empty->node, "empty"), &empty->node, add_empty,
                                empty, out_node);
}
