// SPDX-License-Identifier: Apache-2.0
// The pool of stream commands.
#include "backends/cpu/cpu.h"

#include <stdlib.h>

enum { SMALLEST_BYTES = 64 }; // of storage, in class 0

static uint32_t class_of(size_t bytes)
{
    uint32_t size_class = 0;
    while (size_class < CPU_NUM_COMMAND_SIZES && ((size_t)SMALLEST_BYTES << size_class) < bytes)
        size_class++;
    return size_class;
}

static struct cpu_command *allocate(struct cpu_backend *backend, uint32_t size_class)
{
    size_t bytes = sizeof(struct cpu_command) + ((size_t)SMALLEST_BYTES << size_class);
    struct cpu_command *command = aligned_alloc(CPU_LINE_BYTES, bytes);
    if (!command)
        return NULL;
    command->size_class = size_class;
    command->next_of_all = backend->all_commands;
    backend->all_commands = command;
    return command;
}

// The largest class holds 2 MiB, far beyond what any kernel takes; NULL beyond it.
struct cpu_command *cpu_command_create(struct cpu_backend *backend, size_t bytes)
{
    uint32_t size_class = class_of(bytes);
    if (size_class >= CPU_NUM_COMMAND_SIZES)
        return NULL;
    struct cpu_command *command = backend->free_commands[size_class];
    if (command)
        backend->free_commands[size_class] = command->next;
    else
        command = allocate(backend, size_class);
    if (!command)
        return NULL;
    command->next = NULL;
    command->point = NULL;
    command->launch_end = NULL;
    command->program = NULL;
    command->patch = NULL;
    return command;
}

void cpu_command_recycle(struct cpu_backend *backend, struct cpu_command *command)
{
    cpu_point_release(backend, command->point);
    cpu_point_release(backend, command->launch_end);
    command->next = backend->free_commands[command->size_class];
    backend->free_commands[command->size_class] = command;
}

void cpu_commands_finish(struct cpu_backend *backend)
{
    while (backend->all_commands) {
        struct cpu_command *command = backend->all_commands;
        backend->all_commands = command->next_of_all;
        free(command);
    }
}
