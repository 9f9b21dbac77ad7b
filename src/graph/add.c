// SPDX-License-Identifier: Apache-2.0
// Adding a node: everything is checked, then room is made, and only then is the graph changed.
#include "graph/add.h"

#include "base/error.h"
#include "graph/graph_ranks.h"

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
    braid_status status = check_after(graph, name, options);
    if (!status && options->place > GRAPH_MOST_PLACES)
        status =
            braid_error_invalid("node '%s': its place is %u, not BRAID_PLACE(0) to BRAID_PLACE(%d)",
                                name, options->place, GRAPH_MOST_PLACES - 1);
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
    for (size_t i = 0; i < options->num_accesses; i++)
        accesses[i] = (struct graph_access){ .resource = options->accesses[i].resource.index,
                                             .mode = (uint32_t)options->accesses[i].mode };
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
