// SPDX-License-Identifier: Apache-2.0
// Frames of one island, launched one by one and many at once, with and without notes of the nodes
// that its lanes are at.
#include <stdio.h>
#include <stdlib.h>

#include "gpu/bench.h"

enum { NUM_NODES = 1000, FRAMES = 100, RUNS = 11 };

// `num_chains` chains, side by side.
static braid_exec *make_exec(braid_device *device, uint32_t num_chains, uint32_t cycles)
{
    braid_graph *graph;
    braid_exec *exec;
    braid_node *nodes = calloc(NUM_NODES, sizeof(*nodes));
    must(braid_graph_create(&graph));
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        const braid_kernel_node launch = {
            .node = { .after = i < num_chains ? NULL : &nodes[i - num_chains],
                      .num_after = i >= num_chains,
                      .cost_ns = 2000 },
            .kernel = &bench_spin,
            .block = { 32, 1, 1 },
            BRAID_ARGS(BRAID_ARG(cycles)),
        };
        must(braid_graph_add_kernel(graph, &launch, &nodes[i]));
    }
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE };
    must(braid_exec_create(device, graph, &options, &exec));
    braid_graph_destroy(graph);
    free(nodes);
    return exec;
}

static double time_frames(braid_device *device, braid_exec *exec, uint32_t at_once)
{
    double us[RUNS];
    braid_stream *stream;
    must(braid_stream_create(device, NULL, &stream));
    for (int run = 0; run < RUNS; run++) {
        double start = now_us();
        for (uint32_t i = 0; i < FRAMES; i += at_once)
            must(braid_exec_launch_many(exec, stream, at_once, NULL, 0));
        must(braid_stream_wait(stream));
        us[run] = (now_us() - start) / FRAMES;
    }
    braid_stream_destroy(stream);
    return median(us, RUNS);
}

int main(void)
{
    static const struct {
        const char *name;
        uint32_t num_chains;
        uint64_t ns;
    } rows[] = { { "chain, empty", 1, 0 },
                 { "8 chains, empty", 8, 0 },
                 { "32 chains, empty", 32, 0 },
                 { "8 chains, 2 us", 8, 2000 } };
    braid_device *device;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_get_message());
        return 77;
    }
    printf("| island of %d nodes, us a frame | 1 a launch | 100 | 1, noting | 100, noting |\n"
           "|---|---|---|---|---|\n",
           NUM_NODES);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t cycles = rows[i].ns ? cycles_of(device, rows[i].ns) : 0;
        printf("| %s ", rows[i].name);
        for (int noting = 0; noting < 2; noting++) {
            setenv("BRAID_NOTE_NODES", noting ? "1" : "0", 1);
            braid_exec *exec = make_exec(device, rows[i].num_chains, cycles);
            printf("| %.1f ", time_frames(device, exec, 1));
            printf("| %.1f ", time_frames(device, exec, FRAMES));
            braid_exec_destroy(exec);
        }
        printf("|\n");
        fflush(stdout);
    }
    braid_device_close(device);
    return 0;
}
