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
    bool adjacent;
    uint32_t num_lanes;          // that run at once
    uint32_t room, most_waiting; // each lane's
    uint32_t num_early;
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

static void walk_step(struct early_walk *walk, struct early_lane *lane, const braid_step *step)
{
    if (step->kind == BRAID_STEP_LOOP) // no kernel starts early behind one
        *lane = (struct early_lane){ 0 };
    lane->followed = lane->followed || step->kind != BRAID_STEP_RUN;
    if (step->kind != BRAID_STEP_RUN)
        return;
    if (is_inside(walk, lane, step->node)) {
        lane->last = step->node;
        return;
    }
    struct plan_early_node *node = &walk->nodes[step->node];
    bool is_apart = walk->adjacent && lane->followed;
    node->early = is_apart ? PLAN_NOT_EARLY : choose(walk, lane, step->node);
    node->behind = lane->begun ? lane->last : PLAN_NONE;
    walk->num_early += node->early != PLAN_NOT_EARLY;
    go_on(walk, lane, step->node);
}

// The lanes of a body share the part of the device that the lane has which enters it.
static braid_status walk_program(struct early_walk *outer, const struct program *program)
{
    struct early_walk walk = *outer;
    uint64_t num_lanes = (uint64_t)outer->num_lanes * (program->num_lanes ? program->num_lanes : 1);
    walk.num_lanes = num_lanes < PLAN_EARLY_ROOM ? (uint32_t)num_lanes : PLAN_EARLY_ROOM;
    uint32_t waiting = MOST_KERNELS / 2 / walk.num_lanes;
    walk.room = PLAN_EARLY_ROOM / walk.num_lanes;
    walk.most_waiting = waiting > MOST_WAITING ? MOST_WAITING : waiting ? waiting : 1;
    struct early_lane *lanes = calloc((size_t)program->num_lanes + 1, sizeof(*lanes));
    if (!lanes)
        return braid_error_no_memory("the early starts of a plan");
    for (size_t i = 0; i < program->num_ops; i++)
        walk_step(&walk, &lanes[program->ops[i].lane], &program->ops[i]);
    free(lanes);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < program->num_bodies && !status; i++)
        status = walk_program(&walk, &program->bodies[i]);
    outer->num_early = walk.num_early;
    return status;
}

braid_status braid_plan_choose_early(const braid_schedule *schedule, const braid_graph *graph,
                                     bool adjacent, struct plan_early_node *nodes,
                                     uint32_t *out_num_early)
{
    struct early_walk walk = {
        .schedule = schedule,
        .graph = graph,
        .nodes = nodes,
        .adjacent = adjacent,
        .num_lanes = 1,
    };
    braid_status status = walk_program(&walk, &schedule->program);
    if (!status)
        *out_num_early = walk.num_early;
    return status;
}
