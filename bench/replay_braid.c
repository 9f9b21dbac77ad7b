// SPDX-License-Identifier: Apache-2.0
// Braid, through its public interface, as a program would use it.
#include <stdio.h>
#include <stdlib.h>

#include "replay_graph.h"

struct state {
    braid_device *device;
    braid_exec *exec;
};

void replay_check(braid_status status)
{
    if (status == BRAID_OK)
        return;
    fprintf(stderr, "braid: %s\n", braid_error_get_message());
    exit(1);
}

static void run_node(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    replay_run_body(*(const struct replay_body *const *)args[0], *(const uint32_t *)args[1]);
}

static const braid_kernel node_kernel = { .name = "node", .cpu = run_node };

// A cost of 0 would mean that it is not known.
braid_graph *replay_graph_create(const struct replay_shape *shape, const struct replay_body *body)
{
    braid_graph *graph = NULL;
    replay_check(braid_graph_create(&graph));
    for (uint32_t i = 0; i < shape->num_nodes; i++) {
        braid_node after[REPLAY_MOST_BEFORE];
        size_t num_after = 0;
        for (uint32_t k = shape->first_edge[i]; k < shape->first_edge[i + 1]; k++)
            after[num_after++] = braid_graph_get_node(graph, shape->edges[k]);
        braid_kernel_node launch = { .kernel = &node_kernel,
                                     .grid = { 1, 1, 1 },
                                     .block = { 1, 1, 1 },
                                     .node.after = after,
                                     .node.num_after = num_after,
                                     .node.cost_ns = body->cost_ns ? body->cost_ns : 1,
                                     BRAID_ARGS(BRAID_ARG(body), BRAID_ARG(i)) };
        replay_check(braid_graph_add_kernel(graph, &launch, NULL));
    }
    return graph;
}

static void *create_with(const struct replay_shape *shape, const struct replay_body *body,
                         uint32_t num_workers, const braid_exec_options *options)
{
    struct state *state = replay_allocate(1, sizeof(*state));
    replay_check(braid_device_open(
        &(braid_device_options){ .backend = "cpu", .num_workers = num_workers }, &state->device));
    braid_graph *graph = replay_graph_create(shape, body);
    replay_check(braid_exec_create(state->device, graph, options, &state->exec));
    braid_graph_destroy(graph);
    return state;
}

static void *create(const struct replay_shape *shape, const struct replay_body *body,
                    uint32_t num_workers)
{
    return create_with(shape, body, num_workers, NULL);
}

static void *create_streams(const struct replay_shape *shape, const struct replay_body *body,
                            uint32_t num_workers)
{
    return create_with(shape, body, num_workers,
                       &(braid_exec_options){ .mode = BRAID_MODE_STREAMS });
}

static void *create_timed(const struct replay_shape *shape, const struct replay_body *body,
                          uint32_t num_workers)
{
    return create_with(shape, body, num_workers, &(braid_exec_options){ .frames_kept = 16 });
}

static void play(void *user)
{
    struct state *state = user;
    replay_check(braid_exec_launch(state->exec, NULL));
    replay_check(braid_exec_wait(state->exec));
}

static void destroy(void *user)
{
    struct state *state = user;
    braid_exec_destroy(state->exec);
    braid_device_close(state->device);
    free(state);
}

const struct replay_player replay_braid = {
    .name = "braid",
    .create = create,
    .play = play,
    .destroy = destroy,
};

const struct replay_player replay_braid_streams = {
    .name = "braid streams",
    .create = create_streams,
    .play = play,
    .destroy = destroy,
};

const struct replay_player replay_braid_timed = {
    .name = "braid timed",
    .create = create_timed,
    .play = play,
    .destroy = destroy,
};
