// SPDX-License-Identifier: Apache-2.0
// A C++ program that uses the C interface: it links only if the headers declare C linkage, and it
// makes and runs a graph with the means of C++11.
#include <braid/braid.h>

#include <cstdio>

static void add_on_cpu(const braid_blocks *blocks, void *const *args)
{
    int *to = *static_cast<int **>(args[0]);
    int term = *static_cast<int *>(args[1]);
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        to[i] += term;
}

static bool run(braid_device *device, braid_graph *graph)
{
    int cells[8] = {};
    int *to = cells, term = 3;
    braid_kernel add = {};
    add.name = "add";
    add.cpu = add_on_cpu;
    const braid_arg args[] = { BRAID_ARG(to), BRAID_ARG(term) };
    braid_resource buffer;
    if (braid_graph_add_buffer(graph, "cells", cells, sizeof(cells), &buffer))
        return false;
    const braid_access access = { buffer, BRAID_READ_WRITE };
    braid_kernel_node launch = {};
    launch.kernel = &add;
    launch.grid.x = 8;
    launch.args = args;
    launch.num_args = 2;
    launch.node.accesses = &access;
    launch.node.num_accesses = 1;
    braid_exec *exec = nullptr;
    bool done = !braid_graph_add_kernel(graph, &launch, nullptr) &&
                !braid_graph_add_kernel(graph, &launch, nullptr) &&
                !braid_exec_create(device, graph, nullptr, &exec) &&
                !braid_exec_launch(exec, nullptr) && !braid_exec_wait(exec) && cells[7] == 6;
    braid_exec_destroy(exec);
    return done;
}

int main()
{
    braid_device_options options = {};
    options.backend = "cpu";
    braid_device *device = nullptr;
    braid_graph *graph = nullptr;
    bool done =
        !braid_device_open(&options, &device) && !braid_graph_create(&graph) && run(device, graph);
    if (!done)
        std::puts(braid_error_get_message());
    braid_graph_destroy(graph);
    braid_device_close(device);
    return done ? 0 : 1;
}
