// SPDX-License-Identifier: Apache-2.0
// The recipes, one behind the other. Each has a graph of its own.
#include <math.h>

#include "book.h"

static void draw_on_cpu(const braid_blocks *blocks, void *const *args)
{
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        (*(float *const *)args[0])[i] = *(const float *)args[1];
}

static void add_on_cpu(const braid_blocks *blocks, void *const *args)
{
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        (*(float *const *)args[0])[i] += (*(const float *const *)args[1])[i];
}

// here

static void (*const recipes[])(braid_device *device, braid_graph *graph) = {
    reduction, read_back, simulate, simulate, substeps, choose_arms, diffusion, render, decode
};

int main(void)
{
    braid_device *device;
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        braid_graph *graph;
        CHECK(braid_graph_create(&graph));
        recipes[i](device, graph);
        braid_graph_destroy(graph);
    }
    CHECK(braid_device_close(device));
    return 0;
}
