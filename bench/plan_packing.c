// SPDX-License-Identifier: Apache-2.0
// How long packing transient buffers takes, how much memory the packing needs, and how long the
// exec takes that packs and proves them. Goals for an exec: 30,000 in 1 s, 100,000 in 5 s.
#include <stdio.h>
#include <stdlib.h>

#include <braid/braid.h>

#include "plan/memory/memory_plan.h"
#include "plan_shapes.h"

static uint64_t state = 1;

static uint32_t below(uint32_t limit)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((state >> 33) % limit);
}

// Each node writes a buffer of 1 KiB to 1 MiB, and reads those of up to two nodes before.
static braid_graph *make_graph(uint32_t num, uint32_t reach)
{
    braid_graph *graph;
    braid_resource *outputs = calloc(num, sizeof(*outputs));
    if (!outputs)
        abort();
    plan_check(braid_graph_create(&graph));
    for (uint32_t i = 0; i < num; i++) {
        uint64_t bytes = (UINT64_C(1024) << below(10)) / 64 * (64 + below(64));
        plan_check(braid_graph_add_transient(graph, "output", bytes, 0, &outputs[i]));
        braid_access accesses[3] = { { outputs[i], BRAID_WRITE } };
        size_t num_accesses = 1;
        for (uint32_t k = 0; k < 2 && i; k++) {
            uint32_t pred = i - 1 - below(i < reach ? i : reach);
            if (num_accesses < 2 || accesses[1].resource.index != outputs[pred].index)
                accesses[num_accesses++] = (braid_access){ outputs[pred], BRAID_READ };
        }
        braid_empty empty = { .node = { .accesses = accesses,
                                        .num_accesses = num_accesses,
                                        .cost_ns = 1 + below(100) } };
        plan_check(braid_graph_add_empty(graph, &empty, NULL));
    }
    free(outputs);
    return graph;
}

static double make_exec(const braid_graph *graph, const braid_schedule_options *options)
{
    braid_device *device;
    braid_exec *exec;
    plan_check(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    double start = plan_cpu_seconds();
    const braid_exec_options exec_options = { .max_lanes = options->max_lanes,
                                              .fixed_lanes = options->fixed_lanes,
                                              .costs = options->costs };
    plan_check(braid_exec_create(device, graph, &exec_options, &exec));
    double seconds = plan_cpu_seconds() - start;
    braid_exec_destroy(exec);
    plan_check(braid_device_close(device));
    return seconds;
}

static void measure(uint32_t num, uint32_t reach, uint32_t lanes)
{
    braid_graph *graph = make_graph(num, reach);
    braid_schedule *schedule;
    struct memory_plan plan;
    braid_schedule_options options = { .costs = &(braid_cost_model){ 0 },
                                       .max_lanes = lanes,
                                       .fixed_lanes = true };
    plan_check(braid_schedule_create(graph, &options, &schedule));
    double start = plan_cpu_seconds();
    plan_check(braid_memory_plan_create(schedule, graph, false, &plan));
    double packed = plan_cpu_seconds() - start;
    printf("| %6u | %5u | %2u | %.2f | %.2f | %.3f | %.3f |\n", num, reach, lanes, packed,
           make_exec(graph, &options),
           (double)plan.info.arena_bytes / (double)plan.info.bound_bytes,
           (double)plan.info.arena_bytes / (double)plan.info.unshared_bytes);
    fflush(stdout);
    braid_memory_plan_finish(&plan);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

int main(int argc, char **argv)
{
    uint32_t most = argc > 1 ? (uint32_t)atoi(argv[1]) : 100000;
    printf(
        "| buffers | reads from before | lanes | s | exec s | arena / bound | arena / unshared |\n"
        "|---:|---:|---:|---:|---:|---:|---:|\n");
    static const uint32_t nums[] = { 1000, 3000, 10000, 30000, 100000 };
    for (size_t i = 0; i < sizeof(nums) / sizeof(nums[0]) && nums[i] <= most; i++) {
        for (uint32_t reach = 10; reach <= 1000; reach *= 10)
            measure(nums[i], reach, 8);
    }
    return 0;
}
