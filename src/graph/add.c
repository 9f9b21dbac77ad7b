// SPDX-License-Identifier: Apache-2.0
// Adding a node: everything is checked, then room is made, and only then is the graph changed.
#include "graph/add.h"

#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "graph/addresses.h"
#include "graph/graph_ranks.h"

// ---- the common steps ----

static braid_status check_after(const braid_graph *graph, const char *name,
                                const braid_node_options *options)
{
    if (options->num_after && !options->after)
        return braid_error_invalid("node '%s': .after is NULL, .num_after is %zu", name,
                                   options->num_after);
    for (size_t i = 0; i < options->num_after; i++) {
        braid_node after = options->after[i];
        if (graph_is_elsewhere(graph, after))
            return braid_error_invalid("node '%s': .after[%zu] runs on another rank; order between "
                                       "ranks comes from what is sent",
                                       name, i);
        if (!graph_owns_node(graph, after))
            return braid_error_invalid(
                "node '%s': .after[%zu] (node %u of graph %u) is not a node of this graph", name, i,
                after.index, after.graph);
    }
    return BRAID_OK;
}

braid_status braid_graph_check_accesses(const braid_graph *graph, const char *name,
                                        const braid_node_options *options)
{
    if (options->num_accesses && !options->accesses)
        return braid_error_invalid("node '%s': .accesses is NULL, .num_accesses is %zu", name,
                                   options->num_accesses);
    if (options->num_accesses > GRAPH_MAX_ITEMS - graph->accesses.num)
        return braid_error_invalid("node '%s': too many accesses", name);
    for (size_t i = 0; i < options->num_accesses; i++) {
        braid_resource resource = options->accesses[i].resource;
        if (resource.graph != graph->id || resource.index >= graph->resources.num)
            return braid_error_invalid("node '%s': .accesses[%zu] (resource %u of graph %u) is not "
                                       "a resource of this graph",
                                       name, i, resource.index, resource.graph);
        if (graph_resource_at(graph, resource.index)->is_scratch)
            return braid_error_invalid("node '%s': .accesses[%zu] is scratch, of which each node "
                                       "has its own: no access is declared to it",
                                       name, i);
        int mode = (int)options->accesses[i].mode;
        if (mode < BRAID_READ || mode > BRAID_ACCUMULATE)
            return braid_error_invalid("node '%s': .accesses[%zu] has the unknown mode %d", name, i,
                                       mode);
        if (mode != BRAID_EXCLUSIVE && graph_resource_at(graph, resource.index)->num_slots)
            return braid_error_invalid("node '%s': .accesses[%zu] is to slots, which nodes hold by "
                                       "BRAID_EXCLUSIVE alone",
                                       name, i);
    }
    return BRAID_OK;
}

static braid_status check_bundle(const braid_graph *graph, const char *name,
                                 const braid_node_options *options)
{
    bool prelude = options->prelude_of.graph != 0;
    bool epilogue = options->epilogue_of.graph != 0;
    if (!prelude && !epilogue)
        return BRAID_OK;
    const char *role = prelude ? "prelude" : "epilogue";
    braid_node main = prelude ? options->prelude_of : options->epilogue_of;
    if (prelude && epilogue)
        return braid_error_invalid("node '%s': .prelude_of and .epilogue_of are both set", name);
    if (!graph_owns_node(graph, main))
        return braid_error_invalid(
            "node '%s': its main node (node %u of graph %u) is not a node of this graph", name,
            main.index, main.graph);
    if (graph_nodes(graph)[main.index].role != GRAPH_MAIN)
        return braid_error_invalid(
            "node '%s': it cannot be a %s of '%s', which is a prelude or epilogue itself", name,
            role, braid_graph_name(graph, main.index));
    enum work_kind kind = (enum work_kind)graph_nodes(graph)[main.index].kind;
    if (work_has_body(kind))
        return braid_error_invalid("node '%s': it cannot be a %s of the %s '%s'", name, role,
                                   braid_work_words[kind].kind,
                                   braid_graph_name(graph, main.index));
    if (options->place)
        return braid_error_invalid(
            "node '%s': a %s runs on the device of its main node '%s'; give the place there", name,
            role, braid_graph_name(graph, main.index));
    if (options->lane_hint)
        return braid_error_invalid(
            "node '%s': a %s runs on the lane of its main node '%s'; give the hint there", name,
            role, braid_graph_name(graph, main.index));
    return BRAID_OK;
}

braid_status braid_graph_check_node(const braid_graph *graph, const char *name,
                                    const braid_node_options *options)
{
    if (!graph)
        return braid_error_invalid("node '%s': the graph is NULL", name);
    if (!*name)
        return braid_error_invalid("node %u: its name is empty; NULL is the kernel's name or the "
                                   "kind of node",
                                   graph_num_nodes(graph));
    if (graph->nodes.num >= GRAPH_MAX_ITEMS)
        return braid_error_invalid("node '%s': too many nodes", name);
    if (graph->imported_places)
        return braid_error_invalid("node '%s': an imported graph takes no further nodes", name);
    braid_status status = check_after(graph, name, options);
    if (!status && options->place > GRAPH_MOST_PLACES)
        status = braid_error_invalid("node '%s': its place is %u, not 1 to %d", name,
                                     options->place, GRAPH_MOST_PLACES);
    if (!status)
        status = braid_graph_check_accesses(graph, name, options);
    if (!status)
        status = check_bundle(graph, name, options);
    return status;
}

braid_status braid_graph_reserve_node(braid_graph *graph, const char *name,
                                      const braid_node_options *options)
{
    if (!braid_array_reserve(&graph->nodes, 1, sizeof(struct graph_node)) ||
        !braid_array_reserve(&graph->edges, options->num_after, sizeof(struct graph_edge)) ||
        !braid_array_reserve(&graph->accesses, options->num_accesses,
                             sizeof(struct graph_access)) ||
        !braid_names_reserve(&graph->names, options->name))
        return braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    return BRAID_OK;
}

static void append_edges(braid_graph *graph, uint32_t index, const braid_node_options *options)
{
    struct graph_edge *edges =
        braid_array_append(&graph->edges, options->num_after, sizeof(*edges));
    for (size_t i = 0; i < options->num_after; i++)
        edges[i] = (struct graph_edge){ .from = options->after[i].index, .to = index };
}

static void append_accesses(braid_graph *graph, const braid_node_options *options)
{
    struct graph_access *accesses =
        braid_array_append(&graph->accesses, options->num_accesses, sizeof(*accesses));
    for (size_t i = 0; i < options->num_accesses; i++) {
        uint32_t index = options->accesses[i].resource.index;
        struct graph_resource *slots = &((struct graph_resource *)graph->resources.items)[index];
        accesses[i] = (struct graph_access){ .resource = index + slots->next_slot,
                                             .mode = (uint32_t)options->accesses[i].mode };
        slots->next_slot = slots->num_slots ? (slots->next_slot + 1) % slots->num_slots : 0;
    }
}

// Adds accesses to the node's own scratch: the last resources. There is room. Returns how many.
static uint32_t append_scratch(braid_graph *graph, uint32_t node)
{
    uint32_t first = (uint32_t)graph->resources.num, end = first;
    while (first > 0 && graph_resource_at(graph, first - 1)->scratch != GRAPH_NONE &&
           graph_resource_at(graph, first - 1)->scratch_node == node)
        first--;
    for (uint32_t i = first; i < end; i++) {
        struct graph_access *access = braid_array_append(&graph->accesses, 1, sizeof(*access));
        *access = (struct graph_access){ .resource = i, .mode = BRAID_EXCLUSIVE };
    }
    return end - first;
}

void braid_graph_append_node(braid_graph *graph, enum work_kind kind, uint32_t payload,
                             const braid_node_options *options, braid_node *out_node)
{
    uint32_t index = (uint32_t)graph->nodes.num;
    struct graph_node node = {
        .cost_ns = options->cost_ns,
        .name = braid_names_store(&graph->names, options->name),
        .lane_hint = options->lane_hint,
        .payload = payload,
        .main = index,
        .first_access = (uint32_t)graph->accesses.num,
        .num_accesses = (uint32_t)options->num_accesses,
        .kind = (uint8_t)kind,
        .role = GRAPH_MAIN,
        .place = (uint8_t)options->place,
    };
    if (options->prelude_of.graph) {
        node.main = options->prelude_of.index;
        node.role = GRAPH_PRELUDE;
    } else if (options->epilogue_of.graph) {
        node.main = options->epilogue_of.index;
        node.role = GRAPH_EPILOGUE;
    }
    graph->num_bundled += node.role != GRAPH_MAIN;
    if (options->num_after)
        append_edges(graph, index, options);
    if (options->num_accesses)
        append_accesses(graph, options);
    node.num_accesses += append_scratch(graph, index);
    *(struct graph_node *)braid_array_append(&graph->nodes, 1, sizeof(node)) = node;
    graph->version++;
    if (out_node)
        *out_node = (braid_node){ .index = index, .graph = graph->id };
}

braid_status braid_graph_add_task(braid_graph *graph, const char *name,
                                  const braid_node_options *options, graph_add *add,
                                  const void *description, braid_node *out_node)
{
    struct owner_task task;
    if (!graph || !graph->ranks)
        return add(graph, name, description, out_node);
    const struct graph_ranks_ops *ops = graph->ranks->ops;
    braid_status status = ops->begin_task(graph, name, options, &task);
    if (status)
        return status;
    if (task.is_here)
        status = add(graph, name, description, out_node);
    return ops->end_task(graph, &task, options, status, out_node);
}

// ---- copy, fill, host, queue and empty nodes ----

enum { MOST_POINTERS = 2 };

// A pointer that may be given as a resource.
struct pointer {
    const char *name; // NULL: there is none
    const void *given;
    braid_resource resource; // { 0 }: `given` counts
    size_t offset;           // in the node's work
    uint64_t *room;          // there: bytes of the resource, if it is one; NULL: it has no such
};

// A node of one of these kinds, but an empty one.
struct work_node {
    enum work_kind kind;
    const braid_node_options *options;
    union work work; // without the pointers
    struct pointer pointers[MOST_POINTERS];
    uint64_t bytes;   // that are copied or filled, in each row
    braid_rows *rows; // in the work; NULL: it is a call
};

// Fills in the fields of rows that are 0. Spans of so few rows have 64 bits.
static braid_status take_rows(const char *name, const struct work_node *node)
{
    braid_rows *rows = node->rows;
    const uint32_t value_bytes = node->kind == WORK_FILL ? node->work.fill.value_bytes : 1;
    const uint32_t bytes = (uint32_t)(node->bytes > UINT32_MAX ? UINT32_MAX : node->bytes);
    rows->num += !rows->num;
    rows->layers += !rows->layers;
    rows->to_pitch = rows->to_pitch ? rows->to_pitch : bytes;
    rows->from_pitch = rows->from_pitch ? rows->from_pitch : bytes;
    rows->to_height = rows->to_height ? rows->to_height : rows->num;
    rows->from_height = rows->from_height ? rows->from_height : rows->num;
    if (rows->num == 1 && rows->layers == 1)
        *rows = (braid_rows){ 0 };
    else if (node->bytes > rows->to_pitch || node->bytes > rows->from_pitch ||
             rows->to_height < rows->num || rows->from_height < rows->num ||
             (uint64_t)rows->layers * rows->to_height > UINT32_MAX ||
             (uint64_t)rows->layers * rows->from_height > UINT32_MAX ||
             rows->to_pitch % value_bytes || (node->kind == WORK_FILL && rows->layers > 1))
        return braid_error_invalid("node '%s': .rows has %u layers of %u rows of %llu bytes, and "
                                   "pitches or heights that do not fit",
                                   name, rows->layers, rows->num, (unsigned long long)node->bytes);
    return BRAID_OK;
}

static const char *name_or(const braid_node_options *options, const char *kind)
{
    return options->name ? options->name : kind;
}

static bool is_moving(const struct work_node *node)
{
    return node->kind == WORK_COPY || node->kind == WORK_FILL;
}

// Puts the address into the work: NULL where frames find it, or nothing is given.
static braid_status find_pointer(const braid_graph *graph, const char *name, struct work_node *node,
                                 const struct pointer *pointer)
{
    const void *address = pointer->given;
    const bool is_from = pointer != node->pointers;
    if (is_moving(node) && !address && !pointer->resource.graph)
        return braid_error_invalid("node '%s': .%s is NULL", name, pointer->name);
    const struct address_request request = {
        .node = name,
        .what = pointer->name,
        .options = node->options,
        .resource = pointer->resource,
        .bytes = node->rows ? work_span(node->rows, is_from, node->bytes) : 0
    };
    braid_status status = braid_graph_find_pointer(graph, &request, address, &address);
    if (!status && pointer->resource.graph && pointer->room)
        *pointer->room = graph_resource_at(graph, pointer->resource.index)->bytes;
    memcpy((char *)&node->work + pointer->offset, &address, sizeof(address));
    return status;
}

static braid_status check_amount(const char *name, const struct work_node *node)
{
    const struct work_fill *fill = &node->work.fill;
    if (node->kind == WORK_COPY && node->work.copy.bytes == 0)
        return braid_error_invalid("node '%s': a copy of 0 bytes", name);
    if (node->kind != WORK_FILL)
        return BRAID_OK;
    if (fill->num_values == 0 || fill->num_values > UINT64_MAX / 4)
        return braid_error_invalid("node '%s': a fill of %llu values", name,
                                   (unsigned long long)fill->num_values);
    if (fill->value_bytes != 1 && fill->value_bytes != 2 && fill->value_bytes != 4)
        return braid_error_invalid("node '%s': .value_bytes is %u, not 1, 2 or 4", name,
                                   fill->value_bytes);
    return BRAID_OK;
}

// Finds the bits that addresses can have in memory that frames choose.
static uintptr_t find_bits(const braid_graph *graph, const struct graph_resource *resource)
{
    void *const *versions = graph->versions.items;
    uintptr_t bits = resource->alignment | resource->offset;
    for (uint32_t i = 0; i < resource->num_versions; i++)
        bits |= (uintptr_t)versions[resource->first_version + i];
    return bits;
}

static bool is_planned(const struct graph_resource *resource)
{
    return resource && (resource->alignment || resource->num_versions);
}

// Two parts of one planned buffer are told apart by their offsets. Of other memory that frames
// choose, each frame checks its addresses (frame.c).
static braid_status check_ends(const braid_graph *graph, const char *name,
                               const struct work_node *node)
{
    const struct graph_resource *ends[MOST_POINTERS] = { NULL };
    union work work = node->work;
    for (int i = 0; i < MOST_POINTERS; i++) {
        if (node->pointers[i].resource.graph)
            ends[i] = graph_resource_at(graph, node->pointers[i].resource.index);
    }
    bool known = is_moving(node) && !is_planned(ends[0]) && !is_planned(ends[1]);
    if (node->kind == WORK_FILL && is_planned(ends[0])) {
        work.fill.to = (void *)find_bits(graph, ends[0]);
        known = true;
    } else if (is_planned(ends[0]) && ends[1] && ends[0]->buffer == ends[1]->buffer) {
        work.copy.to = (void *)(uintptr_t)ends[0]->offset;
        work.copy.from = (const void *)(uintptr_t)ends[1]->offset;
        known = true;
    }
    const char *flaw = known ? braid_work_flaw(node->kind, &work) : NULL;
    return flaw ? braid_error_invalid("node '%s': %s", name, flaw) : BRAID_OK;
}

static braid_status check(const braid_graph *graph, const char *name, struct work_node *node)
{
    braid_status status = braid_graph_check_node(graph, name, node->options);
    if (!status && ((node->kind == WORK_HOST && !node->work.host.call) ||
                    (node->kind == WORK_QUEUE && !node->work.queue.call)))
        status = braid_error_invalid("node '%s': .call is NULL", name);
    if (!status && node->rows)
        status = take_rows(name, node);
    for (int i = 0; i < MOST_POINTERS && !status; i++) {
        if (node->pointers[i].name)
            status = find_pointer(graph, name, node, &node->pointers[i]);
    }
    if (!status)
        status = check_amount(name, node);
    return status ? status : check_ends(graph, name, node);
}

static braid_status add_work(braid_graph *graph, const char *name, const void *description,
                             braid_node *out_node)
{
    struct work_node *node = (struct work_node *)(uintptr_t)description;
    braid_status status = check(graph, name, node);
    if (!status)
        status = braid_graph_reserve_node(graph, name, node->options);
    if (status)
        return status;
    uint32_t payload = (uint32_t)graph->works.num;
    if (!braid_graph_reserve_addresses(graph, node->options, MOST_POINTERS) ||
        !braid_array_put(&graph->works, &node->work, sizeof(node->work)))
        return braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    for (int i = 0; i < MOST_POINTERS; i++) {
        const struct pointer *pointer = &node->pointers[i];
        if (pointer->resource.graph)
            braid_graph_append_address(graph, (uint32_t)pointer->offset, pointer->resource);
    }
    braid_graph_append_node(graph, node->kind, payload, node->options, out_node);
    return BRAID_OK;
}

static braid_status add_node(braid_graph *graph, const char *kind, struct work_node *node,
                             braid_node *out_node)
{
    return braid_graph_add_task(graph, name_or(node->options, kind), node->options, add_work, node,
                                out_node);
}

static braid_status add_copy(braid_graph *graph, const braid_copy *copy, braid_node *out_node)
{
    struct work_node node = { .kind = WORK_COPY, .options = &copy->node, .bytes = copy->bytes };
    struct work_copy *work = &node.work.copy;
    node.rows = &work->rows;
    work->rows = copy->rows;
    work->bytes = copy->bytes;
    node.pointers[0] = (struct pointer){ "to", copy->to, copy->to_resource,
                                         offsetof(struct work_copy, to), &work->to_room };
    node.pointers[1] = (struct pointer){ "from", copy->from, copy->from_resource,
                                         offsetof(struct work_copy, from), &work->from_room };
    return add_node(graph, "copy", &node, out_node);
}

static braid_status add_fill(braid_graph *graph, const braid_fill *fill, braid_node *out_node)
{
    uint32_t value_bytes = fill->value_bytes ? fill->value_bytes : 1;
    struct work_node node = { .kind = WORK_FILL,
                              .options = &fill->node,
                              .bytes = fill->num_values * value_bytes };
    struct work_fill *work = &node.work.fill;
    node.rows = &work->rows;
    work->rows = fill->rows;
    work->num_values = fill->num_values;
    work->value = fill->value;
    work->value_bytes = value_bytes;
    node.pointers[0] = (struct pointer){ "to", fill->to, fill->to_resource,
                                         offsetof(struct work_fill, to), &work->to_room };
    return add_node(graph, "fill", &node, out_node);
}

static braid_status add_host_call(braid_graph *graph, const braid_host_call *host_call,
                                  braid_node *out_node)
{
    struct work_node node = {
        .kind = WORK_HOST,
        .options = &host_call->node,
        .work.host = { .call = host_call->call, .is_blocking = host_call->blocking },
        .pointers = { { "user", host_call->user, host_call->user_resource,
                        offsetof(struct work_host, user), NULL } },
    };
    return add_node(graph, "host call", &node, out_node);
}

static braid_status add_queue_call(braid_graph *graph, const braid_queue_call *call,
                                   braid_node *out_node)
{
    struct work_node node = {
        .kind = WORK_QUEUE,
        .options = &call->node,
        .work.queue = { .call = call->call },
        .pointers = { { "user", call->user, call->user_resource, offsetof(struct work_queue, user),
                        NULL } },
    };
    return add_node(graph, "queue call", &node, out_node);
}

static braid_status add_join(braid_graph *graph, const char *name, const void *description,
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

static braid_status add_empty(braid_graph *graph, const braid_empty *empty, braid_node *out_node)
{
    return braid_graph_add_task(graph, name_or(&empty->node, "empty"), &empty->node, add_join,
                                empty, out_node);
}

SIZED_NODE(add_copy, braid_copy, copy)
SIZED_NODE(add_fill, braid_fill, fill)
SIZED_NODE(add_host_call, braid_host_call, host_call)
SIZED_NODE(add_queue_call, braid_queue_call, call)
SIZED_NODE(add_empty, braid_empty, empty)
