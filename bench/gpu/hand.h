// SPDX-License-Identifier: Apache-2.0
// Graphs with WHILE nodes by hand, and a loop of the host that reads a word: what loops are
// compared with.
#ifndef BRAID_BENCH_GPU_HAND_H
#define BRAID_BENCH_GPU_HAND_H

#include "backends/cuda/cuda_layouts.h"
#include "gpu/bench.h"

struct hand {
    const struct gpu_api *api;
    gpu_context context;
    gpu_module module; // has the kernel that sets a condition
    gpu_function test;
    gpu_stream stream;
    uint32_t *word; // pinned
};

struct hand_graph {
    const struct hand *hand;
    gpu_graph graph;
    gpu_executable executable;
};

// A loop that runs once at least.
struct hand_while {
    gpu_node node;
    gpu_graph body;
    uint64_t condition;
};

struct hand hand_open(const struct driver *driver);
void hand_close(struct hand *hand);

struct hand_graph hand_begin_graph(const struct hand *hand);
// Behind `after`, or behind nothing where that is NULL.
gpu_node hand_add_kernel(const struct hand *hand, gpu_graph graph, gpu_node after,
                         gpu_function function, uint32_t blocks, uint32_t threads, void **args);
struct hand_while hand_add_while(const struct hand *hand, gpu_graph graph, gpu_node after);
// Adds the kernel behind the last of the body: the loop goes on if the word is not 0.
void hand_end_while(const struct hand *hand, const struct hand_while *loop, gpu_node last,
                    uint32_t *word);
void hand_instantiate(struct hand_graph *made);
void hand_free_graph(struct hand_graph *made);

void hand_launch(const struct hand_graph *made);
void hand_wait(const struct hand *hand);
// Waits for the stream, and for a word of the device.
uint32_t hand_read(const struct hand *hand, uint32_t *word);

#endif
