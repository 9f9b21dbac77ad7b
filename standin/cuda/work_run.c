// SPDX-License-Identifier: Apache-2.0
// Doing one piece of device work on the calling thread.
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "../ptx/ptx_run.h"
#include "../standin_control.h"
#include "condition.h"
#include "context.h"
#include "entry.h"
#include "faults.h"
#include "graph_run.h"
#include "island.h"
#include "memory.h"
#include "module.h"
#include "report.h"
#include "semaphore.h"
#include "settings.h"
#include "stamps.h"
#include "work.h"

static void sleep_us(uint64_t microseconds)
{
    struct timespec time = { .tv_sec = (time_t)(microseconds / 1000000),
                             .tv_nsec = (long)(microseconds % 1000000) * 1000 };
    nanosleep(&time, NULL);
}

// A random delay with the mean that was asked for: a fixed one would keep streams in step and so
// hide a missing wait.
static void delay(void)
{
    static atomic_uint_fast64_t count;
    uint64_t mean = setting(SETTING_SLOW_US);
    if (mean == 0)
        return;
    uint64_t state = random_start(atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1);
    sleep_us(random_next(&state) % (2 * mean + 1));
}

static bool healthy(CUcontext context)
{
    world_lock();
    bool result = context->fault == CUDA_SUCCESS;
    world_unlock();
    return result;
}

// Every item that a device would execute starts here. False: the context is poisoned.
static bool start_item(CUcontext context)
{
    delay();
    CUresult injected = faults_count_work();
    world_lock();
    if (injected != CUDA_SUCCESS)
        context_poison(context, injected);
    bool run = context->fault == CUDA_SUCCESS;
    world_unlock();
    return run;
}

static bool may_touch(CUcontext context, const void *memory, size_t bytes, bool staged)
{
    world_lock();
    bool result = memory_touch(context, memory, bytes, staged);
    world_unlock();
    return result;
}

// Little endian: the low bytes come first. The host may read words while a device writes them.
static void store_element(char *to, unsigned value, size_t bytes)
{
    if (bytes == sizeof(value))
        atomic_store_explicit((atomic_uint *)(void *)to, value, memory_order_relaxed);
    else
        memcpy(to, &value, bytes);
}

static void run_fill(CUcontext context, const struct fill *fill)
{
    for (size_t y = 0; y < fill->height; y++) {
        char *row = fill->to + y * fill->pitch;
        if (!may_touch(context, row, fill->width * fill->element_bytes, false))
            return;
        for (size_t x = 0; x < fill->width; x++)
            store_element(row + x * fill->element_bytes, fill->value, fill->element_bytes);
    }
}

// Kernels may read a word while a copy writes it.
static void copy_row(char *to, const char *from, size_t bytes)
{
    bool is_word =
        bytes == sizeof(unsigned) && ((uintptr_t)to | (uintptr_t)from) % sizeof(unsigned) == 0;
    if (is_word)
        store_element(
            to, atomic_load_explicit((const atomic_uint *)(const void *)from, memory_order_relaxed),
            bytes);
    else
        memmove(to, from, bytes);
}

static void run_copy(CUcontext context, const struct copy *copy)
{
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++) {
            char *to = copy->to + z * copy->to_slice + y * copy->to_pitch;
            const char *from = copy->from + z * copy->from_slice + y * copy->from_pitch;
            if (!may_touch(context, to, copy->width, !copy->in_graph) ||
                !may_touch(context, from, copy->width, !copy->in_graph))
                return;
            copy_row(to, from, copy->width);
        }
}

// A pointer argument into freed memory is a fault even where the kernel would not follow it:
// what the kernel itself touches, the stand-in cannot see.
static bool arguments_usable(CUcontext context, const struct kernel_call *call)
{
    const struct CUfunc_st *function = call->function;
    bool usable = true;
    world_lock();
    if (function->module->unloaded) {
        context_poison(context, CUDA_ERROR_ILLEGAL_ADDRESS);
        usable = false;
    }
    for (size_t i = 0; usable && i < function->num_parameters; i++) {
        const void *value = NULL;
        if (function->parameters[i].bytes != sizeof(value))
            continue;
        memcpy(&value, call->arguments + function->parameters[i].offset, sizeof(value));
        usable = memory_touch_argument(context, value);
    }
    world_unlock();
    return usable;
}

static _Thread_local CUresult trap; // the trap of the kernel that this thread runs

void standin_trap(int error)
{
    trap = (CUresult)error;
}

CUresult work_take_trap(void)
{
    CUresult taken = trap;
    trap = CUDA_SUCCESS;
    return taken;
}

// The grid that the body is to see; false: no block of it is left.
static bool find_grid(const struct kernel_call *call, void *const *arguments, unsigned *grid)
{
    memcpy(grid, call->grid, 3 * sizeof(*grid));
    if (!call->function->reads_grid)
        return true;
    const unsigned *words = *(const unsigned *const *)arguments[call->function->num_parameters - 1];
    for (int i = 0; i < 3; i++) {
        unsigned word = i > 0 && !words[1] && !words[2] ? 1 : words[i];
        grid[i] = word < grid[i] ? word : grid[i];
    }
    return grid[0] && grid[1] && grid[2];
}

static _Thread_local CUcontext fetching; // the context of the kernel that runs
static atomic_long fetched;

static void fetch(uint64_t address, uint64_t bytes)
{
    if (may_touch(fetching, (const void *)(uintptr_t)address, bytes, false))
        fetched += (long)bytes;
}

long standin_fetched(void)
{
    return fetched;
}

// The kernel's PTX. What it does wrong is a fault of the context.
static void run_code(CUcontext context, const struct kernel_call *call)
{
    struct text error = { 0 };
    struct grid grid = { .shared_bytes = call->shared_bytes,
                         .arguments = call->arguments,
                         .seed = random_start((uint64_t)(uintptr_t)call),
                         .set_condition = condition_set,
                         .fetch = fetch };
    fetching = context;
    memcpy(grid.grid, call->grid, sizeof(grid.grid));
    memcpy(grid.block, call->block, sizeof(grid.block));
    if (!code_run(call->function->code, &grid, &error)) {
        complain("kernel '%s': %s", call->function->name, error.bytes);
        world_lock();
        context_poison(context, CUDA_ERROR_LAUNCH_FAILED);
        world_unlock();
    }
    text_finish(&error);
}

static void run_kernel(CUcontext context, const struct kernel_call *call)
{
    const struct CUfunc_st *function = call->function;
    void *arguments[MAX_PARAMETERS];
    if (!arguments_usable(context, call))
        return;
    if (function->code != NULL) {
        run_code(context, call);
        return;
    }
    for (size_t i = 0; i < function->num_parameters; i++)
        arguments[i] = call->arguments + function->parameters[i].offset;
    trap = CUDA_SUCCESS;
    unsigned grid[3];
    stamps_begin(function, arguments);
    if (island_is(function))
        island_run(context, function, call->grid, arguments);
    else if (find_grid(call, arguments, grid))
        function->body(grid, call->block, call->shared_bytes, arguments);
    stamps_end(function, arguments);
    if (trap == CUDA_SUCCESS)
        return;
    world_lock();
    context_poison(context, trap);
    world_unlock();
}

static void run_host(CUhostFn call, void *user)
{
    bool before = entry_forbid_calls(true);
    call(user);
    entry_forbid_calls(before);
}

static void run_callback(const struct work *work)
{
    world_lock();
    CUresult status = work->context->fault;
    world_unlock();
    bool before = entry_forbid_calls(true);
    work->callback.call(work->callback.stream, status, work->callback.user);
    entry_forbid_calls(before);
}

static bool value_reached(const struct work *work)
{
    cuuint32_t now = __atomic_load_n((cuuint32_t *)work->value.at, __ATOMIC_ACQUIRE);
    cuuint32_t wanted = work->value.value;
    if (work->value.flags == CU_STREAM_WAIT_VALUE_EQ)
        return now == wanted;
    if (work->value.flags == CU_STREAM_WAIT_VALUE_AND)
        return (now & wanted) != 0;
    return (int32_t)(now - wanted) >= 0;
}

static void wait_for_value(const struct work *work)
{
    while (!value_reached(work) && healthy(work->context))
        sleep_us(50);
}

static void step_semaphore(const struct work *work)
{
    while (
        healthy(work->context) &&
        !semaphore_step(work->semaphore.semaphore, work->semaphore.value, work->semaphore.signals))
        sleep_us(50);
}

static void run_item(const struct work *work)
{
    if (!start_item(work->context))
        return;
    if (work->kind == WORK_FILL)
        run_fill(work->context, &work->fill);
    else if (work->kind == WORK_COPY)
        run_copy(work->context, &work->copy);
    else if (work->kind == WORK_KERNEL)
        run_kernel(work->context, &work->kernel);
    else if (work->kind == WORK_HOST)
        run_host(work->host.call, work->host.user);
    else if (work->kind == WORK_WRITE_VALUE &&
             may_touch(work->context, work->value.at, sizeof(cuuint32_t), false))
        __atomic_store_n((cuuint32_t *)work->value.at, work->value.value, __ATOMIC_RELEASE);
}

static void run_bookkeeping(const struct work *work, struct ticket *ticket)
{
    world_lock();
    if (work->kind == WORK_WAIT)
        ticket_wait(work->ticket);
    else if (work->kind == WORK_EVENT_WAIT)
        ticket_wait(ticket);
    else if (work->kind == WORK_EVENT_RECORD && ticket != NULL)
        ticket_complete(ticket);
    else if (work->kind == WORK_ARRIVE)
        memory_arrive(work->context, work->memory);
    else if (work->kind == WORK_BURY)
        memory_bury(work->memory);
    else if (work->kind == WORK_RESERVED_ARRIVE)
        memory_arrive(work->context, work->reserved.memory);
    else if (work->kind == WORK_RESERVED_BURY &&
             memory_touch(work->context, work->reserved.memory, 1, true))
        memory_bury(work->reserved.memory);
    world_unlock();
}

static void run_child(CUgraph child)
{
    static atomic_uint_fast64_t number;
    graph_run(child, NULL, atomic_fetch_add_explicit(&number, 1, memory_order_relaxed));
}

static unsigned choose_body(const struct work *work)
{
    world_lock();
    unsigned body = condition_body(work->conditional.condition, work->context);
    world_unlock();
    return body;
}

// A branch reads its condition once.
static void run_bodies(const struct work *work)
{
    unsigned body = choose_body(work);
    while (body < work->conditional.num_bodies) {
        run_child(work->conditional.bodies[body]);
        body = work->conditional.is_loop ? choose_body(work) : UINT_MAX;
    }
}

static void run_launch(const struct launch *launch)
{
    world_lock();
    conditions_begin(launch->plan);
    world_unlock();
    graph_run(launch->plan, launch->tickets, launch->number);
}

void work_run(const struct work *work, struct ticket *ticket)
{
    switch (work->kind) {
    case WORK_EMPTY:
        return;
    case WORK_FILL:
    case WORK_COPY:
    case WORK_KERNEL:
    case WORK_HOST:
    case WORK_WRITE_VALUE:
        run_item(work);
        return;
    case WORK_CALLBACK:
        run_callback(work);
        return;
    case WORK_WAIT_VALUE:
        wait_for_value(work);
        return;
    case WORK_SEMAPHORE:
        step_semaphore(work);
        return;
    case WORK_CHILD:
        run_child(work->child);
        return;
    case WORK_CONDITIONAL:
        run_bodies(work);
        return;
    case WORK_LAUNCH:
        run_launch(&work->launch);
        return;
    case WORK_WAIT:
    case WORK_EVENT_RECORD:
    case WORK_EVENT_WAIT:
    case WORK_ARRIVE:
    case WORK_BURY:
    case WORK_RESERVED_ARRIVE:
    case WORK_RESERVED_BURY:
        run_bookkeeping(work, ticket);
        return;
    }
}
