// SPDX-License-Identifier: Apache-2.0
// Beginning and ending regions.
#include "graph/region_begin.h"

#include "base/error.h"
#include "graph/add.h"
#include "graph/addresses.h"

enum { MOST_NESTED = 256 }; // so that a walk outwards from each node takes linear time

static braid_status refuse(enum work_kind kind, const char *name, const char *why)
{
    return braid_error_invalid("%s '%s': %s", braid_work_words[kind].kind, name, why);
}

static braid_status check_options(const struct region_begin *begin)
{
    const braid_node_options *options = begin->options;
    const char *why = NULL;
    if (options->num_accesses)
        why = "it accesses what its body accesses, and has no .accesses of its own";
    else if (options->prelude_of.graph || options->epilogue_of.graph)
        why = "it cannot be a prelude or epilogue";
    else if (options->place)
        why = "it has no .place";
    else if (options->cost_ns)
        why = "it takes as long as its body, and has no .cost_ns";
    return why ? refuse(begin->kind, begin->name, why) : BRAID_OK;
}

// One uint32_t in all frames, or in the memory of each.
static braid_status check_condition(const braid_graph *graph, const struct region_begin *begin)
{
    braid_resource condition = begin->condition;
    const char *kind = braid_work_words[begin->kind].kind;
    if (!condition.graph)
        return BRAID_OK;
    if (condition.graph != graph->id || condition.index >= graph->resources.num)
        return braid_error_invalid(
            "%s '%s': .condition (resource %u of graph %u) is not a resource of this graph", kind,
            begin->name, condition.index, condition.graph);
    const struct graph_resource *resource = graph_resource_at(graph, condition.index);
    char text[256];
    const char *why = NULL;
    uintptr_t first = (uintptr_t)resource->address + (uintptr_t)resource->offset;
    if (resource->is_scratch)
        why = "is scratch, of which each node has its own";
    else if (resource->num_versions)
        why = "has versions; a condition is one word in all frames, or transient";
    else if (resource->bytes < sizeof(uint32_t))
        why = "has less than the four bytes of a uint32_t";
    else if (first % sizeof(uint32_t) || resource->alignment % sizeof(uint32_t))
        why = "is not aligned as a uint32_t";
    if (!why)
        return BRAID_OK;
    return braid_error_invalid(
        "%s '%s': its condition '%s' %s", kind, begin->name,
        braid_graph_resource_name(graph, condition.index, text, sizeof(text)), why);
}

static braid_status check(const braid_graph *graph, const struct region_begin *begin,
                          const braid_node_options *own)
{
    if (graph->ranks)
        return braid_error(BRAID_UNSUPPORTED, "%s '%s': a graph with communicators has none",
                           braid_work_words[begin->kind].kind, begin->name);
    if (graph->open.num >= MOST_NESTED)
        return refuse(begin->kind, begin->name, "loops and branches nest at most 256 deep");
    braid_status status = check_options(begin);
    if (!status)
        status = check_condition(graph, begin);
    return status ? status : braid_graph_check_node(graph, begin->name, own);
}

static bool reserve(braid_graph *graph, const braid_node_options *own)
{
    return braid_array_reserve(&graph->works, 1, sizeof(union work)) &&
           braid_array_reserve(&graph->open, 1, sizeof(struct graph_region)) &&
           braid_array_reserve(&graph->regions, graph->open.num + 1, sizeof(struct graph_region)) &&
           braid_graph_reserve_addresses(graph, own, 1);
}

// The address of the condition is a value of the node, as that of a copy's end is.
static braid_status append(braid_graph *graph, const struct region_begin *begin,
                           const braid_node_options *own, braid_node *out_node)
{
    const void *address = NULL;
    const struct address_request request = { .node = begin->name,
                                             .what = ".condition",
                                             .options = own,
                                             .resource = begin->condition,
                                             .bytes = sizeof(uint32_t) };
    braid_status status =
        own->num_accesses ? braid_graph_find_address(graph, &request, &address) : BRAID_OK;
    if (!status)
        status = braid_graph_reserve_node(graph, begin->name, own);
    if (status)
        return status;
    if (!reserve(graph, own))
        return braid_error(BRAID_NO_MEMORY, "out of host memory for %s '%s'",
                           braid_work_words[begin->kind].kind, begin->name);
    uint32_t payload = (uint32_t)graph->works.num;
    *(union work *)braid_array_append(&graph->works, 1, sizeof(union work)) = (union work){
        .loop = { .condition = address,
                  .most = begin->most,
                  .number = (uint32_t)(graph->regions.num + graph->open.num),
                  .tests_first = begin->tests_first },
    };
    if (own->num_accesses)
        braid_graph_append_address(graph, offsetof(struct work_loop, condition), begin->condition);
    braid_graph_append_node(graph, begin->kind, payload, own, out_node);
    return BRAID_OK;
}

braid_status braid_graph_begin_region(braid_graph *graph, const struct region_begin *begin,
                                      braid_node *out_node)
{
    const braid_access reads = { begin->condition, BRAID_READ };
    braid_node_options own = *begin->options;
    braid_node node;
    own.accesses = &reads;
    own.num_accesses = begin->condition.graph != 0;
    braid_status status = check(graph, begin, &own);
    if (!status)
        status = append(graph, begin, &own, &node);
    if (status)
        return status;
    struct graph_region *open = braid_array_append(&graph->open, 1, sizeof(*open));
    *open =
        (struct graph_region){ .node = node.index,
                               .first = node.index + 1,
                               .condition = own.num_accesses ? begin->condition.index : GRAPH_NONE,
                               .around = GRAPH_NONE,
                               .expected = begin->expected };
    if (out_node)
        *out_node = node;
    return BRAID_OK;
}

// The regions that ended since the body was begun are inside.
static void surround(braid_graph *graph, const struct graph_region *body)
{
    struct graph_region *regions = graph->regions.items;
    uint32_t index = (uint32_t)(body - regions);
    for (uint32_t i = index; i-- > 0 && regions[i].node >= body->first;)
        if (regions[i].around == GRAPH_NONE)
            regions[i].around = index;
}

// There is room in `regions` for all that are open.
braid_status braid_graph_end_body(braid_graph *graph, struct graph_region *open)
{
    uint32_t num = graph_num_nodes(graph) - open->first;
    enum work_kind kind = (enum work_kind)graph_nodes(graph)[open->node].kind;
    if (!num)
        return refuse(kind, braid_graph_name(graph, open->node),
                      kind == WORK_LOOP ? "it has no node" : "an arm of it has no node");
    struct graph_region *region = braid_array_append(&graph->regions, 1, sizeof(*region));
    *region = *open;
    region->num = num;
    surround(graph, region);
    graph->version++;
    return BRAID_OK;
}

braid_status braid_graph_end(braid_graph *graph)
{
    if (!graph)
        return braid_error_null("braid_graph_end", "graph");
    if (!graph->open.num)
        return braid_error_invalid("braid_graph_end: no loop is open, and no branch");
    struct graph_region *open = (struct graph_region *)graph->open.items + (graph->open.num - 1);
    braid_status status = braid_graph_join_accesses(graph, open);
    if (!status)
        status = braid_graph_end_body(graph, open);
    if (!status)
        graph->open.num--;
    return status;
}
