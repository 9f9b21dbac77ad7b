// SPDX-License-Identifier: Apache-2.0
// Tasks into work: every kind becomes a function of the form of a CPU kernel, with its arguments.
#include "backends/cpu/cpu.h"

#include <string.h>

enum {
    MAX_ALIGNMENT = 64,     // of an argument's bytes
    PART_BYTES = 256 * 1024 // of a copy or fill, as one block of its grid
};

// What copies, fills and host calls find behind args[0].
struct arguments {
    void *self; // args points here
    void *to;
    const void *from;
    uint64_t bytes;
    uint32_t value, value_bytes;
    braid_host_function *call;
    void *user;
};

static void run_copy(const braid_blocks *blocks, void *const *args)
{
    const struct arguments *copy = args[0];
    uint64_t begin = blocks->begin * PART_BYTES;
    uint64_t end = blocks->end * PART_BYTES;
    if (end > copy->bytes)
        end = copy->bytes;
    memcpy((char *)copy->to + begin, (const char *)copy->from + begin, end - begin);
}

// memcpy, because the memory may hold objects of any type, at any address.
static void fill_2(unsigned char *to, uint16_t value, uint64_t num_values)
{
    for (uint64_t i = 0; i < num_values; i++)
        memcpy(to + i * sizeof(value), &value, sizeof(value));
}

static void fill_4(unsigned char *to, uint32_t value, uint64_t num_values)
{
    for (uint64_t i = 0; i < num_values; i++)
        memcpy(to + i * sizeof(value), &value, sizeof(value));
}

static void run_fill(const braid_blocks *blocks, void *const *args)
{
    const struct arguments *fill = args[0];
    uint64_t begin = blocks->begin * PART_BYTES;
    uint64_t end = blocks->end * PART_BYTES;
    if (end > fill->bytes)
        end = fill->bytes;
    unsigned char *to = (unsigned char *)fill->to + begin;
    uint64_t num_values = (end - begin) / fill->value_bytes;
    if (fill->value_bytes == 4)
        fill_4(to, fill->value, num_values);
    else if (fill->value_bytes == 2)
        fill_2(to, (uint16_t)fill->value, num_values);
    else
        memset(to, (int)(unsigned char)fill->value, num_values);
}

static void run_host(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    const struct arguments *host = args[0];
    host->call(host->user);
}

// The size of a type is a multiple of its alignment, so this is never too small for one that malloc
// could have aligned.
static size_t argument_alignment(size_t bytes)
{
    size_t alignment = bytes & (~bytes + 1);
    return !alignment || alignment > MAX_ALIGNMENT ? MAX_ALIGNMENT : alignment;
}

static unsigned char *align_up(unsigned char *pointer, size_t alignment)
{
    return pointer + (alignment - (uintptr_t)pointer % alignment) % alignment;
}

size_t braid_cpu_task_bytes(const struct backend_task *task)
{
    if (task->kind != WORK_KERNEL)
        return sizeof(struct arguments) + _Alignof(struct arguments);
    const struct backend_launch *launch = &task->launch;
    size_t bytes = _Alignof(void *) + launch->num_args * sizeof(void *);
    for (uint32_t i = 0; i < launch->num_args; i++)
        bytes += launch->arg_bytes[i] + argument_alignment(launch->arg_bytes[i]);
    return bytes;
}

static unsigned char *capture_launch(const struct backend_launch *launch, unsigned char *memory,
                                     struct cpu_work *out_work)
{
    void **pointers = (void **)(void *)align_up(memory, _Alignof(void *));
    memory = (unsigned char *)(pointers + launch->num_args);
    for (uint32_t i = 0; i < launch->num_args; i++) {
        size_t bytes = launch->arg_bytes[i];
        memory = align_up(memory, argument_alignment(bytes));
        memcpy(memory, launch->args[i], bytes);
        pointers[i] = memory;
        memory += bytes;
    }
    uint64_t num_blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    *out_work = (struct cpu_work){
        .blocks = { .end = num_blocks, .grid = launch->grid, .block = launch->block },
        .args = pointers,
    };
    braid_cpu_kernel_fill_work(launch->kernel, out_work);
    return memory;
}

static unsigned char *capture_other(struct arguments arguments, braid_cpu_function *call,
                                    uint64_t bytes, unsigned char *memory,
                                    struct cpu_work *out_work)
{
    memory = align_up(memory, _Alignof(struct arguments));
    struct arguments *stored = (struct arguments *)(void *)memory;
    *stored = arguments;
    stored->self = stored;
    stored->bytes = bytes;
    uint64_t num_parts = bytes ? (bytes - 1) / PART_BYTES + 1 : 1;
    *out_work = (struct cpu_work){
        .call = call,
        .blocks = { .end = num_parts, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } },
        .args = &stored->self,
    };
    return memory + sizeof(*stored);
}

unsigned char *braid_cpu_task_capture(const struct backend_task *task, unsigned char *memory,
                                      struct cpu_work *out_work)
{
    if (task->kind == WORK_KERNEL)
        return capture_launch(&task->launch, memory, out_work);
    if (task->kind == WORK_COPY)
        return capture_other((struct arguments){ .to = task->copy.to, .from = task->copy.from },
                             run_copy, task->copy.bytes, memory, out_work);
    if (task->kind == WORK_FILL)
        return capture_other((struct arguments){ .to = task->fill.to,
                                                 .value = task->fill.value,
                                                 .value_bytes = task->fill.value_bytes },
                             run_fill, task->fill.num_values * task->fill.value_bytes, memory,
                             out_work);
    memory = capture_other((struct arguments){ .call = task->host.call, .user = task->host.user },
                           run_host, 0, memory, out_work);
    out_work->is_blocking = task->host.is_blocking;
    return memory;
}
