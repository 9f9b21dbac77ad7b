// SPDX-License-Identifier: Apache-2.0
// Finds stretches of lanes that can be islands, keeps those that pay, and times the plan anew.
//
// A stretch grows node by node while each next one is expected to be no longer inside than behind a
// launch of its own. Every lane is walked once.
#include "islands/plan_divide.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "graph/changes.h"
#include "islands/plan_inside.h"
#include "plan/plan_expect.h"
#include "plan/plan_limit.h"
#include "plan/plan_times.h"

enum {
    MOST_THREADS = 1024, // in the island's block
    LEAST_GAIN = 3,      // in a hundred
};

static const char not_alone[] = "no neighbour on its lane can be inside with it";
static const char no_gain[] = "it would take longer inside than behind a launch of its own";
static const char small_gain[] = "islands would make the frame less than 3 % shorter";

// A stretch of a lane: nodes [first, end) of schedule->lane_nodes.
struct stretch {
    uint32_t first, end;
    struct plan_block block;
    uint32_t arg_bytes;
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
    const struct plan_room room = { .groups = braid_plan_groups_of_a_block(block),
                                    .round_ns = divider->model->island_round_ns,
                                    .max_threads = divider->model->max_threads };
    const struct island_fit *fit = &divider->fits[node];
    return fit->is_empty ? 0 : braid_plan_inside_ns(fit, &room, divider->schedule->cost_ns[node]);
}

// The time between a node with a launch of its own and its neighbour.
static uint64_t launch_ns(const braid_cost_model *model)
{
    return model->early_ns < model->node_ns ? model->node_ns - model->early_ns : 0;
}

// The blocks of a call share one multiprocessor. If the cost is not known, that may cost more than
// the launch. On an H200, 80 kernels of four blocks that read memory took 293 us instead of 208.
static const char *why_not(const struct divider *divider, uint32_t node)
{
    const struct island_fit *fit = &divider->fits[node];
    const struct braid_schedule *schedule = divider->schedule;
    if (fit->why_not || fit->is_empty || divider->always)
        return fit->why_not;
    uint64_t cost = schedule->cost_ns[node];
    bool is_guess = schedule->unknown && schedule->unknown[node];
    struct plan_block block = { 0 };
    if (is_guess && fit->blocks > 1)
        return "its cost is not known, and its blocks would share one multiprocessor";
    braid_plan_block_add(&block, fit);
    uint64_t inside = inside_ns(divider, node, block);
    return inside + divider->model->island_call_ns > cost + launch_ns(divider->model) ? no_gain
                                                                                      : NULL;
}

static bool has_room(const struct stretch *stretch, const struct island_fit *fit)
{
    return stretch->end - stretch->first < PLAN_MOST_CALLS &&
           stretch->arg_bytes + fit->arg_bytes + 16 <= PLAN_MOST_ARG_BYTES;
}

static void extend(struct stretch *stretch, const struct island_fit *fit)
{
    stretch->end++;
    if (fit->is_empty)
        return;
    braid_plan_block_add(&stretch->block, fit);
    stretch->arg_bytes += fit->arg_bytes + 16;
}

// Empty nodes at the ends would only be in the way of records and waits.
static uint32_t trim(const struct divider *divider, struct stretch *stretch)
{
    const uint32_t *nodes = divider->schedule->lane_nodes;
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
        set_reason(divider, &whole, not_alone);
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

const char *braid_plan_keep_text(struct plan_division *division, const char *text)
{
    for (size_t i = 0; i < division->num_texts; i++) {
        if (strcmp(division->texts[i], text) == 0)
            return division->texts[i];
    }
    char **texts = realloc(division->texts, (division->num_texts + 1) * sizeof(*texts));
    if (!texts)
        return NULL;
    division->texts = texts;
    texts[division->num_texts] = strdup(text);
    return texts[division->num_texts] ? texts[division->num_texts++] : NULL;
}

static void divide_lane(struct divider *divider, uint32_t lane)
{
    struct braid_schedule *schedule = divider->schedule;
    uint32_t first = schedule->lane_first[lane];
    struct stretch stretch = { .first = first, .end = first };
    for (uint32_t i = first; i < schedule->lane_first[lane + 1]; i++) {
        uint32_t node = schedule->lane_nodes[i];
        const char *reason = why_not(divider, node);
        if (reason || divider->is_cut[node] || !has_room(&stretch, &divider->fits[node]))
            end_stretch(divider, &stretch);
        if (reason) {
            const char *kept = braid_plan_keep_text(&schedule->division, reason);
            schedule->division.why_outside[node] = kept;
            divider->failed |= !kept;
            stretch.first = stretch.end = i + 1;
        } else {
            extend(&stretch, &divider->fits[node]);
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
    free(since);
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
    free(divider.is_cut);
    if (!status)
        status = braid_plan_divide_loops(schedule, model, fits, always);
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
    free(fits);
    return status;
}

static const struct plan_islands islands = { .inside_ns = braid_plan_inside_ns,
                                             .divide = divide_alone };
const struct plan_islands *const braid_plan_islands = &islands;
