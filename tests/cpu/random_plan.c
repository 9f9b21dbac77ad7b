// SPDX-License-Identifier: Apache-2.0
// Random plans for the CPU's lane walker, whose tasks check what the walker did.
#include "cpu/random_plan.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { MAX_STEPS = PLAN_MAX_TASKS * 8 };

// Frames of one program do not overlap, so in frame f a task that must have ended has run its
// blocks f times, and one that starts has run them f - 1 times.
static void start_blocks(struct planned_task *task, uint32_t num_blocks)
{
    struct random_plan *plan = task->plan;
    unsigned started = atomic_fetch_add(&task->num_started, num_blocks);
    unsigned frame = started / task->num_blocks + 1;
    for (uint32_t i = 0; i < plan->plan.num_tasks; i++)
        if (task->before >> i & 1 &&
            atomic_load(&plan->tasks[i].num_ended) < frame * plan->tasks[i].num_blocks)
            atomic_fetch_add(&task->num_early, 1);
}

void random_plan_kernel(const braid_blocks *blocks, void *const *args)
{
    struct planned_task *task = *(struct planned_task **)args[0];
    uint32_t num_blocks = (uint32_t)(blocks->end - blocks->begin);
    start_blocks(task, num_blocks);
    for (volatile uint32_t i = 0; i < num_blocks * 20; i++)
        continue;
    atomic_fetch_add(&task->num_ended, num_blocks);
}

static void run_host_task(void *user)
{
    struct planned_task *task = user;
    start_blocks(task, 1);
    atomic_fetch_add(&task->num_ended, 1);
}

static void make_task(struct random_plan *plan, struct random *random, uint32_t index,
                      struct backend_kernel *kernel)
{
    struct planned_task *task = &plan->tasks[index];
    struct backend_task *made = &plan->backend_tasks[index];
    task->plan = plan;
    task->num_blocks = 1;
    made->name = "task";
    uint32_t kind = random_below(random, 10);
    if (kind == 0) {
        made->kind = WORK_EMPTY;
        return;
    }
    if (kind == 1) {
        made->kind = WORK_HOST;
        made->host.call = run_host_task;
        made->host.user = task;
        return;
    }
    if (kind <= 3)
        task->num_blocks = 1 + random_below(random, PLAN_MAX_BLOCKS);
    static const uint32_t bytes[] = { sizeof(void *) };
    plan->arguments[index] = task;
    plan->argument_pointers[index] = &plan->arguments[index];
    made->kind = WORK_KERNEL;
    made->launch = (struct backend_launch){ .kernel = kernel,
                                            .grid = { task->num_blocks, 1, 1 },
                                            .block = { 1, 1, 1 },
                                            .num_args = 1,
                                            .args = &plan->argument_pointers[index],
                                            .arg_bytes = bytes };
}

static void add_step(struct random_plan *plan, uint32_t lane, braid_step_kind kind, uint32_t index)
{
    struct hand_lane *to = &plan->lanes[lane];
    assert_true(to->num_steps < MAX_STEPS);
    plan->steps[lane][to->num_steps++] = (struct hand_step){ .kind = kind, .index = index };
}

// Record i is the end of task i. Some are waited for more than once, some not at all.
static void add_task(struct random_plan *plan, struct random *random, uint32_t index,
                     const uint32_t *lane_of, uint32_t *last_of_lane)
{
    uint64_t before = 0;
    uint32_t lane = lane_of[index];
    uint32_t last = last_of_lane[lane];
    if (last != UINT32_MAX)
        before |= plan->tasks[last].before | (uint64_t)1 << last;
    for (uint32_t i = 0; i < 3 && index; i++) {
        uint32_t other = random_below(random, index);
        if (lane_of[other] == lane || random_chance(random, 30))
            continue;
        add_step(plan, lane, BRAID_STEP_WAIT, other);
        before |= plan->tasks[other].before | (uint64_t)1 << other;
    }
    plan->tasks[index].before = before;
    add_step(plan, lane, BRAID_STEP_RUN, index);
    add_step(plan, lane, BRAID_STEP_RECORD, index);
    last_of_lane[lane] = index;
}

// Empty tasks never run, so nobody may expect them to have ended.
static void drop_empty_tasks(struct random_plan *plan)
{
    uint64_t empty = 0;
    for (uint32_t i = 0; i < plan->plan.num_tasks; i++)
        if (plan->backend_tasks[i].kind == WORK_EMPTY)
            empty |= (uint64_t)1 << i;
    for (uint32_t i = 0; i < plan->plan.num_tasks; i++)
        plan->tasks[i].before &= ~empty;
}

void random_plan_create(struct random_plan *plan, uint64_t seed, struct backend_kernel *kernel)
{
    struct random random = { seed };
    memset(plan, 0, sizeof(*plan));
    plan->plan.num_lanes = 1 + random_below(&random, PLAN_MAX_LANES);
    plan->plan.num_tasks = 1 + random_below(&random, PLAN_MAX_TASKS);
    plan->plan.num_records = plan->plan.num_tasks;
    plan->plan.lanes = plan->lanes;
    plan->plan.tasks = plan->backend_tasks;
    for (uint32_t i = 0; i < plan->plan.num_lanes; i++) {
        plan->steps[i] = calloc(MAX_STEPS, sizeof(*plan->steps[i]));
        assert_non_null(plan->steps[i]);
        plan->lanes[i].steps = plan->steps[i];
    }
    uint32_t lane_of[PLAN_MAX_TASKS], last_of_lane[PLAN_MAX_LANES];
    memset(last_of_lane, 0xff, sizeof(last_of_lane));
    for (uint32_t i = 0; i < plan->plan.num_tasks; i++) {
        lane_of[i] = random_below(&random, plan->plan.num_lanes);
        make_task(plan, &random, i, kernel);
        add_task(plan, &random, i, lane_of, last_of_lane);
    }
    drop_empty_tasks(plan);
}

void random_plan_destroy(struct random_plan *plan)
{
    for (uint32_t i = 0; i < plan->plan.num_lanes; i++)
        free(plan->steps[i]);
}

bool random_plan_is_right(const struct random_plan *plan, unsigned num_frames)
{
    for (uint32_t i = 0; i < plan->plan.num_tasks; i++) {
        const struct planned_task *task = &plan->tasks[i];
        bool empty = plan->backend_tasks[i].kind == WORK_EMPTY;
        unsigned wanted = empty ? 0 : num_frames * task->num_blocks;
        if (atomic_load(&task->num_early) || atomic_load(&task->num_started) != wanted ||
            atomic_load(&task->num_ended) != wanted)
            return false;
    }
    return true;
}
