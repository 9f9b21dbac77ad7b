// SPDX-License-Identifier: Apache-2.0
// Which loops and branches become one kernel, with all loops and branches inside them.
//
// An iteration of such a kernel costs no launch. On an H200 it takes 0.7 us around a short node,
// and a loop of the driver's graph takes 5 us. But all blocks of a node share one multiprocessor.
// So a loop is inside if all nodes in it can be, and no node is expected to be slower there.
// Otherwise the loops and branches in it are asked, each alone.
//
// Blocks of a node run side by side only if the island has one lane. Nodes that read memory may
// then take 1 us longer than on several multiprocessors, so few of unknown cost may have several
// blocks.
#include "base/error.h"
#include "islands/plan_divide.h"
#include "islands/plan_inside.h"
#include "plan/plan_times.h"

static const char not_narrow[] = "a node of its loop would take longer inside";
static const char not_all[] = "not all nodes of its loop can be inside";
static const char no_room[] = "its loop has lanes side by side, and it has several blocks";
static const char too_many[] = "its loop has too many nodes, arguments or loops inside";
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

enum { SCOPE_BYTES = 64 }; // arguments, for each arm

// The needs of a loop or branch in an island.
struct body_needs {
    uint32_t num, num_arms, arg_bytes, num_guessed, num_lanes;
    bool has_blocks; // some node has several
    bool is_outside; // some node is
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

// An arm has two steps, each with the place of every lane's calls.
static bool has_room(const struct body_needs *needs)
{
    const uint64_t steps = UINT64_C(2) * needs->num_arms * (16 + 8 * (uint64_t)needs->num_lanes);
    return needs->num <= PLAN_MOST_CALLS && needs->arg_bytes <= PLAN_MOST_ARG_BYTES &&
           16 * needs->num + needs->arg_bytes + steps <= PLAN_MOST_LIST_BYTES;
}

// False: they have no room.
static bool add_body(const struct loop_divider *divider, const struct program *body,
                     struct body_needs *needs)
{
    needs->num_lanes = body->num_lanes > needs->num_lanes ? body->num_lanes : needs->num_lanes;
    needs->arg_bytes += SCOPE_BYTES;
    needs->num_arms++;
    for (size_t i = 0; i < body->num_ops; i++) {
        const braid_step *op = &body->ops[i];
        if (!has_call(divider, op))
            continue;
        const struct island_fit *fit = &divider->fits[op->node];
        needs->is_outside |= fit->why_not != NULL;
        braid_plan_block_add(&needs->block, fit);
        needs->arg_bytes += fit->arg_bytes + 16;
        needs->has_blocks |= fit->blocks > 1;
        needs->num_guessed += fit->blocks > 1 && is_guess(divider->schedule, op->node);
        needs->num++;
        if (!has_room(needs))
            return false;
    }
    bool fits = has_room(needs);
    for (uint32_t i = 0; i < body->num_bodies && fits; i++)
        fits = add_body(divider, &body->bodies[i], needs);
    return fits;
}

static bool has_slower(const struct loop_divider *divider, const struct program *body,
                       const struct plan_room *room)
{
    bool has = false;
    for (size_t i = 0; i < body->num_ops && !has; i++)
        has = has_call(divider, &body->ops[i]) && is_slower(divider, body->ops[i].node, room);
    for (uint32_t i = 0; i < body->num_bodies && !has; i++)
        has = has_slower(divider, &body->bodies[i], room);
    return has;
}

// Why a loop or branch stays outside; NULL: it may be inside, with *out_num calls.
static const char *find_reason(const struct loop_divider *divider, const struct program *body,
                               uint32_t *out_num)
{
    struct body_needs needs = { 0 };
    bool fits = true, slower = false;
    for (uint32_t arm = 0; arm <= body->has_else && fits; arm++)
        fits = add_body(divider, &body[arm], &needs);
    const struct plan_room room = { .groups = braid_plan_groups_of_a_block(needs.block),
                                    .round_ns = divider->model->island_round_ns,
                                    .max_threads = divider->model->max_threads };
    *out_num = needs.num;
    if (needs.is_outside || !needs.num)
        return not_all;
    if (!fits)
        return too_many;
    if (divider->always)
        return NULL;
    for (uint32_t arm = 0; arm <= body->has_else && !slower; arm++)
        slower = has_slower(divider, &body[arm], &room);
    if (needs.has_blocks && needs.num_lanes > 1)
        return no_room;
    return slower || needs.num_guessed > MOST_GUESSED ? not_narrow : NULL;
}

static void set_outside(struct loop_divider *divider, uint32_t node, const char *reason)
{
    struct plan_division *division = &divider->schedule->division;
    const char *own = divider->fits[node].why_not;
    division->why_outside[node] = own ? braid_plan_keep_text(division, own) : reason;
    divider->failed |= !division->why_outside[node];
}

// All of a body is in the last island.
static void set_inside(const struct loop_divider *divider, const struct program *body)
{
    struct braid_schedule *schedule = divider->schedule;
    struct plan_division *division = &schedule->division;
    division->island_of[body->node] = schedule->info.num_islands - 1;
    division->why_outside[body->node] = NULL;
    for (size_t i = 0; i < body->num_ops; i++)
        if (body->ops[i].kind == BRAID_STEP_RUN)
            division->island_of[body->ops[i].node] = schedule->info.num_islands - 1;
    for (uint32_t i = 0; i < body->num_bodies; i++)
        set_inside(divider, &body->bodies[i]);
}

static uint64_t shorten(const struct loop_divider *divider, const struct program *body);

static uint64_t shorten_bodies(const struct loop_divider *divider, const struct program *program)
{
    uint64_t saved_ns = 0;
    for (uint32_t i = 0; i < program->num_bodies; i += 1 + program->bodies[i].has_else)
        saved_ns += shorten(divider, &program->bodies[i]);
    return saved_ns;
}

// Scopes of one kernel start their iterations themselves. Returns by how much the runs of a loop,
// or of the arms of a branch, are shorter, at most.
static uint64_t shorten(const struct loop_divider *divider, const struct program *body)
{
    const struct braid_schedule *schedule = divider->schedule;
    const bool iterates = schedule->program.kinds[body->node] == WORK_LOOP;
    const uint64_t between_ns = schedule->options.costs.iteration_ns;
    uint64_t *cost_ns = &schedule->cost_ns[body->node], saved_ns = 0;
    for (uint32_t arm = 0; arm <= body->has_else; arm++) {
        const uint64_t arm_ns = shorten_bodies(divider, &body[arm]);
        saved_ns = arm_ns > saved_ns ? arm_ns : saved_ns;
    }
    if (iterates && between_ns > PLAN_ITERATION_INSIDE_NS)
        saved_ns += between_ns - PLAN_ITERATION_INSIDE_NS;
    if (__builtin_mul_overflow(saved_ns, body->expected, &saved_ns) ||
        saved_ns >= *cost_ns) // which has a limit
        return 0;
    *cost_ns -= saved_ns;
    return saved_ns;
}

static void divide_bodies(struct loop_divider *divider, const struct program *program);

static void divide_body(struct loop_divider *divider, const struct program *body)
{
    struct braid_schedule *schedule = divider->schedule;
    uint32_t num;
    const char *reason = find_reason(divider, body, &num);
    if (!reason) {
        schedule->info.num_islands++;
        schedule->info.num_island_nodes += num;
        shorten(divider, body);
    }
    schedule->division.why_outside[body->node] = is_loop;
    for (uint32_t arm = 0; arm <= body->has_else; arm++) {
        if (!reason) {
            set_inside(divider, &body[arm]);
            continue;
        }
        for (size_t i = 0; i < body[arm].num_ops; i++)
            if (body[arm].ops[i].kind == BRAID_STEP_RUN)
                set_outside(divider, body[arm].ops[i].node, reason);
        divide_bodies(divider, &body[arm]);
    }
}

static void divide_bodies(struct loop_divider *divider, const struct program *program)
{
    for (uint32_t i = 0; i < program->num_bodies; i += 1 + program->bodies[i].has_else)
        divide_body(divider, &program->bodies[i]);
}

braid_status braid_plan_divide_loops(struct braid_schedule *schedule, const braid_cost_model *model,
                                     const struct island_fit *fits, bool always)
{
    struct loop_divider divider = { schedule, model, fits, always, false };
    const uint32_t num_islands = schedule->info.num_islands;
    divide_bodies(&divider, &schedule->program);
    if (divider.failed)
        return braid_error_no_memory("the islands of a plan");
    return schedule->info.num_islands > num_islands ? braid_plan_find_times(schedule, model, 0)
                                                    : BRAID_OK;
}
