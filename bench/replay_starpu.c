// SPDX-License-Identifier: Apache-2.0
// StarPU, with explicit task dependencies; its tasks are made anew every frame.
#include <starpu.h>
#include <stdlib.h>

#include "replay.h"

struct state {
    const struct replay_shape *shape;
    const struct replay_body *body;
    struct starpu_task **tasks;
};

static void run_node(void *buffers[], void *user)
{
    (void)buffers;
    struct starpu_task *task = starpu_task_get_current();
    replay_run_body(user, (uint32_t)(uintptr_t)task->callback_arg);
}

static struct starpu_codelet codelet = { .cpu_funcs = { run_node }, .nbuffers = 0 };

static void *create(const struct replay_shape *shape, const struct replay_body *body,
                    uint32_t num_workers)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = (int)num_workers;
    conf.ncuda = 0;
    conf.nopencl = 0;
    if (starpu_init(&conf))
        return NULL;
    struct state *state = replay_allocate(1, sizeof(*state));
    *state = (struct state){ .shape = shape, .body = body };
    state->tasks = replay_allocate(shape->num_nodes, sizeof(struct starpu_task *));
    return state;
}

static void submit_node(struct state *state, uint32_t node)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = (void *)(uintptr_t)state->body;
    task->callback_arg = (void *)(uintptr_t)node;
    task->destroy = 0; // later tasks name it as a predecessor
    state->tasks[node] = task;
    struct starpu_task *before[REPLAY_MOST_BEFORE];
    unsigned num_before = 0;
    for (uint32_t i = state->shape->first_edge[node]; i < state->shape->first_edge[node + 1]; i++)
        before[num_before++] = state->tasks[state->shape->edges[i]];
    if (num_before)
        starpu_task_declare_deps_array(task, num_before, before);
    if (starpu_task_submit(task))
        abort();
}

static void play(void *user)
{
    struct state *state = user;
    for (uint32_t i = 0; i < state->shape->num_nodes; i++)
        submit_node(state, i);
    starpu_task_wait_for_all();
    for (uint32_t i = 0; i < state->shape->num_nodes; i++)
        starpu_task_destroy(state->tasks[i]);
}

static void destroy(void *user)
{
    struct state *state = user;
    starpu_shutdown();
    free(state->tasks);
    free(state);
}

const struct replay_player replay_starpu = {
    .name = "starpu",
    .create = create,
    .play = play,
    .destroy = destroy,
};
