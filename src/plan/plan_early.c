// SPDX-License-Identifier: Apache-2.0
// Which kernels of a plan are launched early.
#include "plan/plan_early.h"

#include <stdlib.h>

#include "base/error.h"
#include "graph/graph.h"

// The device runs so many kernels at once, and waiting ones are among them.
enum { MOST_KERNELS = 128, MOST_WAITING = 32 };

// A lane while the steps are walked in issue order.
struct early_lane {
    uint32_t last; // node
    bool followed; // by a record or a wait
    bool begun;
    uint32_t num_waiting; // kernels that may wait on the device at the same time, and
    uint64_t share;       // the room that they and the kernel that runs take
};

struct early_walk {
    const braid_schedule *schedule;
    const braid_graph *graph;
    struct plan_early_node *nodes;
    uint32_t room, most_waiting; // of each lane
};

static bool is_kernel(const struct early_walk *walk, uint32_t node)
{
    return graph_nodes(walk->graph)[node].kind == WORK_KERNEL;
}

// A call that is not the first of its island is not launched at all.
static bool is_inside(const struct early_walk *walk, const struct early_lane *lane, uint32_t node)
{
    const uint32_t *island_of = walk->schedule->division.island_of;
    return island_of && island_of[node] != PLAN_NONE && lane->begun &&
           island_of[lane->last] == island_of[node];
}

static enum plan_early choose(const struct early_walk *walk, const struct early_lane *lane,
                              uint32_t index)
{
    const struct plan_early_node *node = &walk->nodes[index];
    if (!node->can || !lane->begun || !is_kernel(walk, lane->last))
        return PLAN_NOT_EARLY;
    if (walk->nodes[lane->last].tells || lane->num_waiting == walk->most_waiting ||
        lane->share + node->share > walk->room)
        return PLAN_EARLY_AT_END;
    return PLAN_EARLY_AT_BEGIN;
}

// The lane goes on with a node, which begins a new row unless it waits beside the kernels before
// it.
static void go_on(const struct early_walk *walk, struct early_lane *lane, uint32_t index)
{
    const struct plan_early_node *node = &walk->nodes[index];
    bool waits = node->early == PLAN_EARLY_AT_BEGIN;
    lane->num_waiting = waits ? lane->num_waiting + 1 : 0;
    lane->share = waits ? lane->share + node->share : node->share;
    lane->last = index;
    lane->followed = false;
    lane->begun = true;
}

static struct early_walk begin_walk(const braid_schedule *schedule, const braid_graph *graph,
                                    struct plan_early_node *nodes)
{
    uint32_t num_lanes = schedule->info.num_lanes ? schedule->info.num_lanes : 1;
    uint32_t waiting = MOST_KERNELS / 2 / num_lanes;
    if (waiting > MOST_WAITING)
        waiting = MOST_WAITING;
    return (struct early_walk){ .schedule = schedule,
                                .graph = graph,
                                .nodes = nodes,
                                .room = PLAN_EARLY_ROOM / num_lanes,
                                .most_waiting = waiting ? waiting : 1 };
}

braid_status braid_plan_choose_early(const braid_schedule *schedule, const braid_graph *graph,
                                     bool adjacent, struct plan_early_node *nodes,
                                     uint32_t *out_num_early)
{
    struct early_walk walk = begin_walk(schedule, graph, nodes);
    struct early_lane *lanes = calloc((size_t)schedule->info.num_lanes + 1, sizeof(*lanes));
    if (!lanes)
        return braid_error_no_memory("the early starts of a plan");
    uint32_t num_early = 0;
    for (size_t i = 0; i < schedule->program.num_ops; i++) {
        const braid_step *step = &schedule->program.ops[i];
        struct early_lane *lane = &lanes[step->lane];
        if (step->kind != BRAID_STEP_RUN) {
            lane->followed = true;
            continue;
        }
        if (is_inside(&walk, lane, step->node)) {
            lane->last = step->node;
            continue;
        }
        struct plan_early_node *node = &nodes[step->node];
        node->early = adjacent && lane->followed ? PLAN_NOT_EARLY : choose(&walk, lane, step->node);
        num_early += node->early != PLAN_NOT_EARLY;
        go_on(&walk, lane, step->node);
    }
    free(lanes);
    *out_num_early = num_early;
    return BRAID_OK;
}
