// SPDX-License-Identifier: Apache-2.0
// Random plans for the CPU's lane walker, whose tasks check what the walker did.
#ifndef BRAID_TESTS_RANDOM_PLAN_H
#define BRAID_TESTS_RANDOM_PLAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/backend.h"
#include "support/hand_program.h"
#include "support/random.h"

enum { PLAN_MAX_TASKS = 48, PLAN_MAX_LANES = 6, PLAN_MAX_BLOCKS = 200 };

// What a task's run leaves behind.
struct planned_task {
    struct random_plan *plan;
    uint64_t before; // bit i: task i must have ended before this one starts
    uint32_t num_blocks;
    atomic_uint num_started, num_ended; // blocks, over all frames
    atomic_uint num_early;              // blocks that started before a task that must have ended
};

// Each frame runs every task once. Tasks are kernels (some with many blocks), host calls and empty
// ones; every ordering of the plan is made by lane order and by records and waits.
struct random_plan {
    struct hand_plan plan;
    struct planned_task tasks[PLAN_MAX_TASKS];
    struct backend_task backend_tasks[PLAN_MAX_TASKS];
    struct hand_lane lanes[PLAN_MAX_LANES];
    struct hand_step *steps[PLAN_MAX_LANES];
    void *arguments[PLAN_MAX_TASKS];
    void *argument_pointers[PLAN_MAX_TASKS];
};

// Fills a plan that must stay where it is. `kernel` must run random_plan_kernel.
void random_plan_create(struct random_plan *plan, uint64_t seed, struct backend_kernel *kernel);
void random_plan_destroy(struct random_plan *plan);
void random_plan_kernel(const braid_blocks *blocks, void *const *args);

// True if all tasks ran once in each of so many frames, each after all that it must follow.
bool random_plan_is_right(const struct random_plan *plan, unsigned num_frames);

#endif
