// SPDX-License-Identifier: Apache-2.0
// The buffers of a solver on a device, and graphs of one iteration or of all.
#include "system.h"

#include "../check.h"

static const char *const names[] = { "x", "residual", "direction", "image", "scalars", "left" };

uint64_t bytes_of(int buffer)
{
    return buffer < SCALARS    ? NUM * sizeof(double)
           : buffer == SCALARS ? sizeof(struct scalars)
                               : sizeof(uint32_t);
}

void allocate_buffers(struct system *system)
{
    for (int i = 0; i < NUM_BUFFERS; i++)
        CHECK(braid_memory_allocate(system->device, BRAID_MEMORY_DEVICE, bytes_of(i),
                                    &system->buffers[i]));
}

void free_buffers(struct system *system)
{
    for (int i = 0; i < NUM_BUFFERS; i++)
        braid_memory_free(system->device, system->buffers[i]);
}

#define ADD(which, grid_x, threads, ...)                                                           \
    CHECK(braid_graph_add_kernel(                                                                  \
        graph,                                                                                     \
        &(braid_kernel_node){                                                                      \
            .kernel = &which, .grid.x = (grid_x), .block.x = (threads), BRAID_ARGS(__VA_ARGS__) }, \
        NULL))

void declare_buffers(const struct system *system, braid_graph *graph, braid_resource *out_buffers)
{
    for (int i = 0; i < NUM_BUFFERS; i++)
        CHECK(braid_graph_add_buffer(graph, names[i], system->buffers[i], bytes_of(i),
                                     &out_buffers[i]));
}

void add_iteration(braid_graph *graph, const braid_resource *b)
{
    ADD(multiply, NUM_BLOCKS, THREADS, BRAID_IN(b[DIRECTION]), BRAID_OUT(b[IMAGE]));
    ADD(find_alpha, 1, THREADS, BRAID_IN(b[DIRECTION]), BRAID_IN(b[IMAGE]),
        BRAID_INOUT(b[SCALARS]));
    ADD(advance, NUM_BLOCKS, THREADS, BRAID_INOUT(b[X]), BRAID_INOUT(b[RESIDUAL]),
        BRAID_IN(b[DIRECTION]), BRAID_IN(b[IMAGE]), BRAID_IN(b[SCALARS]));
    ADD(test, 1, THREADS, BRAID_IN(b[RESIDUAL]), BRAID_INOUT(b[SCALARS]), BRAID_OUT(b[LEFT]));
    ADD(turn, NUM_BLOCKS, THREADS, BRAID_INOUT(b[DIRECTION]), BRAID_IN(b[RESIDUAL]),
        BRAID_IN(b[SCALARS]));
}

void make_exec(struct system *system, bool loops)
{
    braid_graph *graph;
    braid_resource b[NUM_BUFFERS];
    CHECK(braid_graph_create(&graph));
    declare_buffers(system, graph, b);
    if (loops)
        CHECK(braid_graph_begin_loop(
            graph,
            &(braid_loop){ .node.name = "until converged", .condition = b[LEFT], .most = MOST },
            &system->loop));
    add_iteration(graph, b);
    if (loops)
        CHECK(braid_graph_end(graph));
    CHECK(braid_exec_create(system->device, graph, NULL, &system->exec));
    braid_graph_destroy(graph);
}

void put(const struct system *system, int buffer, const void *from)
{
    CHECK(braid_stream_copy(braid_device_get_default_stream(system->device),
                            system->buffers[buffer], from, bytes_of(buffer)));
}

void get(const struct system *system, int buffer, void *to)
{
    CHECK(braid_stream_copy(braid_device_get_default_stream(system->device), to,
                            system->buffers[buffer], bytes_of(buffer)));
    CHECK(braid_stream_wait(braid_device_get_default_stream(system->device)));
}
