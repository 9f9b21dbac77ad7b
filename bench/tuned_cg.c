// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients, the example, for the tuning bench: each frame starts from nothing.
#include <math.h>
#include <stdlib.h>

#include "../examples/conjugate_gradient/system.h"
#include "tuned.h"

static void finish(struct tuned_graph *graph)
{
    struct system *systems = graph->more;
    free_buffers(&systems[0]);
    free_buffers(&systems[1]);
    braid_graph_destroy(graph->graph);
    free(systems);
}

static void fill_start(const struct system *start)
{
    static const double zeros[NUM];
    static double right[NUM];
    static struct scalars scalars;
    for (int i = 0; i < NUM; i++) {
        bool is_inside = i % STEP % (STEP - 1) && i >= STEP && i < NUM - STEP;
        right[i] = is_inside ? sin(i) : 0;
    }
    scalars.square = dot(right, right), scalars.least = 1e-12 * scalars.square;
    put(start, X, zeros);
    put(start, IMAGE, zeros);
    put(start, RESIDUAL, right);
    put(start, DIRECTION, right);
    put(start, SCALARS, &scalars);
    tuned_check(braid_stream_wait(braid_device_get_default_stream(start->device)));
}

static void add_start(braid_graph *graph, const struct system *start, const struct system *system,
                      const braid_resource *buffers)
{
    for (int i = 0; i < LEFT; i++)
        tuned_check(braid_graph_add_copy(
            graph,
            &(braid_copy){ BRAID_ACCESSES({ buffers[i], BRAID_WRITE }), .to = system->buffers[i],
                           .from = start->buffers[i], .bytes = bytes_of(i) },
            NULL));
}

struct tuned_graph tuned_gradients(braid_device *device)
{
    struct system *systems = calloc(2, sizeof(*systems));
    braid_resource buffers[NUM_BUFFERS];
    braid_graph *graph;
    if (!systems)
        exit(1);
    for (int i = 0; i < 2; i++) {
        systems[i].device = device;
        allocate_buffers(&systems[i]);
    }
    fill_start(&systems[0]);
    tuned_check(braid_graph_create(&graph));
    declare_buffers(&systems[1], graph, buffers);
    add_start(graph, &systems[0], &systems[1], buffers);
    tuned_check(braid_graph_begin_loop(
        graph, &(braid_loop){ .condition = buffers[LEFT], .most = MOST }, NULL));
    add_iteration(graph, buffers);
    tuned_check(braid_graph_end(graph));
    return (struct tuned_graph){ .name = "conjugate gradients",
                                 .graph = graph,
                                 .memory = tuned_allocate(device, sizeof(double)),
                                 .more = systems,
                                 .finish = finish };
}
