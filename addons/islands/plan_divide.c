// SPDX-License-Identifier: Apache-2.0
// Finds loops and stretches of lanes that can be islands, keeps those that pay, and times the plan
// anew.
//
// A stretch grows node by node while each next one is expected to be no longer inside than behind a
// launch of its own. Every lane is walked once.
#include "islands/plan_divide.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "graph/changes.h"
#include "plan/plan_expect.h"
#include "plan/plan_limit.h"
#include "plan/plan_times.h"

// ---- how long a kernel takes inside, where few of its blocks run side by side ----

enum {
    WARP = 32,           // threads
    MOST_THREADS = 1024, // in a block of the island
    MOST_GROUPS = 14,    // groups of more than a warp, which each have one of 16 barriers
    LEAST_A_BLOCK = 64,  // threads that a block counts for, as in plan_costs.c
    MOVING_WARPS = 16,   // with which a multiprocessor alone moves 2 KiB each in a round
};

#define LONGEST_NS ((uint64_t)INT64_MAX / 2)

// The part of an island's block that a lane's calls need.
struct plan_block {
    uint32_t threads; // the most that one has
    bool runs_alone;
};

static void add_to_block(struct plan_block *block, const struct island_fit *fit)
{
    if (!fit->is_empty && fit->threads > block->threads)
        block->threads = fit->threads;
    block->runs_alone |= fit->runs_alone;
}

// How many such blocks run side by side in one block of an island. gpu_island.c lays them out so:
// whole warps, and barriers for more than one.
static uint32_t groups_of_a_block(struct plan_block block)
{
    uint32_t threads = block.threads < MOST_THREADS ? block.threads : MOST_THREADS;
    uint32_t group = threads ? (threads + WARP - 1) / WARP * WARP : WARP;
    uint32_t groups = MOST_THREADS / group;
    if (block.runs_alone)
        return 1;
    return group > WARP && groups > MOST_GROUPS ? MOST_GROUPS : groups;
}

uint32_t braid_plan_groups_of(const struct island_fit *fits, uint32_t num)
{
    struct plan_block block = { 0 };
    for (uint32_t i = 0; i < num; i++)
        add_to_block(&block, &fits[i]);
    return groups_of_a_block(block);
}

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return value / by + (value % by != 0);
}

// How often the blocks of a kernel would fill the device. A block alone takes one part in so many
// of the kernel's time.
static uint64_t waves_of(const struct island_fit *fit, const struct plan_room *room)
{
    uint64_t threads = fit->threads > LEAST_A_BLOCK ? fit->threads : LEAST_A_BLOCK;
    uint64_t at_once = room->max_threads / threads;
    return at_once && fit->blocks > at_once ? divide_up(fit->blocks, at_once) : 1;
}

// A round takes as long as a block alone. If that is next to nothing, it takes the time that a
// launch hides otherwise. So it does for a copy or fill: the driver's way of doing it tells nothing
// of the further rounds. All threads of the lane do it, so that its blocks are warps.
static uint64_t rounds_ns(const struct island_fit *fit, const struct plan_room *room,
                          uint64_t cost_ns, uint64_t num_rounds)
{
    uint64_t block_ns = cost_ns / waves_of(fit, room), ns;
    uint64_t more_ns = block_ns > room->round_ns && !fit->is_move ? block_ns : room->round_ns;
    if (num_rounds < 2)
        return cost_ns;
    if (__builtin_mul_overflow(more_ns, num_rounds - 1, &ns) || ns > LONGEST_NS / 2 ||
        block_ns > LONGEST_NS / 2)
        return LONGEST_NS;
    return block_ns + ns;
}

uint64_t braid_plan_inside_ns(const struct island_fit *fit, const struct plan_room *room,
                              uint64_t cost_ns)
{
    if (fit->is_empty || fit->why_not)
        return cost_ns;
    const uint64_t at_once =
        fit->is_move && !room->shares_unit ? MOVING_WARPS : (uint64_t)room->groups;
    return rounds_ns(fit, room, cost_ns, divide_up(fit->blocks, at_once));
}

// ---- which loops and branches become one kernel, with all loops and branches inside them ----
//
// An iteration of such a kernel costs no launch. On an H200 it takes 0.7 us around a short node,
// and a loop of the driver's graph takes 5 us. But all blocks of a node share one multiprocessor.
// So a loop is inside if all nodes in it can be, and no node is expected to be slower there.
// Otherwise the loops and branches in it are asked, each alone.
//
// Blocks of a node run side by side as far as its lane has groups. Nodes that read memory may then
// take 1 us longer than on several multiprocessors, so few of unknown cost may have several blocks.

static const char not_narrow[] = "a node of its loop would take longer inside";
static const char not_all[] = "not all nodes of its loop can be inside";
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
static bool body_has_room(const struct body_needs *needs)
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
        add_to_block(&needs->block, fit);
        needs->arg_bytes += fit->arg_bytes + 16;
        needs->num_guessed += fit->blocks > 1 && is_guess(divider->schedule, op->node);
        needs->num++;
        if (!body_has_room(needs))
            return false;
    }
    bool fits = body_has_room(needs);
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
    const uint32_t groups = groups_of_a_block(needs.block) / (needs.num_lanes + !needs.num_lanes);
    const struct plan_room room = { .groups = groups ? groups : 1,
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
    return slower || needs.num_guessed > MOST_GUESSED ? not_narrow : NULL;
}

// Who gave a reason may be gone before the schedule is, so it keeps each once. NULL: memory ran
// out.
static const char *keep_text(struct plan_division *division, const char *text)
{
    for (size_t i = 0; i < division->num_texts; i++) {
        if (strcmp(division->texts[i], text) == 0)
            return division->texts[i];
    }
    char **texts = braid_reallocate(division->texts, (division->num_texts + 1) * sizeof(*texts));
    if (!texts)
        return NULL;
    division->texts = texts;
    texts[division->num_texts] = braid_copy_text(text);
    return texts[division->num_texts] ? texts[division->num_texts++] : NULL;
}

static void set_outside(struct loop_divider *divider, uint32_t node, const char *reason)
{
    struct plan_division *division = &divider->schedule->division;
    const char *own = divider->fits[node].why_not;
    division->why_outside[node] = own ? keep_text(division, own) : reason;
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

// All nodes of a body are in one island, or none is. Errors: BRAID_NO_MEMORY.
static braid_status divide_loops(struct braid_schedule *schedule, const braid_cost_model *model,
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

// ---- stretches of lanes ----

enum {
    LEAST_GAIN = 3, // in a hundred
    // The blocks of a call share one multiprocessor. If nobody told its cost, it counts as one that
    // reads memory. On an H200, 80 such kernels of four blocks took 293 us instead of 208.
    SHARED_NS = 350, // for each block but the first
};

static const char not_alone[] = "no neighbour on its lane can be inside with it";
static const char no_gain[] = "it would take longer inside than behind a launch of its own";
static const char small_gain[] = "islands would make the frame less than 3 % shorter";

// A stretch of a lane: nodes [first, end) of schedule->lane_nodes.
struct stretch {
    uint32_t first, end;
    struct plan_block block;
    uint32_t arg_bytes;
    uint64_t loss_ns; // its last nodes take so much longer inside
};

struct divider {
    struct braid_schedule *schedule;
    const braid_cost_model *model;
    const struct island_fit *fits;
    bool *is_cut; // per node: something stands between it and the one before it on its lane
    bool always;
    bool failed; // memory ran out
};

static uint64_t inside_ns(const struct divider *divider, uint32_t node, struct plan_block block)
{
    const struct plan_room room = { .groups = groups_of_a_block(block),
                                    .round_ns = divider->model->island_round_ns,
                                    .max_threads = divider->model->max_threads };
    const struct island_fit *fit = &divider->fits[node];
    uint64_t ns = braid_plan_inside_ns(fit, &room, divider->schedule->cost_ns[node]);
    bool shares = fit->blocks > 1 && is_guess(divider->schedule, node) && !fit->is_move;
    if (shares && fit->blocks < LONGEST_NS / SHARED_NS && ns < LONGEST_NS)
        ns += (fit->blocks - 1) * SHARED_NS;
    return fit->is_empty ? 0 : ns;
}

// The time between a node with a launch of its own and its neighbour.
static uint64_t launch_ns(const braid_cost_model *model)
{
    return model->early_ns < model->node_ns ? model->node_ns - model->early_ns : 0;
}

// By how much a node takes longer inside. A stretch goes on over such nodes if they lose less than
// another start of an island.
static uint64_t loss_of(const struct divider *divider, uint32_t node)
{
    const struct island_fit *fit = &divider->fits[node];
    struct plan_block block = { 0 };
    if (fit->is_empty || divider->always)
        return 0;
    add_to_block(&block, fit);
    uint64_t inside = inside_ns(divider, node, block) + divider->model->island_call_ns;
    uint64_t outside = divider->schedule->cost_ns[node] + launch_ns(divider->model);
    return inside > outside ? inside - outside : 0;
}

static const char *why_not(const struct divider *divider, const struct stretch *stretch,
                           uint32_t node, uint64_t loss_ns)
{
    bool is_first = stretch->first == stretch->end;
    if (divider->fits[node].why_not || !loss_ns)
        return divider->fits[node].why_not;
    bool is_dear = loss_ns > divider->model->island_start_ns ||
                   stretch->loss_ns > divider->model->island_start_ns - loss_ns;
    return is_first || is_dear || divider->is_cut[node] ? no_gain : NULL;
}

static bool has_room(const struct stretch *stretch, const struct island_fit *fit)
{
    return stretch->end - stretch->first < PLAN_MOST_CALLS &&
           stretch->arg_bytes + fit->arg_bytes + 16 <= PLAN_MOST_ARG_BYTES;
}

static void extend(struct stretch *stretch, const struct island_fit *fit, uint64_t loss_ns)
{
    stretch->end++;
    if (fit->is_empty)
        return;
    stretch->loss_ns = loss_ns ? stretch->loss_ns + loss_ns : 0;
    add_to_block(&stretch->block, fit);
    stretch->arg_bytes += fit->arg_bytes + 16;
}

// Empty nodes at the ends would only be in the way of records and waits.
// So would nodes at its end that take longer inside.
static uint32_t trim(const struct divider *divider, struct stretch *stretch)
{
    const uint32_t *nodes = divider->schedule->lane_nodes;
    while (stretch->loss_ns && stretch->first < stretch->end &&
           (divider->fits[nodes[stretch->end - 1]].is_empty ||
            loss_of(divider, nodes[stretch->end - 1])))
        stretch->end--;
    while (stretch->first < stretch->end && divider->fits[nodes[stretch->first]].is_empty)
        stretch->first++;
    while (stretch->first < stretch->end && divider->fits[nodes[stretch->end - 1]].is_empty)
        stretch->end--;
    uint32_t num = 0;
    for (uint32_t i = stretch->first; i < stretch->end; i++)
        num += !divider->fits[nodes[i]].is_empty;
    return num;
}

static bool pays(const struct divider *divider, const struct stretch *stretch, uint32_t num)
{
    const struct braid_schedule *schedule = divider->schedule;
    uint64_t inside = (num - 1) * divider->model->island_call_ns + divider->model->island_start_ns;
    uint64_t outside = (num - 1) * launch_ns(divider->model);
    for (uint32_t i = stretch->first; i < stretch->end; i++) {
        uint32_t node = schedule->lane_nodes[i];
        uint64_t ns = inside_ns(divider, node, stretch->block);
        inside = ns > INT64_MAX - inside ? INT64_MAX : inside + ns;
        outside += divider->fits[node].is_empty ? 0 : schedule->cost_ns[node];
    }
    return inside < outside;
}

static void set_reason(const struct divider *divider, const struct stretch *stretch,
                       const char *reason)
{
    const struct braid_schedule *schedule = divider->schedule;
    for (uint32_t i = stretch->first; i < stretch->end; i++)
        schedule->division.why_outside[schedule->lane_nodes[i]] = reason;
}

static void end_stretch(const struct divider *divider, struct stretch *stretch)
{
    struct braid_schedule *schedule = divider->schedule;
    struct stretch whole = *stretch;
    uint32_t num = trim(divider, stretch);
    if (num < 2) {
        set_reason(divider, &whole, not_alone);
    } else if (!divider->always && !pays(divider, stretch, num)) {
        set_reason(divider, &whole, no_gain);
    } else {
        const struct stretch rest = { .first = stretch->end, .end = whole.end };
        set_reason(divider, &whole, not_alone);
        set_reason(divider, &rest, whole.loss_ns ? no_gain : not_alone);
        set_reason(divider, stretch, NULL);
        for (uint32_t i = stretch->first; i < stretch->end; i++) {
            uint32_t node = schedule->lane_nodes[i];
            schedule->division.island_of[node] = schedule->info.num_islands;
            schedule->cost_ns[node] = divider->fits[node].is_empty
                                          ? schedule->cost_ns[node]
                                          : inside_ns(divider, node, stretch->block);
        }
        schedule->cost_ns[schedule->lane_nodes[stretch->first]] += divider->model->island_start_ns;
        schedule->info.num_islands++;
        schedule->info.num_island_nodes += num;
    }
    *stretch = (struct stretch){ .first = whole.end, .end = whole.end };
}

static void divide_lane(struct divider *divider, uint32_t lane)
{
    struct braid_schedule *schedule = divider->schedule;
    uint32_t first = schedule->lane_first[lane];
    struct stretch stretch = { .first = first, .end = first };
    for (uint32_t i = first; i < schedule->lane_first[lane + 1]; i++) {
        uint32_t node = schedule->lane_nodes[i];
        uint64_t loss_ns = divider->fits[node].why_not ? 0 : loss_of(divider, node);
        const char *reason = why_not(divider, &stretch, node, loss_ns);
        if (reason || divider->is_cut[node] || !has_room(&stretch, &divider->fits[node]))
            end_stretch(divider, &stretch);
        if (reason) {
            const char *kept = keep_text(&schedule->division, reason);
            schedule->division.why_outside[node] = kept;
            divider->failed |= !kept;
            stretch.first = stretch.end = i + 1;
        } else {
            extend(&stretch, &divider->fits[node], loss_ns);
        }
    }
    end_stretch(divider, &stretch);
}

// A wait before a node, or a record behind the one before it.
static bool find_cuts(struct divider *divider)
{
    const struct braid_schedule *schedule = divider->schedule;
    bool *since = braid_allocate_zeroed(schedule->info.num_lanes, sizeof(*since));
    divider->is_cut = braid_allocate_zeroed(schedule->info.num_nodes, sizeof(bool));
    bool done = since && divider->is_cut;
    for (size_t i = 0; i < schedule->program.num_ops && done; i++) {
        const braid_step *step = &schedule->program.ops[i];
        if (step->kind == BRAID_STEP_RUN)
            divider->is_cut[step->node] = since[step->lane];
        since[step->lane] = step->kind != BRAID_STEP_RUN;
    }
    braid_free(since);
    return done;
}

static uint64_t expected_ns(const struct braid_schedule *schedule, const braid_cost_model *model)
{
    const braid_schedule_info *info = &schedule->info;
    uint64_t num_launched = schedule_num_launched(info);
    return braid_plan_expected_ns(model, info->makespan_ns, num_launched, info->num_waits);
}

static void take_back(const struct divider *divider)
{
    struct braid_schedule *schedule = divider->schedule;
    struct plan_division *division = &schedule->division;
    size_t bytes = schedule->info.num_nodes * sizeof(uint64_t);
    for (uint32_t i = 0; i < schedule->info.num_nodes; i++) {
        if (!division->why_outside[i])
            division->why_outside[i] = small_gain;
        division->island_of[i] = PLAN_NONE;
    }
    memcpy(schedule->start_ns, division->plain_start_ns, bytes);
    memcpy(schedule->cost_ns, division->plain_cost_ns, bytes);
    schedule->info.makespan_ns = division->plain_makespan_ns;
    schedule->info.num_islands = schedule->info.num_island_nodes = 0;
}

static braid_status divide(struct divider *divider)
{
    struct braid_schedule *schedule = divider->schedule;
    braid_status status = braid_plan_find_times(schedule, divider->model, 0);
    uint64_t plain_ns = expected_ns(schedule, divider->model);
    for (uint32_t lane = 0; lane < schedule->info.num_lanes && !status; lane++)
        divide_lane(divider, lane);
    if (divider->failed)
        status = braid_error_no_memory("the islands of a plan");
    if (!status)
        status = braid_plan_find_times(schedule, divider->model, 0);
    if (status)
        return status;
    uint64_t ns = expected_ns(schedule, divider->model);
    bool enough = ns <= plain_ns && plain_ns - ns >= plain_ns / 100 * LEAST_GAIN;
    bool kept = schedule->info.num_islands > 0 && (divider->always || enough);
    schedule->division.expected_ns = kept ? ns : plain_ns;
    if (!kept)
        take_back(divider);
    return BRAID_OK;
}

static bool allocate(struct braid_schedule *schedule)
{
    struct plan_division *division = &schedule->division;
    size_t num = schedule->info.num_nodes;
    division->island_of = braid_allocate_zeroed(num, sizeof(uint32_t));
    division->why_outside = braid_allocate_zeroed(num, sizeof(*division->why_outside));
    division->plain_start_ns = braid_allocate_zeroed(num, sizeof(uint64_t));
    division->plain_cost_ns = braid_allocate_zeroed(num, sizeof(uint64_t));
    if (!division->island_of || !division->why_outside || !division->plain_start_ns ||
        !division->plain_cost_ns)
        return false;
    for (size_t i = 0; i < num; i++)
        division->island_of[i] = PLAN_NONE;
    memcpy(division->plain_start_ns, schedule->start_ns, num * sizeof(uint64_t));
    memcpy(division->plain_cost_ns, schedule->cost_ns, num * sizeof(uint64_t));
    division->plain_makespan_ns = schedule->info.makespan_ns;
    return true;
}

braid_status braid_plan_divide(struct braid_schedule *schedule, const braid_cost_model *model,
                               const struct island_fit *fits, bool always)
{
    struct divider divider = { schedule, model, fits, NULL, always, false };
    if (!model->island_call_ns)
        return BRAID_OK;
    bool has_memory = allocate(schedule) && find_cuts(&divider);
    braid_status status =
        has_memory ? divide(&divider) : braid_error_no_memory("the islands of a plan");
    braid_free(divider.is_cut);
    if (!status)
        status = divide_loops(schedule, model, fits, always);
    if (!status && schedule->program.num_bodies)
        schedule->division.expected_ns = expected_ns(schedule, model);
    if (!status)
        braid_plan_find_limit(schedule);
    return status;
}

static uint64_t volume(braid_dim3 size)
{
    return (uint64_t)size.x * size.y * size.z;
}

static struct island_fit fit_of_kernel(const struct graph_kernel *kernel, bool changes)
{
    uint64_t threads = volume(kernel->block);
    struct island_fit fit = {
        .threads = threads <= MOST_THREADS ? (uint32_t)threads : 0,
        .blocks = volume(kernel->grid),
        .arg_bytes = (uint32_t)(16 * kernel->num_args),
    };
    if (!graph_kernel_has_text(kernel))
        fit.why_not = "it has neither source nor PTX";
    else if (kernel->cluster[0])
        fit.why_not = "it has a cluster";
    else if (kernel->cooperative)
        fit.why_not = "its launch is cooperative";
    else if (kernel->grid_from)
        fit.why_not = "its grid is read from memory";
    else if (kernel->empty)
        fit.why_not = "its grid has no block";
    else if (changes)
        fit.why_not = "a parameter changes its grid or disables it";
    else if (threads > MOST_THREADS)
        fit.why_not = "its blocks are too large";
    else if (kernel->num_args > GRAPH_MOST_ARGS_INSIDE)
        fit.why_not = "it has too many arguments";
    return fit;
}

// Which nodes can be inside.
static braid_status find_fits(const braid_graph *graph, struct island_fit *fits)
{
    const struct graph_kernel *kernels = graph->kernels.items;
    struct graph_changes changes;
    braid_status status = braid_graph_find_changes(graph, &changes);
    if (status)
        return status;
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        if (node->kind == WORK_KERNEL)
            fits[i] =
                fit_of_kernel(&kernels[node->payload],
                              node->may_idle || braid_graph_changes_launch(graph, &changes, i));
        else
            fits[i] =
                (struct island_fit){ .is_empty = node->kind == WORK_EMPTY,
                                     .why_not =
                                         node->kind == WORK_EMPTY ? NULL : "it is not a kernel" };
    }
    braid_graph_changes_finish(&changes);
    return BRAID_OK;
}

static braid_status divide_alone(struct braid_schedule *schedule, const braid_graph *graph,
                                 const braid_cost_model *model)
{
    if (!model->island_call_ns)
        return BRAID_OK;
    struct island_fit *fits = braid_allocate_zeroed(schedule->info.num_nodes, sizeof(*fits));
    if (!fits)
        return braid_error_no_memory("the islands of a plan");
    braid_status status = find_fits(graph, fits);
    if (!status)
        status = braid_plan_divide(schedule, model, fits, false);
    braid_free(fits);
    return status;
}

static const struct plan_islands islands = { .inside_ns = braid_plan_inside_ns,
                                             .divide = divide_alone };
const struct plan_islands *const braid_plan_islands = &islands;
