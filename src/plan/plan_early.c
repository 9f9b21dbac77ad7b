// SPDX-License-Identifier: Apache-2.0
// Which kernels of a plan are launched early.
#include "plan/plan_early.h"

#include <stdlib.h>

#include "base/error.h"
#include "graph/graph.h"
#include "plan/plan_costs.h"

// A lane while the steps are walked in issue order.
struct early_lane {
    uint32_t last; // node
    bool followed; // by a record or a wait
    bool begun;
};

static bool is_kernel(const braid_graph *graph, uint32_t node)
{
    return graph_nodes(graph)[node].kind == WORK_KERNEL;
}

// Whether the blocks that wait leave room for all that may run beside them.
static bool fits_twice(const braid_schedule *schedule, const braid_graph *graph,
                       const braid_cost_model *costs)
{
    uint64_t sum = 0;
    if (schedule->info.num_lanes <= 1 || !costs->max_threads)
        return true;
    for (uint32_t lane = 0; lane < schedule->info.num_lanes; lane++) {
        uint32_t most = 0;
        for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1]; i++) {
            uint32_t share =
                braid_plan_share_of_node(graph, schedule->lane_nodes[i], costs->max_threads);
            most = share > most ? share : most;
        }
        sum += most;
    }
    return 2 * sum <= PLAN_WHOLE_DEVICE;
}

// A call that is not the first of its island is not launched at all.
static bool is_inside(const braid_schedule *schedule, const struct early_lane *lane, uint32_t node)
{
    const uint32_t *island_of = schedule->division.island_of;
    return island_of && island_of[node] != PLAN_NONE && lane->begun &&
           island_of[lane->last] == island_of[node];
}

static bool starts_early(const braid_schedule *schedule, const braid_graph *graph,
                         const braid_cost_model *costs, enum plan_early wanted,
                         const struct early_lane *lane)
{
    if (wanted == PLAN_NOT_EARLY || !lane->begun || !is_kernel(graph, lane->last))
        return false;
    if (wanted == PLAN_EARLY_ALWAYS)
        return true;
    return costs->early_ns && schedule->cost_ns[lane->last] >= costs->early_least_ns;
}

braid_status braid_plan_choose_early(const braid_schedule *schedule, const braid_graph *graph,
                                     const braid_cost_model *costs, bool adjacent, uint8_t *early,
                                     uint32_t *out_num_early)
{
    struct early_lane *lanes = calloc((size_t)schedule->info.num_lanes + 1, sizeof(*lanes));
    if (!lanes)
        return braid_error_no_memory("the early starts of a plan");
    bool room = fits_twice(schedule, graph, costs);
    uint32_t num_early = 0;
    for (size_t i = 0; i < schedule->num_steps; i++) {
        const braid_step *step = &schedule->steps[i];
        struct early_lane *lane = &lanes[step->lane];
        if (step->kind != BRAID_STEP_RUN) {
            lane->followed = true;
            continue;
        }
        enum plan_early wanted = (enum plan_early)early[step->node];
        if (is_inside(schedule, lane, step->node))
            wanted = PLAN_NOT_EARLY;
        bool may = (room || wanted == PLAN_EARLY_ALWAYS) && !(adjacent && lane->followed);
        if (!may || !starts_early(schedule, graph, costs, wanted, lane))
            early[step->node] = PLAN_NOT_EARLY;
        num_early += early[step->node] != PLAN_NOT_EARLY;
        *lane = (struct early_lane){ .last = step->node, .begun = true };
    }
    free(lanes);
    *out_num_early = num_early;
    return BRAID_OK;
}
