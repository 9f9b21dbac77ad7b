// SPDX-License-Identifier: Apache-2.0
// What the planner expects of a graph beside what is measured: each way to play it on several
// numbers of lanes, and where the time between nodes goes.
#include <stdio.h>
#include <stdlib.h>

#include "replay.h"
#include "tuned.h"

enum { KEPT = 9, TURNS = 15, FRAMES_A_TURN = 3, MOST_TRIED = 16, END = UINT16_MAX };

struct way {
    const char *name;
    braid_exec_options options;
    uint32_t lanes[MOST_TRIED]; // 0: the planner's choice; up to END
};

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return first < second ? -1 : first > second;
}

static double frame_us(braid_exec *exec)
{
    double times[TURNS];
    for (int turn = -3; turn < TURNS; turn++) {
        uint64_t start_ns = replay_now_ns();
        for (int i = 0; i < FRAMES_A_TURN; i++)
            tuned_check(braid_exec_launch(exec, NULL));
        tuned_check(braid_exec_wait(exec));
        if (turn >= 0)
            times[turn] = (double)(replay_now_ns() - start_ns) / 1e3 / FRAMES_A_TURN;
    }
    qsort(times, TURNS, sizeof(times[0]), compare);
    return times[TURNS / 2];
}

// From the end of what a node was held up by to its begin: by its lane, by its lane where it also
// waits, by what it waits for.
enum { BY_LANE, BY_LANE_WITH_WAITS, BY_WAIT, NUM_HELD };

struct gaps {
    double sum_us[NUM_HELD];
    uint64_t num[NUM_HELD];
};

struct lane {
    uint32_t last;
    uint64_t waited_ns;
    bool begun, waits;
};

static void add_gap(struct gaps *gaps, const struct lane *lane, const braid_interval *at,
                    uint32_t node)
{
    uint64_t before_ns = lane->begun ? at[lane->last].end_ns : 0;
    bool by_wait = lane->waits && lane->waited_ns > before_ns;
    uint64_t held_ns = by_wait ? lane->waited_ns : before_ns;
    if (!held_ns || at[node].end_ns == at[node].start_ns)
        return;
    int held = by_wait ? BY_WAIT : lane->waits ? BY_LANE_WITH_WAITS : BY_LANE;
    gaps->sum_us[held] += ((double)at[node].start_ns - (double)held_ns) / 1e3;
    gaps->num[held]++;
}

static void add_gaps(struct gaps *gaps, const braid_schedule *schedule, const braid_interval *at)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    const braid_step *steps = info.steps;
    struct lane *lanes = calloc(info.num_lanes + 1, sizeof(*lanes));
    for (size_t i = 0; lanes && i < info.num_steps; i++) {
        struct lane *lane = &lanes[steps[i].lane];
        uint32_t node = steps[i].node;
        if (steps[i].kind == BRAID_STEP_WAIT) {
            lane->waits = true;
            lane->waited_ns = at[node].end_ns > lane->waited_ns ? at[node].end_ns : lane->waited_ns;
        } else if (steps[i].kind == BRAID_STEP_RUN) {
            add_gap(gaps, lane, at, node);
            *lane = (struct lane){ .last = node, .begun = true };
        }
    }
    free(lanes);
}

// All nodes' medians, and those of the planned critical path.
static void sum_nodes(const braid_exec *exec, const braid_timings *timings, double *all_us,
                      double *path_us)
{
    braid_schedule_info info;
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    for (uint32_t i = 0; i < timings->num_nodes; i++)
        *all_us += (double)timings->nodes[i].time.median_ns / 1e3;
    for (uint32_t i = 0; i < info.num_critical; i++)
        *path_us += (double)timings->nodes[info.critical_path[i]].time.median_ns / 1e3;
}

static void print_times(braid_exec *exec)
{
    struct gaps gaps = { 0 };
    braid_timings timings;
    double all_us = 0, path_us = 0;
    for (int i = 0; i < KEPT; i++) {
        tuned_check(braid_exec_launch(exec, NULL));
        tuned_check(braid_exec_wait(exec));
    }
    tuned_check(braid_exec_get_timings(exec, &timings));
    sum_nodes(exec, &timings, &all_us, &path_us);
    size_t num = timings.frames_kept;
    for (size_t i = 0; i < num; i++)
        add_gaps(&gaps, braid_exec_get_schedule(exec), timings.intervals + i * timings.num_nodes);
    printf(" %.1f | %.1f | %.1f |", (double)timings.frame.median_ns / 1e3, all_us, path_us);
    for (int held = 0; held < NUM_HELD; held++)
        printf(" %.2f (%.0f) |", gaps.sum_us[held] / (double)(gaps.num[held] + !gaps.num[held]),
               (double)gaps.num[held] / (double)(num + !num));
}

static void print_way(const struct tuned_graph *made, const struct way *way, uint32_t lanes)
{
    braid_exec_options options = way->options;
    braid_exec *exec;
    braid_schedule_info info;
    options.max_lanes = lanes;
    options.fixed_lanes = lanes != 0;
    if (braid_exec_create(made->memory.device, made->graph, &options, &exec)) {
        fprintf(stderr, "%s, %s: %s\n", made->name, way->name, braid_error_get_message());
        return;
    }
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    double us = frame_us(exec);
    bool is_right = !made->is_right || made->is_right(made);
    double planned_us = (double)info.expected_ns / 1e3;
    printf("| %s | %s%s%s | %u | %llu | %u | %.1f | %.1f | %.3f |", made->name, way->name,
           lanes ? "" : " *", is_right ? "" : " WRONG", info.num_lanes,
           (unsigned long long)info.num_waits, info.num_island_nodes, planned_us, us,
           us / planned_us);
    braid_exec_destroy(exec);
    options.frames_kept = KEPT;
    if (braid_exec_create(made->memory.device, made->graph, &options, &exec) == BRAID_OK) {
        print_times(exec);
        braid_exec_destroy(exec);
    }
    printf("\n");
    fflush(stdout);
}

// As tuning does.
static void measure_costs(const struct tuned_graph *made)
{
    braid_exec_options way;
    tuned_check(braid_graph_tune(made->graph, made->memory.device,
                                 &(braid_tune_options){ .budget_ns = 1 }, &way));
}

void tuned_print_model(const struct tuned_graph *made)
{
    static const struct way ways[] = {
        { "as it comes", { 0 }, { 0, END } },
        { "none",
          { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_NEVER },
          { 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 64, END } },
        { "none, a lane for all at once",
          { .mode = BRAID_MODE_GRAPH,
            .islands = BRAID_ISLANDS_NEVER,
            .max_lanes = BRAID_ALL_LANES,
            .fixed_lanes = true },
          { 0, END } },
        { "none, costs ignored",
          { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_NEVER, .ignore_costs = true },
          { 0, END } },
        { "none, nothing early",
          { .mode = BRAID_MODE_GRAPH, .no_rewriting = true },
          { 0, 6, 16, 40, END } },
        { "stretches",
          { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_ALWAYS },
          { 0, 6, END } },
        { "one island",
          { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_WHOLE },
          { 0, 1, 4, 6, 8, 16, 24, 40, END } },
    };
    measure_costs(made);
    printf(
        "| graph | way | lanes | waits | inside | expected, us | frame, us | of expected | frame "
        "with times | all nodes | critical nodes | gap behind its lane (of a frame) | behind its "
        "lane, with waits | behind a wait |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
        "---|\n");
    for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++)
        for (int i = 0; ways[way].lanes[i] != END; i++)
            print_way(made, &ways[way], ways[way].lanes[i]);
}
