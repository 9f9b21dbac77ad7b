// SPDX-License-Identifier: Apache-2.0
// Regions: finding which nodes are in which, checking them, and beginning loops and branches.
#include "graph/regions.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/sized.h"
#include "graph/add.h"
#include "graph/addresses.h"
#include "graph/graph.h"

struct region_begin {
    enum work_kind kind;
    const char *name;
    const braid_node_options *options;
    braid_resource condition; // { 0 }: none
    uint64_t most, expected;
    bool tests_first;
};

// ---- nodes and their regions ----

static bool contains(const struct graph_region *region, uint32_t node)
{
    return node - region->first < region->num;
}

// Regions stand in the order of their ends, inner ones first. The first that ends behind the node
// has it, or is inside a region that has it, or nothing has it.
uint32_t braid_graph_region_of(const braid_graph *graph, uint32_t node)
{
    const struct graph_region *regions = graph_regions(graph);
    uint32_t first = 0, end = (uint32_t)graph->regions.num;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (regions[middle].first + regions[middle].num > node)
            end = middle;
        else
            first = middle + 1;
    }
    uint32_t at = first < graph->regions.num ? first : GRAPH_NONE;
    while (at != GRAPH_NONE && !contains(&regions[at], node))
        at = regions[at].around;
    return at;
}

// No body is empty.
uint32_t braid_graph_region_entered(const braid_graph *graph, uint32_t node)
{
    return braid_graph_region_of(graph, node + 1);
}

uint32_t braid_graph_region_else(const braid_graph *graph, uint32_t region)
{
    const struct graph_region *arm = &graph_regions(graph)[region];
    uint32_t behind = braid_graph_region_of(graph, arm->first + arm->num);
    bool is_else = behind != GRAPH_NONE && graph_regions(graph)[behind].node == arm->node;
    return is_else ? behind : GRAPH_NONE;
}

uint32_t braid_graph_lift(const braid_graph *graph, uint32_t node, uint32_t region)
{
    uint32_t at = braid_graph_region_of(graph, node);
    while (at != region && at != GRAPH_NONE) {
        node = graph_regions(graph)[at].node;
        at = graph_regions(graph)[at].around;
    }
    return at == region ? node : GRAPH_NONE;
}

uint32_t braid_graph_meet(const braid_graph *graph, uint32_t *a, uint32_t *b)
{
    const struct graph_region *regions = graph_regions(graph);
    uint32_t at = braid_graph_region_of(graph, *a);
    while (at != GRAPH_NONE && !contains(&regions[at], *b)) {
        *a = regions[at].node;
        at = regions[at].around;
    }
    *b = braid_graph_lift(graph, *b, at);
    return at;
}

bool braid_graph_writes_condition(const braid_graph *graph, const struct graph_region *region,
                                  const struct graph_access *access)
{
    const struct graph_resource *condition = graph_resource_at(graph, region->condition);
    const struct graph_resource *touched = graph_resource_at(graph, access->resource);
    if (access->mode == BRAID_READ || access->mode == BRAID_EXCLUSIVE)
        return false;
    return touched->buffer == condition->buffer &&
           touched->offset < condition->offset + sizeof(uint32_t) &&
           condition->offset < touched->offset + touched->bytes;
}

// ---- checks ----

static const char *kind_of(const braid_graph *graph, const struct graph_region *region)
{
    return braid_work_words[graph_nodes(graph)[region->node].kind].kind;
}

static braid_status check_loop_ends(const braid_graph *graph, const struct graph_region *region)
{
    bool is_loop = graph_nodes(graph)[region->node].kind == WORK_LOOP;
    if (!is_loop || region->condition == GRAPH_NONE)
        return BRAID_OK;
    for (uint32_t i = region->first; i < region->first + region->num; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        for (uint32_t k = 0; k < node->num_accesses; k++) {
            if (braid_graph_writes_condition(graph, region, graph_access_of(graph, node, k)))
                return BRAID_OK;
        }
    }
    char name[256];
    return braid_error_invalid(
        "'%s' never ends: no node in it writes '%s'", braid_graph_name(graph, region->node),
        braid_graph_resource_name(graph, region->condition, name, sizeof(name)));
}

static braid_status check_bundles(const braid_graph *graph)
{
    for (uint32_t i = 0; i < graph_num_nodes(graph) && graph->num_bundled; i++) {
        uint32_t main = graph_nodes(graph)[i].main;
        if (braid_graph_region_of(graph, i) == braid_graph_region_of(graph, main))
            continue;
        return braid_error_invalid("node %u '%s' and its main node %u '%s' are in two bodies", i,
                                   braid_graph_name(graph, i), main, braid_graph_name(graph, main));
    }
    return BRAID_OK;
}

// Refuses an edge whose ends are one node where they meet.
static braid_status refuse_edge(const braid_graph *graph, const struct graph_edge *edge,
                                uint32_t node)
{
    const char *from = braid_graph_name(graph, edge->from);
    const char *to = braid_graph_name(graph, edge->to);
    if (edge->from == node || edge->to == node)
        return braid_error_invalid("the edge from '%s' to '%s' orders a %s and a node inside it",
                                   from, to, braid_work_words[graph_nodes(graph)[node].kind].kind);
    return braid_error_invalid(
        "the edge from '%s' to '%s' orders nodes of two arms of '%s', of which one runs", from, to,
        braid_graph_name(graph, node));
}

static braid_status check_edges(const braid_graph *graph)
{
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < graph->edges.num && !status; i++) {
        const struct graph_edge *edge = &graph_edges(graph)[i];
        uint32_t from = edge->from, to = edge->to;
        braid_graph_meet(graph, &from, &to);
        if (from == to)
            status = refuse_edge(graph, edge, from);
    }
    return status;
}

static braid_status check_open(const braid_graph *graph)
{
    const struct graph_region *open = graph->open.items;
    if (!graph->open.num)
        return BRAID_OK;
    open += graph->open.num - 1;
    return braid_error(BRAID_WRONG_STATE,
                       "%s '%s' was begun and has not ended: braid_graph_end is missing, "
                       "or an error left the block that adds it",
                       kind_of(graph, open), braid_graph_name(graph, open->node));
}

braid_status braid_graph_refuse_regions(const braid_graph *graph, const char *who)
{
    if (!graph->regions.num)
        return BRAID_OK;
    const struct graph_region *region = &graph_regions(graph)[graph->regions.num - 1];
    return braid_error(BRAID_UNSUPPORTED, "%s plays no %s, and node %u '%s' is one", who,
                       kind_of(graph, region), region->node, braid_graph_name(graph, region->node));
}

braid_status braid_graph_check_regions(const braid_graph *graph)
{
    braid_status status = check_open(graph);
    if (!status && graph->ranks)
        status = braid_graph_refuse_regions(graph, "a graph with communicators");
    if (!status && graph->regions.num)
        status = check_bundles(graph);
    if (!status && graph->regions.num)
        status = check_edges(graph);
    for (uint32_t i = 0; i < graph->regions.num && !status; i++)
        status = check_loop_ends(graph, &graph_regions(graph)[i]);
    return status;
}

// ---- from outside a region is a node that accesses each resource of its bodies once ----

struct list {
    struct graph_access *items;
    uint32_t num;
    const uint32_t *known; // resources in order, which all lists share
    uint32_t num_known;
    uint32_t *slots; // by these: 1 + where in `items` it is
};

static int compare_resources(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

// If several are equal, it always finds the same one.
static uint32_t *find(const struct list *list, uint32_t resource)
{
    const uint32_t *found =
        bsearch(&resource, list->known, list->num_known, sizeof(resource), compare_resources);
    return &list->slots[found - list->known];
}

static bool overwrites(uint32_t mode)
{
    return mode == BRAID_WRITE || mode == BRAID_EXCLUSIVE;
}

// Nothing flows in if a body overwrites first; of two arms (`is_other`) only if both do.
static void take(struct list *list, const struct graph_access *access, bool is_other)
{
    uint32_t *slot = find(list, access->resource);
    if (!*slot) {
        list->items[list->num++] = *access;
        *slot = list->num;
        return;
    }
    uint32_t *mode = &list->items[*slot - 1].mode;
    if (*mode != access->mode)
        *mode = overwrites(*mode) && (!is_other || overwrites(access->mode)) ? BRAID_WRITE
                                                                             : BRAID_READ_WRITE;
}

// Where a node runs: at its main node's slot, by its role in the bundle.
struct turn {
    uint32_t main, role, node;
};

static int compare_turns(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    if (a->main != b->main)
        return a->main < b->main ? -1 : 1;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

// Sorts those of one body into the order in which they run.
static void sort_turns(const braid_graph *graph, uint32_t first, uint32_t end, struct turn *turns)
{
    static const uint32_t order[] = { [GRAPH_PRELUDE] = 0, [GRAPH_MAIN] = 1, [GRAPH_EPILOGUE] = 2 };
    for (uint32_t i = first; i < end; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        uint32_t main = node->role == GRAPH_MAIN ? i : node->main;
        turns[i - first] = (struct turn){ main, order[node->role], i };
    }
    if (graph->num_bundled && end > first)
        qsort(turns, end - first, sizeof(*turns), compare_turns);
}

static void take_nodes(const braid_graph *graph, uint32_t first, uint32_t end, struct turn *turns,
                       struct list *list)
{
    sort_turns(graph, first, end, turns);
    for (uint32_t i = 0; i < end - first; i++) {
        const struct graph_node *node = &graph_nodes(graph)[turns[i].node];
        for (uint32_t k = 0; k < node->num_accesses; k++)
            take(list, graph_access_of(graph, node, k), false);
    }
}

// The condition is read before all, or behind all. There is room for all accesses in each list.
static void join(const braid_graph *graph, const struct graph_region *open, struct turn *turns,
                 struct list *own, struct list *arms)
{
    const struct graph_access reads = { open->condition, BRAID_READ };
    bool has_condition = open->condition != GRAPH_NONE;
    bool tests_first = graph_loop(graph, open->node)->tests_first;
    if (has_condition && tests_first)
        take(own, &reads, false);
    take_nodes(graph, open->node + 1, open->first, turns, &arms[0]);
    take_nodes(graph, open->first, graph_num_nodes(graph), turns, &arms[1]);
    for (uint32_t i = 0; i < arms[1].num; i++)
        take(&arms[0], &arms[1].items[i], true);
    for (uint32_t i = 0; i < arms[0].num; i++)
        take(own, &arms[0].items[i], false);
    if (has_condition && !tests_first)
        take(own, &reads, false);
}

// Accesses stand node by node, so those of the bodies move.
static void put(braid_graph *graph, const struct graph_region *open, const struct list *own)
{
    struct graph_node *nodes = graph->nodes.items, *outer = &nodes[open->node];
    struct graph_access *accesses = graph->accesses.items;
    uint32_t had = outer->num_accesses;
    size_t first = outer->first_access, num_behind = graph->accesses.num - first - had;
    if (num_behind)
        memmove(&accesses[first + own->num], &accesses[first + had],
                num_behind * sizeof(*accesses));
    if (own->num)
        memcpy(&accesses[first], own->items, own->num * sizeof(*accesses));
    graph->accesses.num = graph->accesses.num - had + own->num;
    outer->num_accesses = own->num;
    for (uint32_t i = open->node + 1; i < graph->nodes.num; i++)
        nodes[i].first_access = nodes[i].first_access - had + own->num;
}

// Sorts the resources that the region's node, its bodies and its condition touch.
static void sort_resources(const braid_graph *graph, const struct graph_region *open,
                           uint32_t *known, size_t num)
{
    const struct graph_access *accesses = graph->accesses.items;
    for (size_t i = 0; i + 1 < num; i++)
        known[i] = accesses[graph->accesses.num - num + 1 + i].resource;
    known[num - 1] = open->condition;
    qsort(known, num, sizeof(*known), compare_resources);
}

// Gives the node of a region the accesses of its bodies.
// `open` is the body added last; of a branch with two arms the first ends where it begins. Errors:
// BRAID_NO_MEMORY.
static braid_status graph_join_accesses(braid_graph *graph, const struct graph_region *open)
{
    size_t num = graph->accesses.num - graph_nodes(graph)[open->node].first_access + 1;
    struct graph_access *room = braid_allocate(3 * num * sizeof(*room));
    uint32_t *known = braid_allocate_zeroed(4 * num, sizeof(*known));
    struct turn *turns = braid_allocate((graph->nodes.num - open->node) * sizeof(*turns));
    struct list lists[3] = { 0 };
    for (size_t i = 0; room && known && i < 3; i++)
        lists[i] = (struct list){ room + i * num, 0, known, (uint32_t)num, known + (i + 1) * num };
    bool done = room && known && turns;
    if (done) {
        sort_resources(graph, open, known, num);
        join(graph, open, turns, &lists[0], &lists[1]);
    }
    uint32_t had = graph_nodes(graph)[open->node].num_accesses;
    uint32_t more = lists[0].num > had ? lists[0].num - had : 0;
    done = done && more <= GRAPH_MAX_ITEMS - graph->accesses.num &&
           braid_array_reserve(&graph->accesses, more, sizeof(*room));
    if (done)
        put(graph, open, &lists[0]);
    braid_free(room);
    braid_free(known);
    braid_free(turns);
    return done ? BRAID_OK : braid_error_no_memory("the accesses of a loop or branch");
}

// ---- beginning and ending ----

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
static braid_status check_given_condition(const braid_graph *graph,
                                          const struct region_begin *begin)
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
        status = check_given_condition(graph, begin);
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

// Adds the region's node and opens its body. Errors, which name the region: BRAID_INVALID_ARGUMENT,
// BRAID_UNSUPPORTED (a graph with communicators), BRAID_NO_MEMORY.
static braid_status graph_begin_region(braid_graph *graph, const struct region_begin *begin,
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

// Ends a body, whose region stays among the open ones. Errors: BRAID_WRONG_STATE (it has no node).
// There is room in `regions` for all that are open.
static braid_status graph_end_body(braid_graph *graph, struct graph_region *open)
{
    uint32_t num = graph_num_nodes(graph) - open->first;
    enum work_kind kind = (enum work_kind)graph_nodes(graph)[open->node].kind;
    if (!num)
        return braid_error(BRAID_WRONG_STATE, "%s '%s': %s", braid_work_words[kind].kind,
                           braid_graph_name(graph, open->node),
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
        return braid_error(BRAID_WRONG_STATE, "braid_graph_end: no loop is open, and no branch");
    struct graph_region *open = (struct graph_region *)graph->open.items + (graph->open.num - 1);
    braid_status status = graph_join_accesses(graph, open);
    if (!status)
        status = graph_end_body(graph, open);
    if (!status)
        graph->open.num--;
    return status;
}

// ---- loops ----

enum { EXPECTED = 10 }; // iterations, where nobody says

static braid_status check_bounds(const char *name, const braid_loop *loop)
{
    bool has_condition = loop->condition.graph != 0;
    if (!has_condition && !loop->times)
        return refuse(WORK_LOOP, name,
                      "nothing ends it: give .times, or a .condition with .most or .unbounded");
    if (!has_condition && (loop->most || loop->unbounded || loop->tests_first))
        return refuse(WORK_LOOP, name,
                      ".most, .unbounded and .tests_first are for loops with a .condition");
    if ((loop->times != 0) + (loop->most != 0) + loop->unbounded > 1)
        return refuse(WORK_LOOP, name, "it has more than one of .times, .most and .unbounded");
    if (!loop->times && !loop->most && !loop->unbounded)
        return refuse(WORK_LOOP, name,
                      "it has a .condition and no bound: give .most, or .unbounded");
    return BRAID_OK;
}

static uint64_t find_expected(const braid_loop *loop)
{
    if (loop->expected || loop->times)
        return loop->expected ? loop->expected : loop->times;
    return loop->most && loop->most < EXPECTED ? loop->most : EXPECTED;
}

static uint64_t find_most(const braid_loop *loop)
{
    if (loop->times || loop->most)
        return loop->times ? loop->times : loop->most;
    return UINT64_MAX;
}

static braid_status begin_loop(braid_graph *graph, const braid_loop *loop, braid_node *out_loop)
{
    if (!graph)
        return braid_error_null("braid_graph_begin_loop", "graph");
    const char *name = loop->node.name ? loop->node.name : braid_work_words[WORK_LOOP].name;
    braid_status status = check_bounds(name, loop);
    if (status)
        return status;
    const struct region_begin begin = { .kind = WORK_LOOP,
                                        .name = name,
                                        .options = &loop->node,
                                        .condition = loop->condition,
                                        .most = find_most(loop),
                                        .expected = find_expected(loop),
                                        .tests_first = loop->tests_first };
    return graph_begin_region(graph, &begin, out_loop);
}

SIZED_NODE(begin_loop, braid_loop, loop)

// ---- branches ----

// Beginning branches, and their second arms. An arm is a region that runs at most once.

static braid_status begin_if(braid_graph *graph, const braid_if *branch, braid_node *out_if)
{
    if (!graph)
        return braid_error_null("braid_graph_begin_if", "graph");
    const struct region_begin begin = { .kind = WORK_BRANCH,
                                        .name = branch->node.name
                                                    ? branch->node.name
                                                    : braid_work_words[WORK_BRANCH].name,
                                        .options = &branch->node,
                                        .condition = branch->condition,
                                        .most = 1,
                                        .expected = 1,
                                        .tests_first = true };
    if (!branch->condition.graph)
        return braid_error_invalid("branch '%s': it has no .condition", begin.name);
    return graph_begin_region(graph, &begin, out_if);
}

SIZED_NODE(begin_if, braid_if, branch)

braid_status braid_graph_else(braid_graph *graph)
{
    if (!graph)
        return braid_error_null("braid_graph_else", "graph");
    if (!graph->open.num)
        return braid_error(BRAID_WRONG_STATE, "braid_graph_else: no branch is open");
    struct graph_region *open = (struct graph_region *)graph->open.items + (graph->open.num - 1);
    if (graph_nodes(graph)[open->node].kind != WORK_BRANCH)
        return braid_error(BRAID_WRONG_STATE, "braid_graph_else: loop '%s' is open, and no branch",
                           braid_graph_name(graph, open->node));
    if (graph_region_is_else(open))
        return braid_error(BRAID_WRONG_STATE, "braid_graph_else: branch '%s' has two arms already",
                           braid_graph_name(graph, open->node));
    if (!braid_array_reserve(&graph->regions, graph->open.num + 1, sizeof(*open)))
        return braid_error_no_memory("an arm of a branch");
    braid_status status = graph_end_body(graph, open);
    if (!status)
        open->first = graph_num_nodes(graph);
    return status;
}
