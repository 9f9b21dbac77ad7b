// SPDX-License-Identifier: Apache-2.0
// What keeping the times of frames costs them: kernels that are busy for some time, on four lanes
// with a wait every fifth node, played in each way with and without times, in turns. Kernels that
// fill half of a device are played on fewer lanes too. Some only look at the clock; some store too,
// and some wait for memory all the time, as kernels do that are there for something.
#include <stdio.h>
#include <stdlib.h>

#include <braid/timings.h>

#include "gpu/bench.h"

enum { NUM_NODES = 200, LANES = 4, TURNS = 41, IN_A_ROW = 10, KEPT = 16 };

struct way {
    const char *name;
    braid_exec_mode mode;
    braid_islands islands;
};

struct load {
    const char *name;
    uint64_t ns;
    uint32_t num_blocks, num_threads;
    uint32_t num_lanes;         // 0: LANES
    const braid_kernel *kernel; // NULL: bench_spin
};

static braid_graph *make_graph(uint32_t cycles, const struct load *load, braid_node *nodes)
{
    braid_graph *graph;
    must(braid_graph_create(&graph));
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        const braid_node after[] = { nodes[i < LANES ? 0 : i - LANES],
                                     nodes[i < LANES ? 0 : i - LANES + 1] };
        const size_t num_after = i < LANES ? 0 : i % 5 == 0 && i % LANES != LANES - 1 ? 2 : 1;
        const braid_arg args[] = { BRAID_ARG(cycles) };
        const braid_kernel_node launch = {
            .node = { .after = after, .num_after = num_after, .cost_ns = load->ns },
            .kernel = load->kernel ? load->kernel : &bench_spin,
            .grid = { load->num_blocks, 1, 1 },
            .block = { load->num_threads, 1, 1 },
            .args = args,
            .num_args = 1,
        };
        must(braid_graph_add_kernel(graph, &launch, &nodes[i]));
    }
    return graph;
}

static double time_frames(braid_exec *exec, int num)
{
    double start = now_us();
    for (int i = 0; i < num; i++)
        must(braid_exec_launch(exec, NULL));
    must(braid_exec_wait(exec));
    return (now_us() - start) / num;
}

static uint64_t median_node(const braid_timings *timings, const braid_node *nodes,
                            uint32_t *out_num_inside)
{
    double ns[NUM_NODES];
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        const braid_node_timing *timing = &timings->nodes[nodes[i].index];
        *out_num_inside += timing->timed_by == BRAID_TIMED_INSIDE;
        ns[i] = (double)timing->time.median_ns;
    }
    return (uint64_t)median(ns, NUM_NODES);
}

static void print_row(const struct load *load, const struct way *way, braid_exec *timed,
                      const braid_node *nodes, double us[2][2])
{
    braid_timings timings;
    uint32_t num_inside = 0;
    must(braid_exec_get_timings(timed, &timings));
    uint64_t node_ns = median_node(&timings, nodes, &num_inside);
    printf("| %s | %s | %.1f | %.1f | %.3f | %.1f | %.1f | %.3f | %.1f | %.2f | %u |\n", load->name,
           way->name, us[0][0], us[1][0], us[1][0] / us[0][0], us[0][1], us[1][1],
           us[1][1] / us[0][1], (double)timings.frame.median_ns / 1e3, (double)node_ns / 1e3,
           num_inside);
    fflush(stdout);
}

static void measure_way(braid_device *device, const struct load *load, const struct way *way)
{
    static double us[2][2][TURNS];
    braid_node nodes[NUM_NODES] = { 0 };
    braid_graph *graph = make_graph(load->ns ? cycles_of(device, load->ns) : 0, load, nodes);
    braid_exec *execs[2] = { NULL, NULL };
    for (uint32_t i = 0; i < 2; i++) {
        const braid_exec_options options = {
            .mode = way->mode,
            .islands = way->islands,
            .max_lanes = load->num_lanes ? load->num_lanes : LANES,
            .fixed_lanes = true,
            .frames_kept = i ? KEPT : 0,
        };
        if (braid_exec_create(device, graph, &options, &execs[i])) {
            printf("| %s | %s | %s |\n", load->name, way->name, braid_error_get_message());
            goto finish;
        }
        time_frames(execs[i], IN_A_ROW);
    }
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < 2; i++) {
            us[i][0][turn] = time_frames(execs[i], 1);
            us[i][1][turn] = time_frames(execs[i], IN_A_ROW);
        }
    double medians[2][2];
    for (int i = 0; i < 2; i++)
        for (int row = 0; row < 2; row++)
            medians[i][row] = median(us[i][row], TURNS);
    print_row(load, way, execs[1], nodes, medians);
finish:
    braid_exec_destroy(execs[0]);
    braid_exec_destroy(execs[1]);
    braid_graph_destroy(graph);
}

int main(void)
{
    static const struct way ways[] = { { "streams", BRAID_MODE_STREAMS, BRAID_ISLANDS_NEVER },
                                       { "graph", BRAID_MODE_GRAPH, BRAID_ISLANDS_NEVER },
                                       { "graph, islands", BRAID_MODE_GRAPH, BRAID_ISLANDS_ALWAYS },
                                       { "one island", BRAID_MODE_GRAPH, BRAID_ISLANDS_WHOLE } };
    static const struct load loads[] = {
        { "1 us", 1000, 1, 32 },
        { "1 us, and store", 1000, 1, 32, 0, &bench_store },
        { "1 us of memory", 1000, 1, 32, 0, &bench_follow },
        { "10 us", 10000, 1, 32 },
        { "50 us", 50000, 1, 32 },
        { "1 us, 528 blocks of 256", 1000, 528, LARGE_BLOCK },
        { "1 us of memory, 528 blocks", 1000, 528, LARGE_BLOCK, 0, &bench_follow },
        { "10 us, 528 blocks of 256", 10000, 528, LARGE_BLOCK },
        { "10 us of memory, 528 blocks", 10000, 528, LARGE_BLOCK, 0, &bench_follow },
        { "on two lanes", 10000, 528, LARGE_BLOCK, 2, &bench_follow },
        { "on one lane", 10000, 528, LARGE_BLOCK, 1, &bench_follow },
    };
    braid_device *device;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_get_message());
        return 77;
    }
    printf(
        "| kernels of | played | frame alone, us | with times | | frames in a row, us | with times "
        "| | frame by its times | a kernel by them | of %d timed inside |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n",
        NUM_NODES);
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
        for (size_t j = 0; j < sizeof(ways) / sizeof(ways[0]); j++)
            if (loads[i].num_blocks == 1 || j == 1)
                measure_way(device, &loads[i], &ways[j]);
    braid_device_close(device);
    return 0;
}
