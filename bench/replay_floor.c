// SPDX-License-Identifier: Apache-2.0
// The floor: what a hand-made program would do that knows the plan, runs nothing else, and lets
// its threads spin all day. The calling thread is one of them.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "replay_graph.h"

struct step {
    uint32_t node;
    uint32_t num_waits;
    uint32_t first_wait;
    bool is_waited;
};

struct wait {
    uint32_t lane, position;
};

struct lane {
    _Alignas(128) atomic_uint progress; // steps done since the start
    _Alignas(128) struct state *state;
    struct step *steps;
    uint32_t num_steps;
    pthread_t thread;
};

struct state {
    const struct replay_body *body;
    uint32_t num_lanes;
    struct lane *lanes;
    struct wait *waits;
    _Alignas(128) atomic_uint frame;
    _Alignas(128) atomic_bool stop;
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void walk(struct lane *lane, uint32_t frame)
{
    struct state *state = lane->state;
    uint32_t base = (frame - 1) * lane->num_steps;
    for (uint32_t i = 0; i < lane->num_steps; i++) {
        const struct step *step = &lane->steps[i];
        for (uint32_t k = 0; k < step->num_waits; k++) {
            const struct wait *wait = &state->waits[step->first_wait + k];
            const struct lane *other = &state->lanes[wait->lane];
            uint32_t wanted = (frame - 1) * other->num_steps + wait->position;
            while ((int32_t)(atomic_load_explicit(&other->progress, memory_order_acquire) -
                             wanted) < 0)
                relax();
        }
        replay_run_body(state->body, step->node);
        if (step->is_waited)
            atomic_store_explicit(&lane->progress, base + i + 1, memory_order_release);
    }
    atomic_store_explicit(&lane->progress, base + lane->num_steps, memory_order_release);
}

static void *run_lane(void *user)
{
    struct lane *lane = user;
    for (uint32_t frame = 1;; frame++) {
        while (atomic_load_explicit(&lane->state->frame, memory_order_acquire) < frame) {
            if (atomic_load_explicit(&lane->state->stop, memory_order_relaxed))
                return NULL;
            relax();
        }
        walk(lane, frame);
    }
}

struct place {
    uint32_t lane, position;
};

// Turns the plan's records and waits into positions. A wait stands before the node it holds up.
static void fill_lanes(struct state *state, const braid_step *steps, size_t num_steps,
                       struct place *places)
{
    uint32_t num_waits = 0;
    uint32_t *pending = replay_allocate(state->num_lanes, sizeof(*pending));
    uint32_t *first = replay_allocate(state->num_lanes, sizeof(*first));
    for (size_t lane = 0; lane < state->num_lanes; lane++) {
        for (size_t i = 0; i < num_steps; i++) {
            const braid_step *step = &steps[i];
            struct lane *to = &state->lanes[lane];
            if (step->lane != lane || step->kind != BRAID_STEP_RUN)
                continue;
            places[step->node] = (struct place){ (uint32_t)lane, ++to->num_steps };
        }
        state->lanes[lane].num_steps = 0;
    }
    for (uint32_t lane = 0; lane < state->num_lanes; lane++) {
        struct lane *to = &state->lanes[lane];
        first[lane] = num_waits;
        for (size_t i = 0; i < num_steps; i++) {
            const braid_step *step = &steps[i];
            if (step->lane != lane)
                continue;
            if (step->kind == BRAID_STEP_WAIT) {
                struct place place = places[step->node];
                state->waits[num_waits++] = (struct wait){ place.lane, place.position };
                pending[lane]++;
            } else if (step->kind == BRAID_STEP_RUN) {
                to->steps[to->num_steps++] =
                    (struct step){ .node = step->node,
                                   .num_waits = pending[lane],
                                   .first_wait = num_waits - pending[lane] };
                pending[lane] = 0;
            } else {
                to->steps[to->num_steps - 1].is_waited = true;
            }
        }
    }
    free(pending);
    free(first);
}

static struct state *make_state(const braid_schedule *schedule, const struct replay_body *body)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    struct state *state = aligned_alloc(128, sizeof(*state));
    struct lane *lanes = aligned_alloc(128, info.num_lanes * sizeof(*lanes));
    if (!state || !lanes)
        abort();
    *state = (struct state){ .body = body, .num_lanes = info.num_lanes, .lanes = lanes };
    state->waits = replay_allocate(info.num_waits, sizeof(*state->waits));
    for (uint32_t i = 0; i < info.num_lanes; i++) {
        lanes[i] = (struct lane){ .state = state };
        lanes[i].steps = replay_allocate(info.num_nodes, sizeof(*lanes[i].steps));
    }
    struct place *places = replay_allocate(info.num_nodes, sizeof(*places));
    fill_lanes(state, info.steps, info.num_steps, places);
    free(places);
    return state;
}

// Empty bodies on one lane, as anybody would; longer ones on a lane for each worker.
static void *create(const struct replay_shape *shape, const struct replay_body *body,
                    uint32_t num_workers)
{
    braid_graph *graph = replay_graph_create(shape, body);
    braid_schedule *schedule = NULL;
    braid_schedule_options options = {
        .max_lanes = body->cost_ns ? num_workers : 1,
        .costs =
            &(braid_cost_model){
                .node_ns = 2, .wait_ns = 150, .root_ns = 300, .max_concurrent = num_workers },
    };
    replay_check(braid_schedule_create(graph, &options, &schedule));
    struct state *state = make_state(schedule, body);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
    for (uint32_t i = 1; i < state->num_lanes; i++)
        if (pthread_create(&state->lanes[i].thread, NULL, run_lane, &state->lanes[i]))
            abort();
    return state;
}

static void play(void *user)
{
    struct state *state = user;
    uint32_t frame = atomic_load_explicit(&state->frame, memory_order_relaxed) + 1;
    atomic_store_explicit(&state->frame, frame, memory_order_release);
    walk(&state->lanes[0], frame);
    for (uint32_t i = 1; i < state->num_lanes; i++)
        while (atomic_load_explicit(&state->lanes[i].progress, memory_order_acquire) !=
               frame * state->lanes[i].num_steps)
            relax();
}

static void destroy(void *user)
{
    struct state *state = user;
    atomic_store(&state->stop, true);
    for (uint32_t i = 1; i < state->num_lanes; i++)
        pthread_join(state->lanes[i].thread, NULL);
    for (uint32_t i = 0; i < state->num_lanes; i++)
        free(state->lanes[i].steps);
    free(state->lanes);
    free(state->waits);
    free(state);
}

const struct replay_player replay_floor = {
    .name = "floor",
    .create = create,
    .play = play,
    .destroy = destroy,
};
