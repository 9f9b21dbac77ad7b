// SPDX-License-Identifier: Apache-2.0
// How long planning takes, per node and edge, from ten thousand nodes to ten million, and what it
// takes in memory. Targets: a million nodes with four million edges in 2 s, ten million in 10 s and
// 3 GB.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <braid/schedule.h>

#include "graph/graph.h"
#include "plan_shapes.h"

struct shape {
    const char *name;
    uint32_t reach; // 0: Cholesky
};

static const struct shape shapes[] = {
    { "random, of 1000 before", 1000 },
    { "random, of all before", UINT32_MAX },
    { "tiled Cholesky", 0 },
};

static double peak_gigabytes(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double kilobytes = 0;
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtod(line + 6, NULL);
    }
    if (file)
        fclose(file);
    return kilobytes / (1024 * 1024);
}

static braid_graph *make_graph(const struct shape *shape, uint32_t num_nodes)
{
    return shape->reach ? plan_random_graph(num_nodes, shape->reach)
                        : plan_cholesky_graph(num_nodes);
}

static void measure(const struct shape *shape, uint32_t num_nodes)
{
    braid_graph *graph = make_graph(shape, num_nodes);
    braid_schedule_options options = { .costs = &(braid_cost_model){ 0 },
                                       .max_lanes = 8,
                                       .fixed_lanes = true };
    braid_schedule *schedule;
    double wall = plan_wall_seconds(), start = plan_cpu_seconds();
    plan_check(braid_schedule_create(graph, &options, &schedule));
    double planned = plan_cpu_seconds();
    wall = plan_wall_seconds() - wall;
    plan_check(braid_schedule_verify(schedule, graph));
    double proven = plan_cpu_seconds(), peak = peak_gigabytes();
    size_t num_edges = graph->edges.num;
    double parts = (double)(braid_graph_get_num_nodes(graph) + num_edges);
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    printf("| %-22s | %8zu | %8zu | %6.2f | %6.2f | %5.0f | %6.2f | %5.2f | %8llu |\n", shape->name,
           braid_graph_get_num_nodes(graph), num_edges, wall, planned - start,
           (planned - start) * 1e9 / parts, proven - planned, peak,
           (unsigned long long)info.num_waits);
    fflush(stdout);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

// Each case in a process of its own, so that its peak of memory is its own.
static void measure_apart(const struct shape *shape, uint32_t num_nodes)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        measure(shape, num_nodes);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        printf("| %-22s | %8u | failed |\n", shape->name, num_nodes);
}

int main(int num_arguments, char **arguments)
{
    uint32_t most = num_arguments > 1 ? (uint32_t)strtoul(arguments[1], NULL, 10) : 10000000;
    printf("Planning on 8 lanes, one thread. Seconds are of the processor, but for the first.\n\n"
           "| graph | nodes | edges | wall s | plan s | ns per node+edge | verify s | "
           "peak GiB | waits |\n"
           "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        for (uint32_t num = 10000; num <= most; num *= 10)
            measure_apart(&shapes[i], num);
    }
    return 0;
}
