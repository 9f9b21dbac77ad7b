// SPDX-License-Identifier: Apache-2.0
// OpenMP tasks with depend clauses, made anew every frame: OpenMP 5.0 has no way to reuse them.
#include <omp.h>
#include <stdlib.h>

#include "replay.h"

struct state {
    const struct replay_shape *shape;
    const struct replay_body *body;
    int num_workers;
    char *tokens; // a node; only their addresses matter
};

static void *create(const struct replay_shape *shape, const struct replay_body *body,
                    uint32_t num_workers)
{
    struct state *state = replay_allocate(1, sizeof(*state));
    *state = (struct state){ .shape = shape, .body = body, .num_workers = (int)num_workers };
    state->tokens = replay_allocate(shape->num_nodes, 1);
    return state;
}

static void make_task(const struct state *state, uint32_t node)
{
    const struct replay_body *body = state->body;
    const uint32_t *edges = state->shape->edges;
    char *tokens = state->tokens;
    uint32_t begin = state->shape->first_edge[node], end = state->shape->first_edge[node + 1];
#pragma omp task firstprivate(body, node) depend(iterator(uint32_t i = begin                       \
                                                          : end),                                  \
                                                 in                                                \
                                                 : tokens[edges[i]]) depend(out                    \
                                                                            : tokens[node])
    replay_run_body(body, node);
    (void)begin;
    (void)end;
    (void)edges;
    (void)tokens;
}

static void play(void *user)
{
    const struct state *state = user;
#pragma omp parallel num_threads(state->num_workers)
#pragma omp single
    for (uint32_t i = 0; i < state->shape->num_nodes; i++)
        make_task(state, i);
}

static void destroy(void *user)
{
    struct state *state = user;
    free(state->tokens);
    free(state);
}

const struct replay_player replay_openmp = {
    .name = "openmp",
    .create = create,
    .play = play,
    .destroy = destroy,
};
