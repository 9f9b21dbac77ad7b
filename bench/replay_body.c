// SPDX-License-Identifier: Apache-2.0
// What the nodes of the replay bench run, and the check of their order.
#include <stdatomic.h>
#include <stdlib.h>

#include "replay.h"

struct replay_stamps {
    const struct replay_shape *shape;
    atomic_uint *num_runs; // a node
    atomic_uint num_wrong;
};

static uint64_t run_steps(uint64_t num_steps)
{
    uint64_t value = num_steps;
    for (uint64_t i = 0; i < num_steps; i++) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(value)); // keep every step
    }
    return value;
}

static void stamp(struct replay_stamps *stamps, uint32_t node)
{
    const struct replay_shape *shape = stamps->shape;
    unsigned frame = atomic_fetch_add(&stamps->num_runs[node], 1) + 1;
    for (uint32_t i = shape->first_edge[node]; i < shape->first_edge[node + 1]; i++)
        if (atomic_load(&stamps->num_runs[shape->edges[i]]) != frame)
            atomic_fetch_add(&stamps->num_wrong, 1);
}

// A core runs dependent steps beside whatever else it finds, so that short bodies seem to cost
// less.
static void keep_apart(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

void replay_run_body(const struct replay_body *body, uint32_t node)
{
    if (body->is_apart)
        keep_apart();
    if (body->num_steps)
        run_steps(body->num_steps);
    if (body->is_apart)
        keep_apart();
    if (body->stamps)
        stamp(body->stamps, node);
}

// The fastest of many runs: the machine is shared, and nothing makes a run too fast.
static double measure_step_ns(void)
{
    enum { STEPS = 20000 };
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 300; i++) {
        uint64_t start = replay_now_ns();
        run_steps(STEPS);
        uint64_t ns = replay_now_ns() - start;
        least = ns < least ? ns : least;
    }
    return (double)least / STEPS;
}

struct replay_body replay_body_create(uint64_t ns)
{
    static double step_ns;
    if (step_ns <= 0)
        step_ns = measure_step_ns();
    return (struct replay_body){ .num_steps = (uint64_t)((double)ns / step_ns), .cost_ns = ns };
}

struct replay_stamps *replay_stamps_create(const struct replay_shape *shape)
{
    struct replay_stamps *stamps = replay_allocate(1, sizeof(*stamps));
    stamps->shape = shape;
    stamps->num_runs = replay_allocate(shape->num_nodes, sizeof(*stamps->num_runs));
    return stamps;
}

bool replay_stamps_are_right(struct replay_stamps *stamps, uint32_t num_frames)
{
    for (uint32_t i = 0; i < stamps->shape->num_nodes; i++)
        if (atomic_load(&stamps->num_runs[i]) != num_frames)
            return false;
    return atomic_load(&stamps->num_wrong) == 0;
}

void replay_stamps_destroy(struct replay_stamps *stamps)
{
    free(stamps->num_runs);
    free(stamps);
}
