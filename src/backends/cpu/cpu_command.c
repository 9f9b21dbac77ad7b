// SPDX-License-Identifier: Apache-2.0
// The pool of stream commands.
#include "backends/cpu/cpu.h"

enum { SMALLEST_BYTES = 64 }; // of storage, in class 0

static uint32_t class_of(size_t bytes)
{
    uint32_t size_class = 0;
    while (size_class < CPU_NUM_COMMAND_SIZES && ((size_t)SMALLEST_BYTES << size_class) < bytes)
        size_class++;
    return size_class;
}

static void recycle(struct cpu_backend *backend, struct cpu_command *command)
{
    command->next = backend->free_commands[command->size_class];
    backend->free_commands[command->size_class] = command;
}

// Doubles the class, so that the few more that a longer queue takes are usually there already.
static bool grow(struct cpu_backend *backend, uint32_t size_class)
{
    size_t bytes = sizeof(struct cpu_command) + ((size_t)SMALLEST_BYTES << size_class);
    size_t num = braid_cpu_slab_items(backend->num_commands[size_class], bytes);
    unsigned char *items = braid_cpu_slab_create(backend, num, bytes);
    if (!items)
        return false;
    for (size_t i = 0; i < num; i++) {
        struct cpu_command *command = (struct cpu_command *)(void *)(items + i * bytes);
        command->size_class = size_class;
        recycle(backend, command);
    }
    backend->num_commands[size_class] += num;
    return true;
}

// The largest class holds 128 GiB, so memory is the only limit; NULL beyond it.
struct cpu_command *braid_cpu_command_create(struct cpu_backend *backend, size_t bytes)
{
    uint32_t size_class = class_of(bytes);
    if (size_class >= CPU_NUM_COMMAND_SIZES)
        return NULL;
    if (!backend->free_commands[size_class] && !grow(backend, size_class))
        return NULL;
    struct cpu_command *command = backend->free_commands[size_class];
    backend->free_commands[size_class] = command->next;
    command->next = NULL;
    command->point = NULL;
    command->launch_end = NULL;
    command->play = NULL;
    command->patch = NULL;
    return command;
}

void braid_cpu_command_recycle(struct cpu_backend *backend, struct cpu_command *command)
{
    braid_cpu_point_release(backend, command->point);
    braid_cpu_point_release(backend, command->launch_end);
    recycle(backend, command);
}
