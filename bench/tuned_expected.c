// SPDX-License-Identifier: Apache-2.0
// What the planner expects of a measured graph beside what is measured: as it comes, and on one
// lane. With several frames in flight, of a further frame.
#include <stdio.h>
#include <stdlib.h>

#include "replay.h"
#include "tuned.h"

enum { KEPT = 9, TURNS = 31, FRAMES_A_TURN = 3, FRAMES_IN_FLIGHT = 30 };
enum { AS_IT_COMES, ONE_LANE, NUM_WAYS };

struct way {
    braid_exec *exec;
    braid_stream *stream; // frames on the default stream do not overlap
    double times[TURNS];  // microseconds a frame
};

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return first < second ? -1 : first > second;
}

// The first frame finds nothing in the caches.
static bool measure_plan(const struct tuned_graph *made, const braid_exec_options *options)
{
    braid_exec *exec;
    braid_status status = braid_exec_create(made->memory.device, made->graph, options, &exec);
    if (status == BRAID_UNSUPPORTED)
        return false;
    tuned_check(status);
    tuned_check(braid_exec_measure(exec, made->graph, 1));
    tuned_check(braid_exec_measure(exec, made->graph, KEPT));
    braid_exec_destroy(exec);
    return true;
}

// First what nodes take alone. False if the device takes no times of this graph.
static bool measure_costs(const struct tuned_graph *made)
{
    return measure_plan(made, &(braid_exec_options){ .frames_kept = KEPT,
                                                     .islands = BRAID_ISLANDS_NEVER,
                                                     .max_lanes = 1,
                                                     .fixed_lanes = true }) &&
           measure_plan(made, &(braid_exec_options){ .frames_kept = KEPT });
}

static void make_way(const struct tuned_graph *made, bool one_lane, struct way *way)
{
    braid_exec_options options = { .frames_in_flight = made->frames,
                                   .when_full = BRAID_FULL_QUEUES };
    if (one_lane) {
        options.max_lanes = 1;
        options.fixed_lanes = true;
    }
    tuned_check(braid_exec_create(made->memory.device, made->graph, &options, &way->exec));
    if (made->frames > 1)
        tuned_check(braid_stream_create(made->memory.device, NULL, &way->stream));
}

static double run_turn(const struct tuned_graph *made, const struct way *way)
{
    const int num = made->frames > 1 ? FRAMES_IN_FLIGHT : FRAMES_A_TURN;
    uint64_t start_ns = replay_now_ns();
    for (int i = 0; i < num; i++)
        tuned_check(braid_exec_launch(way->exec, way->stream));
    tuned_check(braid_exec_wait(way->exec));
    return (double)(replay_now_ns() - start_ns) / 1e3 / num;
}

static void print_way(const struct tuned_graph *made, const char *name, struct way *way)
{
    braid_schedule_info plan;
    braid_exec_info info;
    braid_schedule_get_info(braid_exec_get_schedule(way->exec), &plan);
    braid_exec_get_info(way->exec, &info);
    qsort(way->times, TURNS, sizeof(way->times[0]), compare);
    double measured_us = way->times[TURNS / 2];
    double expected_us = (double)(made->frames > 1 ? info.frame_period_ns : plan.expected_ns) / 1e3;
    printf("| %s | %s | %u | %.1f | %.1f | %.3f |\n", made->name, name, plan.num_lanes, expected_us,
           measured_us, expected_us / measured_us);
    fflush(stdout);
}

void tuned_print_expected(const struct tuned_graph *made)
{
    static const char *const names[NUM_WAYS] = { "as it comes", "one lane" };
    struct way ways[NUM_WAYS] = { 0 };
    if (!measure_costs(made)) {
        printf("| %s | not measured: %s | | | | |\n", made->name, braid_error_get_message());
        return;
    }
    for (int i = 0; i < NUM_WAYS; i++)
        make_way(made, i == ONE_LANE, &ways[i]);
    for (int i = 0; i < NUM_WAYS; i++)
        run_turn(made, &ways[i]);
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < NUM_WAYS; i++)
            ways[i].times[turn] = run_turn(made, &ways[i]);
    for (int i = 0; i < NUM_WAYS; i++) {
        print_way(made, names[i], &ways[i]);
        braid_exec_destroy(ways[i].exec);
        braid_stream_destroy(ways[i].stream);
    }
}
