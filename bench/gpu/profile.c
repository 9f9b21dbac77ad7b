// SPDX-License-Identifier: Apache-2.0
// What keeping the times of frames costs them: kernels that are busy for some time, on four lanes
// with a wait every fifth node, played in each way with and without times, in turns. Kernels that
// fill half of a device are played on fewer lanes too, and with a store of their own in each warp,
// as kernels have that are there for something.
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
    uint32_t num_lanes; // 0: LANES
    bool stores;
};

static const char storing_source[] =
    "extern \"C\" __global__ void spin_and_store(unsigned cycles, unsigned *to)\n"
    "{\n"
    "    long long end = clock64() + cycles;\n"
    "    while (cycles != 0 && clock64() < end) {\n"
    "    }\n"
    "    if (threadIdx.x % 32 == 0)\n"
    "        to[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = cycles;\n"
    "}\n";
static const braid_kernel storing = { .name = "spin_and_store", .source = storing_source };

// `words`: for kernels that store, each of which has as many as warps.
static braid_graph *make_graph(uint32_t cycles, const struct load *load, uint32_t *words,
                               braid_node *nodes)
{
    braid_graph *graph;
    const size_t num_warps = (size_t)load->num_blocks * load->num_threads / 32;
    must(braid_graph_create(&graph));
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        const braid_node after[] = { nodes[i < LANES ? 0 : i - LANES],
                                     nodes[i < LANES ? 0 : i - LANES + 1] };
        const size_t num_after = i < LANES ? 0 : i % 5 == 0 && i % LANES != LANES - 1 ? 2 : 1;
        uint32_t *to = words + i % LANES * num_warps;
        const braid_arg args[] = { BRAID_ARG(cycles), BRAID_ARG(to) };
        const braid_launch launch = {
            .node = { .after = after, .num_after = num_after, .cost_ns = load->ns },
            .kernel = load->stores ? &storing : &bench_spin,
            .grid = { load->num_blocks, 1, 1 },
            .block = { load->num_threads, 1, 1 },
            .args = args,
            .num_args = load->stores ? 2 : 1,
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

static uint64_t median_node(braid_exec *exec, const braid_node *nodes, uint32_t *out_num_inside)
{
    double ns[NUM_NODES];
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        braid_spread spread;
        braid_timed_by timed_by;
        must(braid_exec_get_node_timing(exec, nodes[i], &spread));
        must(braid_exec_get_timed_by(exec, nodes[i], &timed_by));
        *out_num_inside += timed_by == BRAID_TIMED_INSIDE;
        ns[i] = (double)spread.median_ns;
    }
    return (uint64_t)median(ns, NUM_NODES);
}

static void print_row(const struct load *load, const struct way *way, braid_exec *timed,
                      const braid_node *nodes, double us[2][2])
{
    braid_timings timings;
    uint32_t num_inside = 0;
    must(braid_exec_get_timings(timed, &timings));
    uint64_t node_ns = median_node(timed, nodes, &num_inside);
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
    const uint64_t num_words = (uint64_t)LANES * load->num_blocks * load->num_threads / 32;
    void *words = NULL;
    must(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, num_words * sizeof(uint32_t), &words));
    braid_graph *graph = make_graph(load->ns ? cycles_of(device, load->ns) : 0, load, words, nodes);
    braid_exec *execs[2] = { NULL, NULL };
    for (uint32_t i = 0; i < 2; i++) {
        const braid_exec_options options = {
            .mode = way->mode,
            .islands = way->islands,
            .plan = { .max_lanes = load->num_lanes ? load->num_lanes : LANES, .fixed_lanes = true },
            .profile = i ? KEPT : 0,
        };
        if (braid_exec_create(device, graph, &options, &execs[i])) {
            printf("| %s | %s | %s |\n", load->name, way->name, braid_error_message());
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
    braid_memory_free(device, BRAID_MEMORY_DEVICE, words);
}

int main(void)
{
    static const struct way ways[] = { { "streams", BRAID_MODE_STREAMS, BRAID_ISLANDS_NEVER },
                                       { "native", BRAID_MODE_NATIVE, BRAID_ISLANDS_NEVER },
                                       { "native, islands", BRAID_MODE_NATIVE,
                                         BRAID_ISLANDS_ALWAYS },
                                       { "one island", BRAID_MODE_NATIVE, BRAID_ISLANDS_WHOLE } };
    static const struct load loads[] = { { "1 us", 1000, 1, 32 },
                                         { "10 us", 10000, 1, 32 },
                                         { "50 us", 50000, 1, 32 },
                                         { "1 us, 528 blocks of 256", 1000, 528, 256 },
                                         { "10 us, 528 blocks of 256", 10000, 528, 256 },
                                         { "the same, and store", 10000, 528, 256, 0, true },
                                         { "on two lanes", 10000, 528, 256, 2 },
                                         { "on two lanes, and store", 10000, 528, 256, 2, true },
                                         { "on one lane, and store", 10000, 528, 256, 1, true } };
    braid_device *device;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_message());
        return 77;
    }
    printf(
        "| kernels of | played | frame alone, us | with times | | frames in a row, us | with times "
        "| | frame by its times | a kernel by them | of %d timed inside |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n",
        NUM_NODES);
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
        for (size_t j = 0; j < sizeof(ways) / sizeof(ways[0]); j++)
            if (loads[i].num_blocks == 1 || j == 1 ||
                (j == 0 && !loads[i].num_lanes && !loads[i].stores))
                measure_way(device, &loads[i], &ways[j]);
    braid_device_close(device);
    return 0;
}
