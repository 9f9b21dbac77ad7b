// SPDX-License-Identifier: Apache-2.0
// Which ways to play a graph are worth trying.
#include "tune/tune_trials.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "exec/exec.h"

enum {
    MOST_OF_A_MODE = 6, // plans that are timed, besides what is tried on the best of them
    MOST_LANES = 32,    // where the program sets no limit
    WIDEST = 128,       // a plan on so many lanes never takes too much memory
    MOST_NODES = 10000, // nor does one with a lane for each of so many nodes
    MOST_FRAMES = 3,    // in flight: no more run one behind the other when they are timed
};

// A plan that is this much longer than the best of its mode is not timed: measured costs are not
// that wrong in another plan.
#define WORTH_TIMING 1.5

static void name_trial(struct tune_trial *trial)
{
    const braid_exec_options *way = &trial->way;
    char frames[32] = "";
    if (trial->way.frames > 1)
        snprintf(frames, sizeof(frames), ", %u frames in flight", trial->way.frames);
    snprintf(trial->name, sizeof(trial->name), "%s, %u lane%s%s%s%s%s%s",
             way->mode == BRAID_MODE_GRAPH ? "graph" : "streams", trial->num_lanes,
             trial->num_lanes == 1 ? "" : "s",
             way->plan.max_lanes == BRAID_ALL_LANES && way->plan.fixed_lanes
                 ? ", one for all at once"
                 : "",
             way->plan.ignore_costs ? ", costs ignored" : "",
             way->no_early_start ? ", no early starts" : "",
             way->islands == BRAID_ISLANDS_WHOLE   ? ", one island"
             : way->islands == BRAID_ISLANDS_NEVER ? ", no islands"
                                                   : "",
             frames);
}

// An exec for a way. If the device or mode does not allow it, *out_made is false, without error.
static braid_status add_trial(struct tune_trials *trials, const braid_exec_options *way,
                              bool *out_made)
{
    struct tune_trial trial = { .way = *way };
    struct error_attempt attempt;
    *out_made = false;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_exec_create(trials->device, trials->graph, way, &trial.exec);
    braid_error_end_attempt(&attempt, status == BRAID_UNSUPPORTED ? BRAID_OK : status);
    if (status)
        return status == BRAID_UNSUPPORTED ? BRAID_OK : status;
    braid_schedule_info info;
    braid_schedule_get_info(braid_exec_schedule(trial.exec), &info);
    trial.num_lanes = info.num_lanes;
    trial.planned_ns = info.makespan_ns;
    name_trial(&trial);
    struct tune_trial *slot = braid_array_append(&trials->trials, 1, sizeof(trial));
    if (!slot) {
        braid_exec_destroy(trial.exec);
        return braid_error_no_memory("the trials of a graph");
    }
    *slot = trial;
    *out_made = true;
    return BRAID_OK;
}

static void remove_trial(struct tune_trials *trials, size_t index)
{
    struct tune_trial *trial = tune_trial_at(trials, index);
    braid_exec_destroy(trial->exec);
    braid_array_finish(&trial->times);
    memmove(trial, trial + 1, (--trials->trials.num - index) * sizeof(*trial));
}

// Whether another trial from `first` on has the same plan, as far as lanes and length tell.
static bool is_twin(const struct tune_trials *trials, size_t first, size_t index)
{
    const struct tune_trial *trial = tune_trial_at(trials, index);
    for (size_t i = first; i < index; i++)
        if (tune_trial_at(trials, i)->num_lanes == trial->num_lanes &&
            tune_trial_at(trials, i)->planned_ns == trial->planned_ns)
            return true;
    return false;
}

// Removes the longest plans of a mode, except one lane and the planner's own choice.
static void keep_promising(struct tune_trials *trials, size_t first)
{
    uint64_t best = UINT64_MAX;
    for (size_t i = first; i < trials->trials.num; i++)
        if (tune_trial_at(trials, i)->planned_ns < best)
            best = tune_trial_at(trials, i)->planned_ns;
    for (size_t i = trials->trials.num; i-- > first + 2;)
        if ((double)tune_trial_at(trials, i)->planned_ns > (double)best * WORTH_TIMING)
            remove_trial(trials, i);
    while (trials->trials.num > first + MOST_OF_A_MODE) {
        size_t worst = first + 2;
        for (size_t i = first + 3; i < trials->trials.num; i++)
            if (tune_trial_at(trials, i)->planned_ns > tune_trial_at(trials, worst)->planned_ns)
                worst = i;
        remove_trial(trials, worst);
    }
}

// 2, 3, 4, 6, 8, 12, ...
static uint64_t next_lanes(uint64_t lanes)
{
    return lanes < 3 ? lanes + 1 : (lanes & (lanes - 1)) ? lanes / 3 * 4 : lanes / 2 * 3;
}

// A lane for everything that may run at once. No plan shows its gain if times of nodes vary from
// frame to frame, or if lanes have delays that the costs leave out.
static braid_status add_most(struct tune_trials *trials, braid_exec_mode mode, size_t first)
{
    bool made;
    const braid_exec_options way = {
        .mode = mode, .plan = { .max_lanes = BRAID_ALL_LANES, .fixed_lanes = true }
    };
    const uint32_t num = graph_num_nodes(trials->graph);
    if (num > MOST_NODES || (trials->max_lanes && trials->max_lanes < num))
        return BRAID_OK;
    braid_status status = add_trial(trials, &way, &made);
    if (!status && made && is_twin(trials, first, trials->trials.num - 1))
        remove_trial(trials, trials->trials.num - 1);
    return status;
}

// The plan of somebody who has no costs, which is one for concurrency. How long it is by itself is
// no promise, so it comes behind all that is chosen by that.
static braid_status add_blind(struct tune_trials *trials, braid_exec_mode mode, size_t first)
{
    bool made;
    const braid_exec_options way = {
        .mode = mode, .plan = { .ignore_costs = true, .max_lanes = trials->max_lanes }
    };
    braid_status status = add_trial(trials, &way, &made);
    size_t last = trials->trials.num - 1;
    if (!status && made && is_twin(trials, first, last))
        remove_trial(trials, last);
    return status;
}

// The planner's choice, one lane, and more of them. False in *out_made: the mode is not there.
static braid_status add_lanes(struct tune_trials *trials, braid_exec_mode mode, bool *out_made)
{
    size_t first = trials->trials.num;
    braid_exec_options way = { .mode = mode };
    braid_status status = add_trial(trials, &way, out_made);
    if (status || !*out_made)
        return status;
    uint32_t most = trials->max_lanes ? trials->max_lanes : MOST_LANES;
    most = trials->width < most ? trials->width : most;
    way.plan.fixed_lanes = true;
    for (uint64_t lanes = 1; lanes <= most && !status; lanes = next_lanes(lanes)) {
        bool made;
        way.plan.max_lanes = (uint32_t)lanes;
        status = add_trial(trials, &way, &made);
        if (!status && made && is_twin(trials, first, trials->trials.num - 1))
            remove_trial(trials, trials->trials.num - 1);
    }
    if (status)
        return status;
    keep_promising(trials, first);
    return add_most(trials, mode, first);
}

static size_t find_best(const struct tune_trials *trials, size_t first)
{
    size_t best = first;
    for (size_t i = first; i < trials->trials.num; i++)
        if (tune_trial_at(trials, i)->planned_ns < tune_trial_at(trials, best)->planned_ns)
            best = i;
    return best;
}

// Frames that cannot overlap gain nothing over one frame in flight.
static braid_status add_depths(struct tune_trials *trials, const braid_exec_options *way)
{
    braid_exec_options deep = *way;
    braid_status status = BRAID_OK;
    for (deep.frames = 2;
         deep.frames <= trials->max_frames && deep.frames <= MOST_FRAMES && !status;
         deep.frames++) {
        bool made = false;
        braid_exec_info info;
        status = add_trial(trials, &deep, &made);
        if (status || !made)
            break;
        braid_exec_get_info(tune_trial_at(trials, trials->trials.num - 1)->exec, &info);
        if (info.whole_frames)
            remove_trial(trials, trials->trials.num - 1);
    }
    return status;
}

// Adds variants of the plan that promises most: with more frames in flight, without early starts,
// and without islands.
static braid_status add_variants(struct tune_trials *trials, size_t first)
{
    size_t best = find_best(trials, first);
    const struct tune_trial *trial = tune_trial_at(trials, best);
    braid_exec_info info;
    braid_exec_get_info(trial->exec, &info);
    braid_exec_options way = trial->way;
    bool made = false;
    braid_status status = BRAID_OK;
    status = add_depths(trials, &way);
    if (!status && info.num_early_starts) {
        way.no_early_start = true;
        status = add_trial(trials, &way, &made);
        way.no_early_start = false;
    }
    if (!status && info.num_island_nodes) {
        way.islands = BRAID_ISLANDS_NEVER;
        status = add_trial(trials, &way, &made);
        way.islands = BRAID_ISLANDS_AUTO;
    }
    return status;
}

// The lanes that a plan has a use for.
static braid_status find_width(struct tune_trials *trials)
{
    uint32_t most = trials->max_lanes;
    most = most && most < WIDEST ? most : WIDEST;
    const braid_schedule_options options = { .max_lanes = most, .fixed_lanes = true };
    braid_schedule *schedule;
    braid_status status = braid_schedule_create(trials->graph, &options, &schedule);
    if (status)
        return status;
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    trials->width = info.num_lanes;
    braid_schedule_destroy(schedule);
    return BRAID_OK;
}

braid_status braid_tune_trials_find(struct tune_trials *trials)
{
    static const braid_exec_mode modes[] = { BRAID_MODE_GRAPH, BRAID_MODE_STREAMS };
    braid_status status = find_width(trials);
    bool made = false;
    for (int i = 0; i < 2 && !status; i++) {
        size_t first = trials->trials.num;
        status = add_lanes(trials, modes[i], &made);
        if (!status && made)
            status = add_variants(trials, first);
        if (!status && made)
            status = add_blind(trials, modes[i], first);
    }
    const braid_exec_options island = { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_WHOLE };
    if (!status)
        status = add_trial(trials, &island, &made);
    if (!status && !trials->trials.num)
        return braid_error(BRAID_UNSUPPORTED, "braid_exec_tune: %s allows no mode for the graph",
                           trials->device->label);
    return status;
}

void braid_tune_trials_finish(struct tune_trials *trials)
{
    while (trials->trials.num)
        remove_trial(trials, trials->trials.num - 1);
    braid_array_finish(&trials->trials);
    braid_stream_destroy(trials->stream);
}
