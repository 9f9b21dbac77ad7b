// SPDX-License-Identifier: Apache-2.0
// Checks the order and the lanes of a region, and finds its waits anew. So a wrong file makes a
// plan slower at worst: the waits are found from the edges of the graph, and the file has none.
#include "saved/saved_place.h"

#include <inttypes.h>
#include <string.h>

#include "base/big_memory.h"
#include "base/error.h"
#include "plan/plan_waits.h"

#define MOST_NS ((uint64_t)INT64_MAX)

// ---- digests of all that planning reads ----

static uint64_t mix_list(uint64_t digest, const uint32_t *items, size_t num)
{
    digest = saved_mix(digest, items ? num : 0);
    for (size_t i = 0; items && i < num; i++)
        digest = saved_mix(digest, items[i]);
    return digest;
}

static uint64_t structure_of(const struct plan_graph *plan)
{
    uint64_t digest = saved_mix(saved_mix(0, plan->num_nodes), plan->num_units);
    digest = mix_list(digest, plan->pred_first, (size_t)plan->num_nodes + 1);
    digest = mix_list(digest, plan->pred_nodes, plan->num_edges);
    digest = mix_list(digest, plan->hint_of, plan->num_units);
    if (plan->units.members) {
        digest = mix_list(digest, plan->units.first_of, (size_t)plan->num_units + 1);
        digest = mix_list(digest, plan->units.members, plan->num_nodes);
    }
    for (uint32_t e = 0; plan->pred_reasons && e < plan->num_edges; e++) {
        uint32_t reason = plan->pred_reasons[e];
        bool is_link = reason != PLAN_BY_EDGE && reason != PLAN_BY_HINT;
        digest = saved_mix(digest, is_link ? plan->links[reason].hazard : reason);
    }
    return digest;
}

static uint64_t costs_of(const struct plan_graph *plan, const struct plan_costs *costs)
{
    uint64_t digest = saved_mix(0, plan->num_nodes);
    for (uint32_t i = 0; i < plan->num_nodes; i++)
        digest = saved_mix(digest, costs->node_ns[i]);
    for (uint32_t i = 0; costs->unknown && i < plan->num_nodes; i++)
        digest = saved_mix(digest, costs->unknown[i]);
    digest = mix_list(digest, costs->unit_share, plan->num_units);
    for (uint32_t i = 0; costs->unit_blocks && i < plan->num_units; i++)
        digest = saved_mix(digest, costs->unit_blocks[i]);
    return digest;
}

// ---- the placement of a region ----

struct placing {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    const struct saved_region *region;
    struct plan_placement *out;
    struct plan_waits waits;
    uint32_t *last_on; // by lane; PLAN_NONE: no node is on it yet
    uint64_t *free_ns; // by lane: the end of its last node
};

// Nodes of a bundle stand on one lane with nothing between, and each edge goes forward.
static bool may_issue(const struct placing *placing, const struct saved_node *saved)
{
    const struct plan_graph *plan = placing->plan;
    if (saved->node >= plan->num_nodes || saved->lane >= placing->region->num_lanes ||
        placing->out->lane_of[saved->node] != PLAN_NONE)
        return false;
    uint32_t last = placing->last_on[saved->lane];
    uint32_t before = plan_member_before(plan, saved->node);
    if (last != PLAN_NONE && plan_member_after(plan, last) != PLAN_NONE && last != before)
        return false;
    if (before != PLAN_NONE && last != before)
        return false;
    for (uint32_t e = plan->pred_first[saved->node]; e < plan->pred_first[saved->node + 1]; e++)
        if (placing->out->lane_of[plan->pred_nodes[e]] == PLAN_NONE)
            return false;
    return true;
}

// False: no memory.
static bool issue(struct placing *placing, const struct saved_node *saved)
{
    struct plan_placement *out = placing->out;
    out->lane_of[saved->node] = saved->lane;
    out->start_ns[saved->node] = saved->start_ns;
    out->wait_first[placing->waits.num_issued] = (uint32_t)out->waits.num;
    placing->last_on[saved->lane] = saved->node;
    braid_plan_waits_ask(&placing->waits, saved->node, UINT32_MAX);
    return braid_plan_waits_issue(&placing->waits, saved->node, saved->lane, &out->waits);
}

static braid_status issue_all(const struct saved_known *known, struct placing *placing)
{
    const struct saved_region *region = placing->region;
    for (uint32_t i = 0; i < region->num_nodes; i++) {
        if (!may_issue(placing, &region->nodes[i]))
            return braid_error_invalid("%s: the order and the lanes of region %" PRIu32
                                       " are no plan of it: node %" PRIu32 " of the order is wrong",
                                       known->path, known->num_placed, i);
        if (!issue(placing, &region->nodes[i]))
            return braid_plan_clocks_error(&placing->waits.clocks, "a saved plan");
    }
    for (uint32_t lane = 0; lane < region->num_lanes; lane++)
        if (placing->last_on[lane] == PLAN_NONE)
            return braid_error_invalid("%s: lane %" PRIu32 " of region %" PRIu32 " is empty",
                                       known->path, lane, known->num_placed);
    placing->out->wait_first[region->num_nodes] = (uint32_t)placing->out->waits.num;
    return BRAID_OK;
}

// Whether no node starts before the end of one that it comes after; and the makespan. Starts fit
// unless they are those of a plan whose nodes took less, inside an island.
static bool find_makespan(struct placing *placing)
{
    const struct plan_graph *plan = placing->plan;
    struct plan_placement *out = placing->out;
    bool fits = true;
    for (uint32_t i = 0; i < plan->num_nodes && fits; i++) {
        uint32_t node = out->issued[i];
        uint64_t start_ns = out->start_ns[node], *end_ns = &placing->free_ns[out->lane_of[node]];
        fits = start_ns >= *end_ns && start_ns <= MOST_NS - placing->costs->node_ns[node];
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1] && fits; e++) {
            uint32_t pred = plan->pred_nodes[e];
            fits = start_ns >= out->start_ns[pred] + placing->costs->node_ns[pred];
        }
        *end_ns = start_ns + placing->costs->node_ns[node];
        out->makespan_ns = *end_ns > out->makespan_ns ? *end_ns : out->makespan_ns;
    }
    if (out->num_lanes > 1)
        out->makespan_ns += (out->num_lanes - 1) * placing->costs->model.root_ns;
    return fits;
}

static void keep_starts(const struct placing *placing)
{
    for (uint32_t i = 0; i < placing->region->num_nodes; i++) {
        struct saved_node *saved = &placing->region->nodes[i];
        saved->start_ns = placing->out->start_ns[saved->node];
    }
}

static braid_status find_starts(const struct saved_known *known, struct placing *placing)
{
    if (find_makespan(placing))
        return BRAID_OK;
    if (!known->is_saving)
        return braid_error_invalid("%s: the starts of region %" PRIu32 " are no plan of it",
                                   known->path, known->num_placed);
    braid_status status = braid_plan_start_bundles(placing->plan, placing->costs, placing->out);
    if (!status)
        keep_starts(placing);
    return status;
}

// The frame's: the last region is the frame.
static braid_status take_delays(const struct saved_known *known, struct placing *placing)
{
    const struct saved_plan *saved = known->plan;
    uint32_t num = known->num_placed + 1 == saved->num_regions ? saved->num_delays : 0;
    for (uint32_t i = 0; i < num; i++) {
        const struct plan_delay *delay = &saved->delays[i];
        if (delay->first >= placing->plan->num_nodes || delay->second >= placing->plan->num_nodes ||
            delay->cause <= BRAID_SERIALISED_BY_RESOURCE ||
            delay->cause > BRAID_SERIALISED_BY_MAX_CONCURRENT)
            return braid_error_invalid("%s: delay %" PRIu32 " is wrong", known->path, i);
        if (!braid_array_put(&placing->out->delays, delay, sizeof(*delay)))
            return braid_error_no_memory("a saved plan");
    }
    return BRAID_OK;
}

static bool allocate(struct placing *placing)
{
    const struct plan_graph *plan = placing->plan;
    struct plan_placement *out = placing->out;
    uint32_t num_lanes = placing->region->num_lanes;
    placing->last_on = plan_allocate(num_lanes, sizeof(*placing->last_on));
    placing->free_ns = plan_allocate_zeroed(num_lanes, sizeof(*placing->free_ns));
    if (!braid_plan_placement_init(plan, out) || !placing->last_on || !placing->free_ns)
        return false;
    memset(out->lane_of, 0xff, plan->num_nodes * sizeof(*out->lane_of));
    memset(placing->last_on, 0xff, num_lanes * sizeof(*placing->last_on));
    return braid_plan_waits_init(&placing->waits, plan, num_lanes, out->issued);
}

// That the region is the one that was saved; or its digests, which are saved.
static braid_status check_region(const struct saved_known *known, const struct plan_graph *plan,
                                 const struct plan_costs *costs, struct saved_region *region)
{
    uint64_t structure = structure_of(plan), costs_digest = costs_of(plan, costs);
    if (known->is_saving) {
        region->structure = structure;
        region->costs = costs_digest;
    }
    if (region->num_nodes != plan->num_nodes || region->num_lanes > plan->num_nodes)
        return braid_error_invalid("%s is of another graph: region %" PRIu32 " has %" PRIu32
                                   " nodes on %" PRIu32 " lanes there, and %" PRIu32 " nodes here",
                                   known->path, known->num_placed, region->num_nodes,
                                   region->num_lanes, plan->num_nodes);
    if (region->structure != structure)
        return braid_error_invalid("%s is of another graph: an edge, bundle or lane hint of region "
                                   "%" PRIu32 " differs",
                                   known->path, known->num_placed);
    if (region->costs != costs_digest)
        return braid_error_invalid("%s was saved with other costs: a cost or a number of threads "
                                   "in region %" PRIu32 " differs",
                                   known->path, known->num_placed);
    return BRAID_OK;
}

braid_status braid_saved_refuse_regions(const struct saved_known *known)
{
    return braid_error_invalid("%s is of another graph: %" PRIu32
                               " loops and arms are planned in it, and not so many here",
                               known->path, known->plan->num_regions - 1);
}

braid_status braid_saved_place(struct plan_known *plan_known, const struct plan_graph *plan,
                               const struct plan_costs *costs, struct plan_placement *out_placement)
{
    struct saved_known *known = (struct saved_known *)plan_known;
    if (known->num_placed == known->plan->num_regions)
        return braid_saved_refuse_regions(known);
    struct saved_region *region = &known->plan->regions[known->num_placed];
    struct plan_placement out = { .num_lanes = region->num_lanes, .most_lanes = region->num_lanes };
    struct placing placing = { .plan = plan, .costs = costs, .region = region, .out = &out };
    braid_status status = check_region(known, plan, costs, region);
    if (status)
        return status;
    if (!allocate(&placing))
        status = braid_error_no_memory("a saved plan");
    if (!status)
        status = issue_all(known, &placing);
    if (!status)
        status = find_starts(known, &placing);
    if (!status)
        status = take_delays(known, &placing);
    braid_plan_waits_finish(&placing.waits);
    braid_free(placing.last_on);
    braid_free(placing.free_ns);
    if (status)
        braid_plan_placement_finish(&out);
    else
        *out_placement = out;
    known->num_placed++;
    return status;
}
