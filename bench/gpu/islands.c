// SPDX-License-Identifier: Apache-2.0
// Whether the planner's choice of islands is a good one: the shapes of bench_gpu_launch with no
// islands, with every stretch that can be one, as one island, and as the planner has it, beside the
// driver graph made by hand; and what other benches say of islands, each in a process of its own.
//
// `alone WAY`: that way only ("by hand", "none", "chosen" ...), since ways that take turns push
// each other out of the processor's caches, which a launch of a large graph pays for.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/bench.h"

enum { FRAMES = 40, NUM_BODIES = 3 };

enum way { BY_HAND, NEVER, STRETCHES, WHOLE, CHOSEN, FIRST_FIXED, NUM_WAYS = FIRST_FIXED + 4 };

static const struct {
    const char *name;
    braid_islands islands;
    uint32_t num_lanes;
} ways[NUM_WAYS] = {
    [BY_HAND] = { "by hand", BRAID_ISLANDS_NEVER, 0 },
    [NEVER] = { "none", BRAID_ISLANDS_NEVER, 0 },
    [STRETCHES] = { "all stretches", BRAID_ISLANDS_ALWAYS, 0 },
    [WHOLE] = { "the whole", BRAID_ISLANDS_WHOLE, 0 },
    [CHOSEN] = { "chosen", BRAID_ISLANDS_AUTO, 0 },
    [FIRST_FIXED] = { "the whole, 1 lane", BRAID_ISLANDS_WHOLE, 1 },
    [FIRST_FIXED + 1] = { "the whole, 4 lanes", BRAID_ISLANDS_WHOLE, 4 },
    [FIRST_FIXED + 2] = { "the whole, 12 lanes", BRAID_ISLANDS_WHOLE, 12 },
    [FIRST_FIXED + 3] = { "the whole, 32 lanes", BRAID_ISLANDS_WHOLE, 32 },
};

struct totals {
    double log_ratio, host_us, worst;
    uint32_t num, num_within;
};

// One cell, all ways in turns. What cannot be made is left out.
struct cell {
    struct system systems[NUM_WAYS];
    struct with_braid *runs[NUM_WAYS];
    enum way way_of[NUM_WAYS];
    uint32_t num;
};

static void add_ways(struct cell *cell, braid_device *device, const struct shape *shape,
                     const struct body *body, enum way alone)
{
    for (enum way way = NEVER; way < NUM_WAYS; way++) {
        if (alone < NUM_WAYS && way != alone)
            continue;
        const braid_exec_options options = {
            .mode = BRAID_MODE_GRAPH,
            .islands = ways[way].islands,
            .max_lanes = ways[way].num_lanes,
            .fixed_lanes = ways[way].num_lanes != 0,
        };
        cell->runs[cell->num] =
            braid_run_shape_as(device, shape, body, &options, &cell->systems[cell->num]);
        if (!cell->runs[cell->num])
            continue;
        cell->way_of[cell->num++] = way;
    }
}

static void print_way(const struct cell *cell, uint32_t i, const struct shape *shape,
                      const struct body *body, const struct timing *timings)
{
    braid_exec_info info = { 0 };
    if (cell->runs[i])
        braid_exec_get_info(braid_shape_exec(cell->runs[i]), &info);
    printf("%s,%s,%s,%u,%llu,%u,%.1f,%.1f,%.1f,%.1f,%.3f\n", body->name, shape->name,
           ways[cell->way_of[i]].name, cell->systems[i].num_lanes,
           (unsigned long long)cell->systems[i].num_waits, info.num_islands, timings[i].total_us,
           timings[i].host_us, timings[i].driver.launch_us, timings[i].driver.order_us,
           timings[i].total_us / timings[0].total_us);
}

static void sum_up(const struct cell *cell, const struct timing *timings, struct totals *totals,
                   const struct shape *shape, const struct body *body)
{
    double best_us = INFINITY, chosen_us = 0, host_us = 0;
    for (uint32_t i = 1; i < cell->num; i++) {
        enum way way = cell->way_of[i];
        if (way == CHOSEN) {
            chosen_us = timings[i].total_us;
            host_us = timings[i].host_us;
        } else if (way < CHOSEN && timings[i].total_us < best_us) {
            best_us = timings[i].total_us;
        }
    }
    double ratio = chosen_us / timings[0].total_us, over = chosen_us / best_us;
    printf("summary: %s %s: %.3f of by hand, %.3f of the best way\n", body->name, shape->name,
           ratio, over);
    totals->log_ratio += log(ratio);
    totals->host_us += host_us;
    totals->worst = ratio > totals->worst ? ratio : totals->worst;
    totals->num++;
    totals->num_within += over <= 1.03;
}

// `alone`: a way, or NUM_WAYS for all of them in turns.
static void measure_cell(const struct driver *driver, braid_device *device, enum way alone,
                         const struct shape *shape, const struct body *body, struct totals *totals)
{
    struct cell cell = { .num = 0 };
    struct timing timings[NUM_WAYS];
    struct by_hand *by_hand = NULL;
    if (alone == BY_HAND || alone == NUM_WAYS) {
        by_hand = by_hand_as_graph(driver, shape, body->cycles, &cell.systems[0]);
        cell.way_of[cell.num++] = BY_HAND;
    }
    if (alone != BY_HAND)
        add_ways(&cell, device, shape, body, alone);
    measure(cell.systems, cell.num, FRAMES, timings);
    for (uint32_t i = 0; i < cell.num; i++)
        print_way(&cell, i, shape, body, timings);
    if (alone == NUM_WAYS)
        sum_up(&cell, timings, totals, shape, body);
    for (uint32_t i = 0; i < cell.num; i++) {
        if (cell.runs[i])
            braid_finish_shape(cell.runs[i]);
    }
    if (by_hand)
        by_hand_finish(by_hand);
}

// Another bench of the same folder, whose lines are printed under its name.
static void run_other(const char *self, const char *command)
{
    char path[4096], line[512];
    const char *slash = strrchr(self, '/');
    int folder = slash ? (int)(slash - self) : 1;
    snprintf(path, sizeof(path), "%.*s/%s", folder, slash ? self : ".", command);
    printf("%s:\n", command);
    fflush(stdout);
    FILE *other = popen(path, "r");
    if (!other)
        return;
    while (fgets(line, sizeof(line), other))
        printf("    %s", line);
    int status = pclose(other);
    if (status)
        printf("    it ended with %d\n", status);
}

static void print_totals(const struct totals *totals)
{
    printf(
        "summary: %u cells: %.3f of by hand in the geometric mean, %.3f at worst; a launch takes "
        "the host %.1f us in the mean; within 3 %% of the best way in %u\n",
        totals->num, exp(totals->log_ratio / totals->num), totals->worst,
        totals->host_us / totals->num, totals->num_within);
}

// NUM_WAYS: all of them in turns.
static enum way find_way(int argc, char **argv)
{
    if (argc < 3 || strcmp(argv[1], "alone") != 0)
        return NUM_WAYS;
    for (enum way way = 0; way < NUM_WAYS; way++) {
        if (strcmp(ways[way].name, argv[2]) == 0)
            return way;
    }
    fprintf(stderr, "there is no way '%s'\n", argv[2]);
    exit(2);
}

int main(int argc, char **argv)
{
    struct body bodies[NUM_BODIES] = {
        { .name = "empty", .ns = 0 },
        { .name = "2 us", .ns = 2000 },
        { .name = "10 us", .ns = 10000 },
    };
    static const char *const others[] = {
        "bench_gpu_rigid",
        "bench_gpu_launch large",
        "bench_gpu_first graph",
        "bench_gpu_first island",
        "bench_gpu_first runner",
        "bench_gpu_many",
        "../examples/sparse_mpm/sparse_mpm --device cuda --quiet",
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    enum way alone = find_way(argc, argv);
    struct driver driver = open_driver();
    braid_device *device;
    struct totals totals = { 0 };
    must(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    driver_time_of(device);
    printf(
        "body,shape,way,lanes,waits,islands,total us,host us,launch us,order us,over the first\n");
    for (uint32_t b = 0; b < NUM_BODIES; b++) {
        bodies[b].cycles = bodies[b].ns ? cycles_of(device, bodies[b].ns) : 0;
        for (uint32_t i = 0; i < NUM_SHAPES; i++) {
            struct shape shape = make_shape(i);
            measure_cell(&driver, device, alone, &shape, &bodies[b], &totals);
            free_shape(&shape);
        }
    }
    if (totals.num)
        print_totals(&totals);
    braid_device_close(device);
    close_driver(&driver);
    for (size_t i = 0; argc < 2 && i < sizeof(others) / sizeof(others[0]); i++)
        run_other(argv[0], others[i]);
    return 0;
}
