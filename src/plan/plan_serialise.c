// SPDX-License-Identifier: Apache-2.0
// Forced serialisations. An edge that comes from a shared resource or from a hint serialises its
// nodes. It does not if a search backward finds explicit edges and data flow that order them.
#include "plan/plan_passes.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"

struct search {
    const struct plan_graph *plan;
    uint32_t *index_of; // per node its index in the order; NULL: its index
    uint32_t *seen_by;  // per node: 1 + the node whose search saw it last
    struct array stack; // uint32_t
    struct array out;   // braid_serialisation
    uint64_t budget;    // edges that may still be looked at
};

// Searching takes time in proportion to the graph at most this many times. Beyond that a pair is
// reported without the search: too much is said then, never too little.
#define MOST_GRAPHS 8
#define MOST_EDGES_ALWAYS 4000000

static uint32_t reason_of(const struct plan_graph *plan, uint32_t edge)
{
    return plan->pred_reasons[edge];
}

// Whether an edge is one that the program wants: its own, or data flowing.
static bool is_flow(const struct plan_graph *plan, uint32_t edge)
{
    uint32_t reason = reason_of(plan, edge);
    return reason == PLAN_BY_EDGE ||
           (reason != PLAN_BY_HINT && plan->links[reason].hazard == GRAPH_READ_AFTER_WRITE);
}

static uint32_t index_of(const struct search *search, uint32_t node)
{
    return search->index_of ? search->index_of[node] : node;
}

static bool push_node(struct search *search, uint32_t node, uint32_t mark)
{
    if (search->seen_by[node] == mark)
        return true;
    search->seen_by[node] = mark;
    uint32_t *slot = braid_array_append(&search->stack, 1, sizeof(*slot));
    if (slot)
        *slot = node;
    return slot;
}

// Marks everything that reaches `node` by flow and stands no earlier than `earliest` in the order.
static bool mark_flow(struct search *search, uint32_t node, uint32_t earliest)
{
    const struct plan_graph *plan = search->plan;
    uint32_t mark = node + 1;
    if (!push_node(search, node, mark))
        return false;
    while (search->stack.num) {
        uint32_t at = ((uint32_t *)search->stack.items)[--search->stack.num];
        uint32_t before = plan_member_before(plan, at);
        if (before != PLAN_NONE && index_of(search, before) >= earliest &&
            !push_node(search, before, mark))
            return false;
        for (uint32_t e = plan->pred_first[at]; e < plan->pred_first[at + 1]; e++) {
            if (search->budget == 0)
                break;
            search->budget--;
            uint32_t pred = plan->pred_nodes[e];
            if (is_flow(plan, e) && index_of(search, pred) >= earliest &&
                !push_node(search, pred, mark))
                return false;
        }
    }
    return true;
}

static bool add_pair(struct search *search, uint32_t first, uint32_t second,
                     braid_serialisation_cause cause, uint32_t resource)
{
    bool is_named = cause == BRAID_SERIALISED_BY_RESOURCE;
    braid_serialisation *pair = braid_array_append(&search->out, 1, sizeof(*pair));
    if (pair)
        *pair = (braid_serialisation){
            .first = first,
            .second = second,
            .cause = cause,
            .resource = resource,
            .resource_name = is_named ? braid_plan_resource_name(search->plan, resource) : "",
        };
    return pair;
}

static bool add_edge(struct search *search, uint32_t first, uint32_t second, uint32_t reason)
{
    if (reason == PLAN_BY_HINT)
        return add_pair(search, first, second, BRAID_SERIALISED_BY_HINT, 0);
    return add_pair(search, first, second, BRAID_SERIALISED_BY_RESOURCE,
                    search->plan->links[reason].resource);
}

// The first edge of a pair speaks for it: after it the predecessor counts as seen.
static bool check_node(struct search *search, uint32_t node)
{
    const struct plan_graph *plan = search->plan;
    uint32_t earliest = PLAN_NONE;
    for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
        uint32_t index = index_of(search, plan->pred_nodes[e]);
        if (!is_flow(plan, e) && index < earliest)
            earliest = index;
    }
    if (earliest == PLAN_NONE)
        return true;
    if (!mark_flow(search, node, earliest))
        return false;
    for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
        uint32_t pred = plan->pred_nodes[e];
        if (is_flow(plan, e) || search->seen_by[pred] == node + 1)
            continue;
        search->seen_by[pred] = node + 1;
        if (!add_edge(search, pred, node, reason_of(plan, e)))
            return false;
    }
    return true;
}

static bool start_search(struct search *search)
{
    const struct plan_graph *plan = search->plan;
    search->budget = MOST_EDGES_ALWAYS + (uint64_t)plan->num_edges * MOST_GRAPHS;
    search->seen_by = braid_allocate_zeroed(plan->num_nodes, sizeof(uint32_t));
    if (plan->order)
        search->index_of = malloc(((size_t)plan->num_nodes + 1) * sizeof(uint32_t));
    if (!search->seen_by || (plan->order && !search->index_of))
        return false;
    for (uint32_t i = 0; plan->order && i < plan->num_nodes; i++)
        search->index_of[plan->order[i]] = i;
    return true;
}

static bool find_pairs(struct search *search)
{
    const struct plan_graph *plan = search->plan;
    if (!plan->pred_reasons)
        return true;
    if (!start_search(search))
        return false;
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        if (!check_node(search, node))
            return false;
    }
    return true;
}

// A hint that an edge tells of is left out.
static bool add_delays(struct search *search, const struct plan_placement *placement)
{
    const struct plan_graph *plan = search->plan;
    const struct plan_delay *delays = placement->delays.items;
    for (size_t i = 0; i < placement->delays.num; i++) {
        uint32_t first = delays[i].first, second = delays[i].second;
        uint32_t unit = plan_unit_of(plan, second), before = plan_unit_of(plan, first);
        if (delays[i].cause != BRAID_SERIALISED_BY_HINT) {
            first = plan_main_of(plan, before);
            second = plan_main_of(plan, unit);
        } else if (plan->pred_reasons && plan->hint_before[unit] == before) {
            continue;
        }
        if (!add_pair(search, first, second, delays[i].cause, 0))
            return false;
    }
    return true;
}

braid_status braid_plan_serialisations(struct braid_schedule *schedule,
                                       const struct plan_placement *placement)
{
    struct search search = { .plan = schedule->graph };
    bool done = find_pairs(&search) && add_delays(&search, placement);
    free(search.index_of);
    free(search.seen_by);
    braid_array_finish(&search.stack);
    schedule->serialisations = search.out.items;
    schedule->info.num_serialisations =
        search.out.num < UINT32_MAX ? (uint32_t)search.out.num : UINT32_MAX;
    return done ? BRAID_OK : braid_error_no_memory("the serialisations of a plan");
}
