// SPDX-License-Identifier: Apache-2.0
// Plays a step list through: each lane goes on as soon as its last node has ended and its waits are
// over.
#include "plan/plan_times.h"

#include "base/error.h"
#include "base/host_memory.h"

struct lane_times {
    uint64_t *lane_free_ns;  // per lane: when its last node ends
    uint32_t *lane_last;     // per lane: that node
    uint64_t *lane_ready_ns; // per lane: when its waits so far are over
    bool *lane_waits;        // per lane: its next node does
};

// The time between a node and the next of its lane. The gain of an early start counts only if
// islands are weighed against it: the planner places nodes without.
static uint64_t gap_after(const struct braid_schedule *schedule, const braid_cost_model *model,
                          uint32_t last, uint32_t node)
{
    const uint32_t *island_of = schedule->division.island_of;
    if (!island_of)
        return model->node_ns;
    if (island_of[node] != PLAN_NONE && island_of[last] == island_of[node])
        return model->island_call_ns;
    return model->early_ns < model->node_ns ? model->node_ns - model->early_ns : model->node_ns;
}

static uint64_t wait_of(const struct braid_schedule *schedule, const braid_cost_model *model,
                        const braid_step *wait)
{
    uint32_t from = schedule_lane_place(schedule, schedule->lane_of[wait->node]);
    uint32_t to = schedule_lane_place(schedule, wait->lane);
    return from == to ? model->wait_ns : placed_link(&schedule->placed->model, from, to)->wait_ns;
}

// A body keeps its times from the start of its loop on. The difference may be negative, modulo
// 2^64.
static void move_body(const struct braid_schedule *schedule, const struct program *body,
                      uint64_t by_ns)
{
    for (size_t i = 0; i < body->num_ops; i++)
        if (program_has_node(&body->ops[i]))
            schedule->start_ns[body->ops[i].node] += by_ns;
    for (uint32_t i = 0; i < body->num_bodies; i++)
        move_body(schedule, &body->bodies[i], by_ns);
}

static void move_bodies(const struct braid_schedule *schedule, const braid_step *step,
                        uint64_t by_ns)
{
    const struct program *body = &schedule->program.bodies[step->position];
    move_body(schedule, body, by_ns);
    if (body->has_else)
        move_body(schedule, body + 1, by_ns);
}

// Sets when each node starts; returns when the last one ends.
static uint64_t time_steps(const struct braid_schedule *schedule, const braid_cost_model *model,
                           uint64_t wait_busy_ns, const struct lane_times *work)
{
    uint64_t makespan = 0;
    for (size_t i = 0; i < schedule->program.num_ops; i++) {
        const braid_step *step = &schedule->program.ops[i];
        uint64_t *ready = &work->lane_ready_ns[step->lane];
        if (step->kind == BRAID_STEP_WAIT) {
            uint64_t seen = schedule->start_ns[step->node] + schedule->cost_ns[step->node];
            seen += wait_of(schedule, model, step);
            *ready = seen > *ready ? seen : *ready;
            work->lane_waits[step->lane] = true;
        } else if (program_has_node(step)) {
            uint64_t *free_ns = &work->lane_free_ns[step->lane];
            uint32_t *last = &work->lane_last[step->lane];
            if (*last != PLAN_NONE) {
                *free_ns += gap_after(schedule, model, *last, step->node);
                *free_ns += work->lane_waits[step->lane] ? wait_busy_ns : 0;
            }
            work->lane_waits[step->lane] = false;
            uint64_t start = *free_ns > *ready ? *free_ns : *ready;
            uint64_t end = start + schedule->cost_ns[step->node];
            if (step->kind == BRAID_STEP_LOOP)
                move_bodies(schedule, step, start - schedule->start_ns[step->node]);
            schedule->start_ns[step->node] = start;
            *free_ns = end;
            *last = step->node;
            makespan = end > makespan ? end : makespan;
        }
    }
    return makespan;
}

braid_status braid_plan_find_times(struct braid_schedule *schedule, const braid_cost_model *model,
                                   uint64_t wait_busy_ns)
{
    uint32_t num_lanes = schedule->info.num_lanes;
    struct lane_times work = {
        .lane_free_ns = braid_allocate_zeroed(num_lanes, sizeof(uint64_t)),
        .lane_last = braid_allocate_zeroed(num_lanes, sizeof(uint32_t)),
        .lane_ready_ns = braid_allocate_zeroed(num_lanes, sizeof(uint64_t)),
        .lane_waits = braid_allocate_zeroed(num_lanes, sizeof(bool)),
    };
    bool done = work.lane_free_ns && work.lane_last && work.lane_ready_ns && work.lane_waits;
    if (done) {
        for (uint32_t i = 0; i < num_lanes; i++)
            work.lane_last[i] = PLAN_NONE;
        schedule->info.makespan_ns = time_steps(schedule, model, wait_busy_ns, &work);
        if (num_lanes > 1)
            schedule->info.makespan_ns += (num_lanes - 1) * model->root_ns;
    }
    braid_free(work.lane_free_ns);
    braid_free(work.lane_last);
    braid_free(work.lane_ready_ns);
    braid_free(work.lane_waits);
    return done ? BRAID_OK : braid_error_no_memory("the times of a plan");
}
