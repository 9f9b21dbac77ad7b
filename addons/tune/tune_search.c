// SPDX-License-Identifier: Apache-2.0
// Tuning: measures, tries ways to play a graph in turns, and takes the fastest.
#include "tune/tune_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/spread.h"
#include "exec/exec.h"
#include "graph/graph.h"

static inline struct tune_trial *tune_trial_at(const struct tune_trials *trials, size_t index)
{
    return &((struct tune_trial *)trials->trials.items)[index];
}

#define DEFAULT_BUDGET_NS UINT64_C(2000000000)

static uint64_t find_budget_ns(const braid_tune_options *options)
{
    return options->budget_ns ? options->budget_ns : DEFAULT_BUDGET_NS;
}

// ---- before a frame ----

// Its work ends before the frame is timed.
static braid_status reset_state(braid_device *device, braid_stream *stream,
                                const braid_tune_options *options)
{
    PLAIN_MEMORY;
    if (!options->reset)
        return BRAID_OK;
    stream = stream ? stream : braid_device_get_default_stream(device);
    braid_status status = options->reset(device, stream, options->reset_user);
    return status ? braid_error(status, "braid_graph_tune: its reset returned %s",
                                braid_status_get_name(status))
                  : braid_stream_wait(stream);
}

// ---- frames that measure costs: of a plan, of one lane, and inside of an island ----

enum {
    MEASURED_FRAMES = 9,       // behind the first
    LEAST_MEASURED_FRAMES = 2, // where these take longer than the budget
};

struct measuring {
    braid_device *device;
    braid_graph *graph;
    const braid_tune_options *options;
    uint64_t budget_ns;
    uint64_t frame_ns; // the last exec's
    bool has_others;   // its nodes have others beside them, or are inside an island
    bool has_time;     // for all frames
};

// As braid_exec_measure, with the state of each frame.
static braid_status measure_frames(const struct measuring *measuring, braid_exec *exec,
                                   uint32_t num)
{
    braid_status status = BRAID_OK;
    if (!measuring->options->reset)
        return braid_exec_measure(exec, measuring->graph, num);
    for (uint32_t i = 0; i < num && !status; i++) {
        status = reset_state(measuring->device, NULL, measuring->options);
        if (!status)
            status = braid_exec_launch(exec, NULL);
        if (!status)
            status = braid_exec_wait(exec);
    }
    return status ? status : braid_exec_measure(exec, measuring->graph, BRAID_KEPT_FRAMES);
}

// The costs, and how long a frame takes. The first frame tells for how many more there is time.
static braid_status run_measured(struct measuring *measuring, braid_exec *exec)
{
    const uint64_t begin_ns = clock_now_ns();
    braid_status status = measure_frames(measuring, exec, 1);
    const uint64_t first_ns = clock_now_ns();
    const uint64_t room = measuring->budget_ns / (first_ns - begin_ns + 1);
    const uint32_t num = room > MEASURED_FRAMES         ? MEASURED_FRAMES
                         : room < LEAST_MEASURED_FRAMES ? LEAST_MEASURED_FRAMES
                                                        : (uint32_t)room;
    if (!status)
        status = measure_frames(measuring, exec, num);
    measuring->frame_ns = (clock_now_ns() - first_ns) / num;
    measuring->has_others = exec->program.num_lanes > 1 || exec->shape;
    measuring->has_time = num == MEASURED_FRAMES;
    return status;
}

static braid_status measure_exec(struct measuring *measuring, const braid_exec_options *options)
{
    braid_exec *exec = NULL;
    braid_status status = braid_exec_create(measuring->device, measuring->graph, options, &exec);
    if (!status)
        status = run_measured(measuring, exec);
    braid_exec_destroy(exec);
    return status;
}

// Costs inside of an island that is all of the graph. It may take so much longer than other ways
// that nobody would choose it. Then it does not run.
static braid_status measure_inside(struct measuring *measuring)
{
    const braid_exec_options island = { .mode = BRAID_MODE_GRAPH,
                                        .islands = BRAID_ISLANDS_WHOLE,
                                        .frames_kept = MEASURED_FRAMES };
    braid_exec *exec = NULL;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_exec_create(measuring->device, measuring->graph, &island, &exec);
    braid_error_end_attempt(&attempt, status == BRAID_UNSUPPORTED ? BRAID_OK : status);
    if (status)
        return status == BRAID_UNSUPPORTED ? BRAID_OK : status;
    if (exec->schedule->info.expected_ns / 2 < measuring->frame_ns)
        status = run_measured(measuring, exec);
    braid_exec_destroy(exec);
    return status;
}

braid_status braid_tune_measure(braid_device *device, braid_graph *graph,
                                const braid_tune_options *options, uint64_t *out_frame_ns)
{
    struct measuring measuring = { device, graph, options, .budget_ns = find_budget_ns(options) };
    const braid_exec_options several = { .frames_kept = MEASURED_FRAMES };
    const braid_exec_options alone = { .frames_kept = MEASURED_FRAMES,
                                       .islands = BRAID_ISLANDS_NEVER,
                                       .max_lanes = 1,
                                       .fixed_lanes = true };
    braid_status status = measure_exec(&measuring, &several);
    if (!status && measuring.has_time && measuring.has_others) {
        status = measure_exec(&measuring, &alone);
        if (!status)
            status = measure_exec(&measuring, &several);
    }
    *out_frame_ns = measuring.frame_ns;
    if (!status && measuring.has_time)
        status = measure_inside(&measuring);
    return status;
}

// ---- ways to try ----

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
    if (trial->way.frames_in_flight > 1)
        snprintf(frames, sizeof(frames), ", %u frames in flight", trial->way.frames_in_flight);
    snprintf(trial->name, sizeof(trial->name), "%s, %u lane%s%s%s%s%s%s",
             way->mode == BRAID_MODE_GRAPH ? "graph" : "streams", trial->num_lanes,
             trial->num_lanes == 1 ? "" : "s",
             way->max_lanes == BRAID_ALL_LANES && way->fixed_lanes ? ", one for all at once" : "",
             way->ignore_costs ? ", costs ignored" : "",
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
    braid_schedule_get_info(braid_exec_get_schedule(trial.exec), &info);
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
    const braid_exec_options way = { .mode = mode,
                                     .max_lanes = BRAID_ALL_LANES,
                                     .fixed_lanes = true };
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
    const braid_exec_options way = { .mode = mode,
                                     .ignore_costs = true,
                                     .max_lanes = trials->max_lanes };
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
    way.fixed_lanes = true;
    for (uint64_t lanes = 1; lanes <= most && !status; lanes = next_lanes(lanes)) {
        bool made;
        way.max_lanes = (uint32_t)lanes;
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
    for (deep.frames_in_flight = 2; deep.frames_in_flight <= trials->max_frames &&
                                    deep.frames_in_flight <= MOST_FRAMES && !status;
         deep.frames_in_flight++) {
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
    const struct plan_options options = { .max_lanes = most, .fixed_lanes = true };
    braid_schedule *schedule;
    braid_status status = braid_schedule_plan(trials->graph, &options, &schedule);
    if (status)
        return status;
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    trials->width = info.num_lanes;
    braid_schedule_destroy(schedule);
    return BRAID_OK;
}

// Adds the ways of every mode that the device and graph allow, those that promise most by their
// plans. Errors: those of braid_exec_create; BRAID_UNSUPPORTED only where no mode is allowed.
static braid_status tune_trials_find(struct tune_trials *trials)
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
        return braid_error(BRAID_UNSUPPORTED, "braid_graph_tune: %s allows no mode for the graph",
                           trials->device->label);
    return status;
}

static void tune_trials_finish(struct tune_trials *trials)
{
    while (trials->trials.num)
        remove_trial(trials, trials->trials.num - 1);
    braid_array_finish(&trials->trials);
    braid_stream_destroy(trials->stream);
}

// ---- the choice ----

#define ALIKE 1.01 // a median further above the fastest is slower, however few times there are

static size_t square_root(size_t number)
{
    size_t root = 0;
    while ((root + 1) * (root + 1) <= number)
        root++;
    return root;
}

// The median of `num` independent times lies with 95 % between two of them, for any distribution.
// Their places differ from the middle by 0.98 times the root of `num`. (Conover, Practical
// Nonparametric Statistics, confidence intervals for quantiles.)
static void judge_times(struct tune_trial *trial)
{
    uint64_t *times = trial->times.items;
    size_t num = trial->times.num;
    if (!num)
        return;
    size_t apart = square_root(num) + 1, middle = num / 2;
    trial->frame = find_spread(times, num);
    trial->low_ns = times[apart < middle ? middle - apart : 0];
    trial->high_ns = times[apart < num - middle ? middle + apart : num - 1];
}

static int compare_trials(const void *a, const void *b)
{
    const struct tune_trial *first = a, *second = b;
    if (first->was_dropped != second->was_dropped) // timed before the others were, so not with them
        return first->was_dropped ? 1 : -1;
    if (first->frame.median_ns != second->frame.median_ns)
        return first->frame.median_ns < second->frame.median_ns ? -1 : 1;
    if (first->num_lanes != second->num_lanes)
        return first->num_lanes < second->num_lanes ? -1 : 1;
    return first->way.frames_in_flight < second->way.frames_in_flight
               ? -1
               : first->way.frames_in_flight > second->way.frames_in_flight;
}

void braid_tune_sort(struct tune_trials *trials)
{
    for (size_t i = 0; i < trials->trials.num; i++)
        judge_times(tune_trial_at(trials, i));
    qsort(trials->trials.items, trials->trials.num, sizeof(struct tune_trial), compare_trials);
}

static bool may_be_as_fast(const struct tune_trial *trial, const struct tune_trial *fastest)
{
    return !trial->was_dropped && trial->low_ns <= fastest->high_ns &&
           (double)trial->frame.median_ns <= (double)fastest->frame.median_ns * ALIKE;
}

static bool takes_less(const struct tune_trial *trial, const struct tune_trial *other)
{
    return trial->num_lanes < other->num_lanes ||
           (trial->num_lanes == other->num_lanes &&
            trial->way.frames_in_flight < other->way.frames_in_flight);
}

size_t braid_tune_choose(const struct tune_trials *trials)
{
    const struct tune_trial *all = trials->trials.items;
    size_t best = 0;
    for (size_t i = 1; i < trials->trials.num; i++)
        if (may_be_as_fast(&all[i], &all[0]) && takes_less(&all[i], &all[best]))
            best = i;
    return best;
}

// ---- the search ----

enum {
    FRAMES_A_TURN = 3, // one behind the other, as a program queues them, where there is time
    DROPS = 2,         // the slower half goes so often, after each half of the budget that is left
};

// Some frames one behind the other, and the waiting for the last; with a reset, one frame.
static braid_status run_turn(const struct tune_trials *trials, struct tune_trial *trial)
{
    const uint32_t num_frames = trials->options->reset ? 1 : trials->frames_a_turn;
    uint64_t *time = braid_array_append(&trial->times, 1, sizeof(*time));
    if (!time)
        return braid_error_no_memory("the times of a trial");
    braid_status status = reset_state(trials->device, trials->stream, trials->options);
    uint64_t start_ns = clock_now_ns();
    for (uint32_t i = 0; i < num_frames && !status; i++)
        status = braid_exec_launch(trial->exec, trials->stream);
    if (!status)
        status = braid_exec_wait(trial->exec);
    *time = (clock_now_ns() - start_ns) / num_frames;
    return status;
}

// Each round begins with another trial, so that none is always behind the same one.
static braid_status run_round(struct tune_trials *trials, size_t round)
{
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < trials->trials.num && !status; i++) {
        struct tune_trial *trial = tune_trial_at(trials, (i + round) % trials->trials.num);
        if (!trial->was_dropped)
            status = run_turn(trials, trial);
    }
    return status;
}

// The faster half of so many ways stays, and three at least.
static size_t num_kept(size_t num)
{
    enum { LEAST_LEFT = 3 };
    const size_t half = (num + 1) / 2;
    return half > LEAST_LEFT ? half : num < LEAST_LEFT ? num : LEAST_LEFT;
}

static void drop_slower_half(struct tune_trials *trials)
{
    size_t num = 0;
    braid_tune_sort(trials);
    while (num < trials->trials.num && !tune_trial_at(trials, num)->was_dropped)
        num++;
    for (size_t i = num_kept(num); i < num; i++)
        tune_trial_at(trials, i)->was_dropped = true;
}

static void forget_times(struct tune_trials *trials)
{
    for (size_t i = 0; i < trials->trials.num; i++)
        tune_trial_at(trials, i)->times.num = 0;
}

// Whether there is time for whole turns, as a program queues frames. Some are of all ways, some of
// the half that is left, and some of the half of that. In a round of `round_ns` each way has run
// one frame.
static bool is_ample(uint64_t left_ns, uint64_t round_ns)
{
    enum { TURNS = 3, QUARTERS = 4 + 2 + 1 };
    return left_ns / (TURNS * FRAMES_A_TURN * QUARTERS) >= round_ns / 4;
}

// One frame does not show the gain of several in flight.
static uint32_t least_a_turn(const struct tune_trials *trials)
{
    return trials->max_frames > 1 ? FRAMES_A_TURN : 1;
}

// The first frame of each finds nothing in the caches and does not count. The second tells how
// many fit; where they are few, it counts, and a turn is one frame.
static braid_status begin_rounds(struct tune_trials *trials, uint64_t budget_ns, size_t *out_rounds)
{
    const uint64_t begin_ns = clock_now_ns();
    trials->frames_a_turn = least_a_turn(trials);
    braid_status status = run_round(trials, 0);
    forget_times(trials);
    uint64_t start_ns = clock_now_ns();
    if (!status)
        status = run_round(trials, 0);
    uint64_t now_ns = clock_now_ns();
    *out_rounds = 1;
    uint64_t used_ns = now_ns - begin_ns;
    if (used_ns < budget_ns && is_ample(budget_ns - used_ns, now_ns - start_ns)) {
        forget_times(trials);
        trials->frames_a_turn = FRAMES_A_TURN;
        *out_rounds = 0;
    }
    return status;
}

// The time of the frames that run even if the budget is short. Each way runs two frames. The ways
// that are kept run a third, and those that are kept of them run a fourth.
static uint64_t find_least_ns(const struct tune_trials *trials, uint64_t frame_ns)
{
    const size_t num = trials->trials.num;
    const size_t num_frames = 2 * num + num_kept(num) + num_kept(num_kept(num));
    return num_frames * least_a_turn(trials) * frame_ns;
}

static void tell_progress(const struct tune_trials *trials, const braid_tune_options *options,
                          uint64_t used_ns)
{
    PLAIN_MEMORY;
    if (options->progress)
        options->progress(used_ns < trials->total_ns ? used_ns : trials->total_ns, trials->total_ns,
                          options->user);
}

// However short the budget is, there is a round of those left before each drop, and one behind.
static braid_status time_trials(struct tune_trials *trials, const braid_tune_options *options)
{
    const uint64_t budget_ns = find_budget_ns(options);
    const uint64_t least_ns = find_least_ns(trials, trials->frame_ns);
    trials->total_ns = least_ns > budget_ns ? least_ns : budget_ns;
    tell_progress(trials, options, 0);
    uint64_t start_ns = clock_now_ns();
    uint64_t drop_ns = budget_ns / 2; // when the next half goes
    size_t drops = 0, round;
    braid_status status = begin_rounds(trials, budget_ns, &round);
    for (; !status; round++) {
        uint64_t used_ns = clock_now_ns() - start_ns;
        const bool is_over = round > DROPS && used_ns >= budget_ns;
        tell_progress(trials, options, is_over ? trials->total_ns : used_ns);
        if (is_over)
            break;
        if (drops < DROPS && round > drops && used_ns >= drop_ns) {
            drop_slower_half(trials);
            drop_ns += (budget_ns - drop_ns) / 2;
            drops++;
        }
        status = run_round(trials, round);
    }
    if (!status)
        braid_tune_sort(trials);
    return status;
}

// On the default stream frames do not overlap. Work that was queued there is before all frames.
static braid_status open_stream(struct tune_trials *trials)
{
    braid_status status = braid_stream_wait(braid_device_get_default_stream(trials->device));
    return status ? status : braid_stream_create(trials->device, NULL, &trials->stream);
}

static void report(const struct tune_trials *trials, size_t best, const braid_tune_options *options)
{
    for (size_t i = 0; i < trials->trials.num && options->report; i++) {
        const struct tune_trial *trial = tune_trial_at(trials, i);
        const SIZED_WITH_ROOM(braid_exec_options) way = { .given = trial->way };
        const braid_tune_trial told = {
            .name = trial->name,
            .way = &way.given,
            .num_lanes = trial->num_lanes,
            .frames_timed = (uint32_t)trial->times.num * trials->frames_a_turn,
            .planned_ns = trial->planned_ns,
            .frame = trial->frame,
            .was_dropped = trial->was_dropped,
            .is_best = i == best,
        };
        PLAIN_MEMORY;
        options->report(&told, options->user);
    }
}

static braid_status tune_graph(braid_graph *graph, braid_device *device,
                               const braid_tune_options *options, braid_exec_options *out_way)
{
    DEVICE_MEMORY(device);
    if (!device || !graph || !out_way)
        return braid_error_null("braid_graph_tune", !device  ? "device"
                                                    : !graph ? "graph"
                                                             : "out_way");
    braid_status status = braid_device_check("braid_graph_tune", device);
    if (status)
        return status;
    if (graph->ranks)
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_graph_tune: each rank would try for itself, and all must launch "
                           "as often: graphs with communicators are not tuned");
    if (options->reset && options->max_frames_in_flight > 1)
        return braid_error_invalid("braid_graph_tune: frames in flight have no reset in between");
    struct tune_trials trials = { .device = device,
                                  .graph = graph,
                                  .options = options,
                                  .max_lanes = options->max_lanes,
                                  .max_frames = options->max_frames_in_flight };
    if (!options->keep_costs)
        status = braid_tune_measure(device, graph, options, &trials.frame_ns);
    if (!status && options->max_frames_in_flight > 1)
        status = open_stream(&trials);
    if (!status)
        status = tune_trials_find(&trials);
    if (!status)
        status = time_trials(&trials, options);
    if (!status) {
        size_t best = braid_tune_choose(&trials);
        *out_way = tune_trial_at(&trials, best)->way;
        report(&trials, best, options);
    }
    tune_trials_finish(&trials);
    return status;
}

braid_status braid_graph_tune_sized(braid_graph *graph, braid_device *device,
                                    const braid_tune_options *options, braid_exec_options *out_way,
                                    size_t size, size_t way_size)
{
    braid_tune_options own;
    braid_exec_options way;
    braid_status status =
        braid_sized_take("braid_graph_tune: options", options, size, &own, sizeof(own));
    if (!status)
        status = tune_graph(graph, device, &own, out_way ? &way : NULL);
    if (!status)
        braid_sized_give(&way, sizeof(way), out_way, way_size);
    return status;
}
