// SPDX-License-Identifier: Apache-2.0
// Which loops become one kernel that runs their body again and again.
//
// An iteration of such a kernel costs no launch. On an H200 it takes 0.45 us around an empty node,
// and a loop of the driver's graph takes 4.6 us. But all blocks of a node share one multiprocessor.
// So a loop is inside if all nodes of its body can be, and no node is expected to be slower there.
//
// Blocks of a node run side by side only if the island has one lane. Nodes that read memory may
// then take 1 us longer than on several multiprocessors, so few of unknown cost may have several
// blocks.
#include "base/error.h"
#include "plan/plan_divide.h"
#include "plan/plan_inside.h"
#include "plan/plan_times.h"

static const char not_narrow[] = "a node of its loop would take longer inside";
static const char not_all[] = "not all nodes of its loop can be inside";
static const char has_loops[] = "its loop has loops inside";
static const char is_arm[] = "it is in an arm of a branch";
static const char no_room[] = "its loop has lanes side by side, and it has several blocks";
static const char too_many[] = "its loop has too many nodes or arguments";
static const char is_one[] = "it is an island itself";
static const char is_loop[] = "the device's own graph plays it";

struct loop_divider {
    struct braid_schedule *schedule;
    const braid_cost_model *model;
    const struct island_fit *fits;
    bool always;
    bool failed; // memory ran out
};

static bool has_call(const struct loop_divider *divider, const braid_step *op)
{
    return op->kind == BRAID_STEP_RUN && !divider->fits[op->node].is_empty;
}

static bool is_guess(const struct braid_schedule *schedule, uint32_t node)
{
    return schedule->unknown && schedule->unknown[node];
}

enum { MOST_GUESSED = 4 }; // nodes of unknown cost with several blocks

// The needs of a body in an island.
struct body_needs {
    uint32_t num, arg_bytes, num_guessed;
    bool has_blocks; // some node has several
    struct plan_block block;
};

static bool is_slower(const struct loop_divider *divider, uint32_t node,
                      const struct plan_room *room)
{
    const struct braid_schedule *schedule = divider->schedule;
    const braid_cost_model *model = divider->model;
    const struct island_fit *fit = &divider->fits[node];
    if (divider->always || fit->blocks <= room->groups)
        return false;
    uint64_t cost = schedule->cost_ns[node];
    uint64_t launch = model->early_ns < model->node_ns ? model->node_ns - model->early_ns : 0;
    return is_guess(schedule, node) ||
           braid_plan_inside_ns(fit, room, cost) + model->island_call_ns > cost + launch;
}

// Why a loop stays outside; NULL: it may be inside.
static const char *find_needs(const struct loop_divider *divider, const struct program *body,
                              struct body_needs *needs)
{
    for (size_t i = 0; i < body->num_ops; i++) {
        const braid_step *op = &body->ops[i];
        if (!has_call(divider, op))
            continue;
        const struct island_fit *fit = &divider->fits[op->node];
        if (fit->why_not)
            return not_all;
        braid_plan_block_add(&needs->block, fit);
        needs->arg_bytes += fit->arg_bytes + 16;
        needs->has_blocks |= fit->blocks > 1;
        needs->num_guessed += fit->blocks > 1 && is_guess(divider->schedule, op->node);
        if (++needs->num > PLAN_MOST_CALLS || needs->arg_bytes > PLAN_MOST_ARG_BYTES)
            return too_many;
    }
    if (divider->always)
        return needs->num ? NULL : not_all;
    if (needs->has_blocks && body->num_lanes > 1)
        return no_room;
    return !needs->num ? not_all : needs->num_guessed > MOST_GUESSED ? not_narrow : NULL;
}

// The same, with *out_num calls.
static const char *find_reason(const struct loop_divider *divider, const struct program *body,
                               uint32_t *out_num)
{
    struct body_needs needs = { 0 };
    const char *reason = find_needs(divider, body, &needs);
    const struct plan_room room = { .groups = braid_plan_groups_of_a_block(needs.block),
                                    .round_ns = divider->model->island_round_ns,
                                    .max_threads = divider->model->max_threads };
    for (size_t i = 0; i < body->num_ops && !reason; i++)
        if (has_call(divider, &body->ops[i]) && is_slower(divider, body->ops[i].node, &room))
            reason = not_narrow;
    *out_num = reason ? 0 : needs.num;
    return reason;
}

static void set_outside(struct loop_divider *divider, uint32_t node, const char *reason)
{
    struct plan_division *division = &divider->schedule->division;
    const char *own = divider->fits[node].why_not;
    division->why_outside[node] = own ? braid_plan_keep_text(division, own) : reason;
    divider->failed |= !division->why_outside[node];
}

// A loop that is one kernel starts its iterations itself.
static void shorten(const struct loop_divider *divider, const struct program *body)
{
    const uint64_t between_ns = divider->schedule->options.costs.iteration_ns;
    uint64_t *cost_ns = &divider->schedule->cost_ns[body->node], saved_ns;
    if (between_ns > PLAN_ITERATION_INSIDE_NS &&
        !__builtin_mul_overflow(between_ns - PLAN_ITERATION_INSIDE_NS, body->expected, &saved_ns) &&
        saved_ns < *cost_ns) // which has a limit
        *cost_ns -= saved_ns;
}

static void divide_body(struct loop_divider *divider, const struct program *body)
{
    struct braid_schedule *schedule = divider->schedule;
    uint32_t num = 0;
    for (uint32_t i = 0; i < body->num_bodies; i++)
        divide_body(divider, &body->bodies[i]);
    bool is_branch = schedule->program.kinds[body->node] == WORK_BRANCH;
    const char *reason = is_branch          ? is_arm
                         : body->num_bodies ? has_loops
                                            : find_reason(divider, body, &num);
    for (size_t i = 0; i < body->num_ops; i++) {
        const braid_step *op = &body->ops[i];
        if (op->kind != BRAID_STEP_RUN)
            continue;
        if (reason)
            set_outside(divider, op->node, reason);
        else
            schedule->division.island_of[op->node] = schedule->info.num_islands;
    }
    schedule->division.why_outside[body->node] = reason ? is_loop : is_one;
    schedule->info.num_islands += !reason;
    schedule->info.num_island_nodes += num;
}

braid_status braid_plan_divide_loops(struct braid_schedule *schedule, const braid_cost_model *model,
                                     const struct island_fit *fits, bool always)
{
    struct loop_divider divider = { schedule, model, fits, always, false };
    const uint32_t num_islands = schedule->info.num_islands;
    for (uint32_t i = 0; i < schedule->program.num_bodies; i++) {
        const struct program *body = &schedule->program.bodies[i];
        divide_body(&divider, body);
        if (schedule->division.why_outside[body->node] == is_one)
            shorten(&divider, body);
    }
    if (divider.failed)
        return braid_error_no_memory("the islands of a plan");
    return schedule->info.num_islands > num_islands ? braid_plan_find_times(schedule, model, 0)
                                                    : BRAID_OK;
}
