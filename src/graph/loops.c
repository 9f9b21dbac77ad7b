// SPDX-License-Identifier: Apache-2.0
// Beginning and ending loops.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/add.h"
#include "graph/addresses.h"
#include "graph/regions.h"

enum { EXPECTED = 10 }; // iterations, where nobody says

static braid_status refuse(const char *name, const char *why)
{
    return braid_error(BRAID_INVALID_ARGUMENT, "loop '%s': %s", name, why);
}

static braid_status check_options(const char *name, const braid_node_options *options)
{
    if (options->num_accesses)
        return refuse(name, "it accesses what its body accesses, and has no .accesses of its own");
    if (options->prelude_of.graph || options->epilogue_of.graph)
        return refuse(name, "it cannot be a prelude or epilogue");
    if (options->place)
        return refuse(name, "it has no .place");
    if (options->cost_ns)
        return refuse(name, "it takes as long as its body, and has no .cost_ns: see .expected");
    return BRAID_OK;
}

static braid_status check_bounds(const char *name, const braid_loop *loop)
{
    bool has_condition = loop->condition.graph != 0;
    if (!has_condition && !loop->times)
        return refuse(name, "it has neither .condition nor .times");
    if (!has_condition && (loop->most || loop->unbounded || loop->tests_first))
        return refuse(name, ".most, .unbounded and .tests_first are for loops with a .condition");
    if ((loop->times != 0) + (loop->most != 0) + loop->unbounded > 1)
        return refuse(name, "it has more than one of .times, .most and .unbounded");
    if (!loop->times && !loop->most && !loop->unbounded)
        return refuse(name, "it has a .condition and no bound: give .most, or .unbounded");
    return BRAID_OK;
}

// One uint32_t in all frames, or in the memory of each.
static braid_status check_condition(const braid_graph *graph, const char *name,
                                    braid_resource condition)
{
    if (!condition.graph)
        return BRAID_OK;
    if (condition.graph != graph->id || condition.index >= graph->resources.num)
        return braid_error(
            BRAID_INVALID_ARGUMENT,
            "loop '%s': .condition (resource %u of graph %u) is not a resource of this graph", name,
            condition.index, condition.graph);
    const struct graph_resource *resource =
        &((const struct graph_resource *)graph->resources.items)[condition.index];
    char text[256];
    const char *why = NULL;
    uintptr_t begin = (uintptr_t)resource->address + (uintptr_t)resource->offset;
    if (resource->is_scratch)
        why = "is scratch, of which each node has its own";
    else if (resource->num_versions)
        why = "has versions; a condition is one word in all frames, or transient";
    else if (resource->bytes < sizeof(uint32_t))
        why = "has less than the four bytes of a uint32_t";
    else if (begin % sizeof(uint32_t) || resource->alignment % sizeof(uint32_t))
        why = "is not aligned as a uint32_t";
    if (!why)
        return BRAID_OK;
    return braid_error(BRAID_INVALID_ARGUMENT, "loop '%s': its condition '%s' %s", name,
                       braid_graph_resource_name(graph, condition.index, text, sizeof(text)), why);
}

static braid_status check(const braid_graph *graph, const char *name, const braid_loop *loop,
                          const braid_node_options *own)
{
    if (graph->ranks)
        return braid_error(BRAID_UNSUPPORTED, "loop '%s': a graph with communicators has no loops",
                           name);
    braid_status status = check_options(name, &loop->node);
    if (!status)
        status = check_bounds(name, loop);
    if (!status)
        status = check_condition(graph, name, loop->condition);
    return status ? status : braid_graph_check_node(graph, name, own);
}

static uint64_t find_expected(const braid_loop *loop)
{
    if (loop->expected || loop->times)
        return loop->expected ? loop->expected : loop->times;
    return loop->most && loop->most < EXPECTED ? loop->most : EXPECTED;
}

static bool reserve(braid_graph *graph, const braid_node_options *own)
{
    return braid_array_reserve(&graph->works, 1, sizeof(union work)) &&
           braid_array_reserve(&graph->open, 1, sizeof(struct graph_region)) &&
           braid_array_reserve(&graph->regions, graph->open.num + 1, sizeof(struct graph_region)) &&
           braid_graph_reserve_addresses(graph, own, 1);
}

// The address of the condition is a value of the node, as that of a copy's end is.
static braid_status append(braid_graph *graph, const char *name, const braid_loop *loop,
                           const braid_node_options *own, braid_node *out_node)
{
    const void *address = NULL;
    const struct address_request request = { .node = name,
                                             .what = ".condition",
                                             .options = own,
                                             .resource = loop->condition,
                                             .bytes = sizeof(uint32_t) };
    braid_status status =
        own->num_accesses ? braid_graph_find_address(graph, &request, &address) : BRAID_OK;
    if (!status)
        status = braid_graph_reserve_node(graph, name, own);
    if (status)
        return status;
    if (!reserve(graph, own))
        return braid_error(BRAID_NO_MEMORY, "out of host memory for loop '%s'", name);
    uint32_t payload = (uint32_t)graph->works.num;
    *(union work *)braid_array_append(&graph->works, 1, sizeof(union work)) = (union work){
        .loop = { .condition = address,
                  .most = loop->times  ? loop->times
                          : loop->most ? loop->most
                                       : UINT64_MAX,
                  .number = (uint32_t)(graph->regions.num + graph->open.num),
                  .tests_first = loop->tests_first },
    };
    if (own->num_accesses)
        braid_graph_append_address(graph, offsetof(struct work_loop, condition), loop->condition);
    braid_graph_append_node(graph, WORK_LOOP, payload, own, out_node);
    return BRAID_OK;
}

braid_status braid_graph_begin_loop(braid_graph *graph, const braid_loop *loop,
                                    braid_node *out_loop)
{
    if (!graph || !loop)
        return braid_error_null("braid_graph_begin_loop", graph ? "loop" : "graph");
    const char *name = loop->node.name ? loop->node.name : "loop";
    const braid_access reads = { loop->condition, BRAID_READ };
    braid_node_options own = loop->node;
    braid_node node;
    own.accesses = &reads;
    own.num_accesses = loop->condition.graph != 0;
    braid_status status = check(graph, name, loop, &own);
    if (!status)
        status = append(graph, name, loop, &own, &node);
    if (status)
        return status;
    struct graph_region *open = braid_array_append(&graph->open, 1, sizeof(*open));
    *open =
        (struct graph_region){ .node = node.index,
                               .first = node.index + 1,
                               .condition = own.num_accesses ? loop->condition.index : GRAPH_NONE,
                               .expected = find_expected(loop) };
    if (out_loop)
        *out_loop = node;
    return BRAID_OK;
}

// Of a body that overwrites first nothing flows in.
static uint32_t join_modes(uint32_t first, uint32_t later)
{
    if (first == later)
        return first;
    return first == BRAID_WRITE || first == BRAID_EXCLUSIVE ? BRAID_WRITE : BRAID_READ_WRITE;
}

static void take_access(struct graph_access *own, uint32_t *num, const struct graph_access *access)
{
    uint32_t k = 0;
    while (k < *num && own[k].resource != access->resource)
        k++;
    if (k == *num)
        own[(*num)++] = *access;
    else
        own[k].mode = join_modes(own[k].mode, access->mode);
}

// Each resource of the body once, in the order in which it accesses them; the condition is read
// before all, or behind all.
static uint32_t join_accesses(const braid_graph *graph, const struct graph_region *region,
                              struct graph_access *own)
{
    const struct graph_access *accesses = graph->accesses.items;
    const struct graph_access reads = { region->condition, BRAID_READ };
    bool has_condition = region->condition != GRAPH_NONE;
    bool tests_first = graph_loop(graph, region->node)->tests_first;
    uint32_t num = 0;
    if (has_condition && tests_first)
        take_access(own, &num, &reads);
    for (uint32_t i = graph_nodes(graph)[region->first].first_access; i < graph->accesses.num; i++)
        take_access(own, &num, &accesses[i]);
    if (has_condition && !tests_first)
        take_access(own, &num, &reads);
    return num;
}

// Accesses stand node by node, so those of the body move.
static braid_status put_accesses(braid_graph *graph, const struct graph_region *region)
{
    struct graph_node *nodes = graph->nodes.items;
    struct graph_node *loop = &nodes[region->node];
    struct graph_access *own = malloc((graph->accesses.num + 1) * sizeof(*own));
    uint32_t num = own ? join_accesses(graph, region, own) : 0;
    uint32_t had = loop->num_accesses, more = num > had ? num - had : 0;
    size_t first = loop->first_access, num_behind = graph->accesses.num - first - had;
    if (!own || more > GRAPH_MAX_ITEMS - graph->accesses.num ||
        !braid_array_reserve(&graph->accesses, more, sizeof(*own))) {
        free(own);
        return braid_error_no_memory("the accesses of a loop");
    }
    struct graph_access *accesses = graph->accesses.items;
    if (num_behind)
        memmove(&accesses[first + num], &accesses[first + had], num_behind * sizeof(*accesses));
    if (num)
        memcpy(&accesses[first], own, num * sizeof(*accesses));
    free(own);
    graph->accesses.num = graph->accesses.num - had + num;
    loop->num_accesses = num;
    for (uint32_t i = region->first; i < graph->nodes.num; i++)
        nodes[i].first_access = nodes[i].first_access - had + num;
    return BRAID_OK;
}

braid_status braid_graph_end(braid_graph *graph)
{
    if (!graph)
        return braid_error_null("braid_graph_end", "graph");
    if (!graph->open.num)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_graph_end: no loop is open");
    struct graph_region *region = (struct graph_region *)graph->open.items + (graph->open.num - 1);
    uint32_t num = graph_num_nodes(graph) - region->first;
    if (!num)
        return refuse(braid_graph_name(graph, region->node), "it has no node");
    braid_status status = put_accesses(graph, region);
    if (status)
        return status;
    struct graph_region *regions = braid_array_append(&graph->regions, 1, sizeof(*regions));
    *regions = *region; // there is room since it was begun
    regions->num = num;
    graph->open.num--;
    graph->version++;
    return BRAID_OK;
}
