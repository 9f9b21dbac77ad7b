// SPDX-License-Identifier: Apache-2.0
// A part that builds a graph and replays it on the CPU.
#include "book.h"

enum { NUM = 64 };
static float front[NUM], back[NUM], total;

// to[i] = from[i] + step
static void move_on_cpu(const braid_blocks *blocks, void *const *args)
{
    const float *from = *(const float *const *)args[0];
    float *to = *(float *const *)args[1], step = *(const float *)args[2];
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        to[i] = from[i] + step;
}

static void sum_on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    const float *from = *(const float *const *)args[0];
    total = 0;
    for (int i = 0; i < NUM; i++)
        total += from[i];
}

static const braid_kernel move = { .name = "move", .cpu = move_on_cpu };
static const braid_kernel sum = { .name = "sum", .cpu = sum_on_cpu };

static void print_total(void *user)
{
    printf("%s %g\n", (const char *)user, (double)total);
}

int main(void)
{
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec = NULL;
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_graph_create(&graph));
    // here
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_device_close(device);
    return 0;
}
