// SPDX-License-Identifier: Apache-2.0
// Tuning: measures, tries ways to play a graph in turns, and takes the fastest.
#include <braid/tune.h>

#include "base/clock.h"
#include "base/error.h"
#include "exec/exec.h"
#include "graph/graph.h"
#include "tune/tune_choose.h"
#include "tune/tune_costs.h"
#include "tune/tune_trials.h"

enum {
    FRAMES_A_TURN = 3, // one behind the other, as a program queues them, where there is time
    DROPS = 2,         // the slower half goes so often, after each half of the budget that is left
};

#define DEFAULT_BUDGET_NS UINT64_C(2000000000)

static uint64_t find_budget_ns(const braid_tune_options *options)
{
    return options->budget_ns ? options->budget_ns : DEFAULT_BUDGET_NS;
}

// Some frames one behind the other, and the waiting for the last.
static braid_status run_turn(struct tune_trial *trial, braid_stream *stream, uint32_t num_frames)
{
    uint64_t *time = braid_array_append(&trial->times, 1, sizeof(*time));
    if (!time)
        return braid_error_no_memory("the times of a trial");
    uint64_t start_ns = clock_now_ns();
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num_frames && !status; i++)
        status = braid_exec_launch(trial->exec, stream);
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
            status = run_turn(trial, trials->stream, trials->frames_a_turn);
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
    if (options->progress)
        options->progress(options->user, used_ns < trials->total_ns ? used_ns : trials->total_ns,
                          trials->total_ns);
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
    braid_status status = braid_stream_synchronize(trials->device, NULL);
    return status ? status : braid_stream_create(trials->device, NULL, &trials->stream);
}

static void report(const struct tune_trials *trials, size_t best, const braid_tune_options *options)
{
    for (size_t i = 0; i < trials->trials.num && options->report; i++) {
        const struct tune_trial *trial = tune_trial_at(trials, i);
        const braid_tune_trial told = {
            .name = trial->name,
            .way = &trial->way,
            .num_lanes = trial->num_lanes,
            .num_frames = (uint32_t)trial->times.num * trials->frames_a_turn,
            .planned_ns = trial->planned_ns,
            .frame = trial->frame,
            .was_dropped = trial->was_dropped,
            .is_best = i == best,
        };
        options->report(options->user, &told);
    }
}

braid_status braid_exec_tune(braid_device *device, braid_graph *graph,
                             const braid_tune_options *options, braid_exec_options *out_way)
{
    static const braid_tune_options defaults;
    options = options ? options : &defaults;
    if (!device || !graph || !out_way)
        return braid_error_null("braid_exec_tune", !device  ? "device"
                                                   : !graph ? "graph"
                                                            : "out_way");
    braid_status status = braid_device_check("braid_exec_tune", device);
    if (status)
        return status;
    if (graph->ranks)
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_exec_tune: each rank would try for itself, and all must launch "
                           "as often: graphs with communicators are not tuned");
    struct tune_trials trials = { .device = device,
                                  .graph = graph,
                                  .max_lanes = options->max_lanes,
                                  .max_frames = options->max_frames };
    if (!options->keep_costs)
        status = braid_tune_measure(device, graph, find_budget_ns(options), &trials.frame_ns);
    if (!status && options->max_frames > 1)
        status = open_stream(&trials);
    if (!status)
        status = braid_tune_trials_find(&trials);
    if (!status)
        status = time_trials(&trials, options);
    if (!status) {
        size_t best = braid_tune_choose(&trials);
        *out_way = tune_trial_at(&trials, best)->way;
        report(&trials, best, options);
    }
    braid_tune_trials_finish(&trials);
    return status;
}
