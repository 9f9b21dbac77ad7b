// SPDX-License-Identifier: Apache-2.0
// Loops: the thread that ends an iteration begins the next one, or goes on behind the loop. An arm
// of a branch is a loop of at most one iteration.
#include "backends/cpu/walker/walker.h"

static uint64_t get(const struct cpu_program *body, enum iterations which)
{
    return atomic_load_explicit(&body->iterations[which], memory_order_relaxed);
}

// One thread at a time sets them.
static void set(struct cpu_program *body, enum iterations which, uint64_t num)
{
    atomic_store_explicit(&body->iterations[which], num, memory_order_relaxed);
}

static void count(struct cpu_program *body)
{
    if (body->profile)
        braid_cpu_profile_tally(body);
    set(body, ITERATIONS_SINCE_ENTRY, get(body, ITERATIONS_SINCE_ENTRY) + 1);
    if (!body->is_else)
        set(body, ITERATIONS_OF_FRAME, get(body, ITERATIONS_OF_FRAME) + 1);
}

// Counts of a frame go on in loops inside when the loop around them does.
static void clear_counts(struct cpu_program *body)
{
    set(body, ITERATIONS_OF_FRAME, 0);
    if (body->profile)
        braid_cpu_profile_clear(body);
    for (uint32_t i = 0; i < body->num_bodies; i++)
        clear_counts(body->bodies[i]);
}

static void enter(struct cpu_program *body, const struct cpu_step *step)
{
    body->is_entered = true;
    set(body, ITERATIONS_SINCE_ENTRY, 0);
    if (body->around->around)
        return;
    clear_counts(step->body);
    if (step->body->other)
        clear_counts(step->body->other);
}

// Finds the arm of a branch that has been entered, or else the one that the condition says.
static struct cpu_program *find_body(const struct cpu_step *step, const struct work_loop *loop)
{
    struct cpu_program *body = step->body, *other = body->other;
    if (!other || body->is_entered)
        return body;
    bool is_other = other->is_entered || !*(const volatile uint32_t *)loop->condition;
    return is_other ? other : body;
}

// The body's writes are seen: its last lane has ended.
static bool goes_on(const struct cpu_program *body, const struct work_loop *loop)
{
    if (note_is_cancelled(body->cancelled))
        return false;
    uint64_t num_run = get(body, ITERATIONS_SINCE_ENTRY);
    bool tests = loop->condition && !body->is_else && (num_run > 0 || loop->tests_first);
    return num_run < loop->most && (!tests || *(const volatile uint32_t *)loop->condition);
}

struct cpu_job *braid_cpu_loop_go_on(struct cpu_backend *backend, struct cpu_lane *lane,
                                     const struct cpu_step *step)
{
    const struct work_loop *loop = braid_cpu_task_loop(step->args);
    struct cpu_program *body = find_body(step, loop);
    if (body->is_entered)
        count(body);
    else
        enter(body, step);
    while (goes_on(body, loop)) {
        lane->next = step;
        atomic_store_explicit(&lane->walked, false, memory_order_relaxed);
        struct cpu_job *next = body->play.start(backend, &body->play, NULL, &lane->job);
        if (next)
            return next;
        count(body); // nothing in it has any work
    }
    body->is_entered = false;
    atomic_store_explicit(&lane->walked, true, memory_order_relaxed);
    return NULL;
}
