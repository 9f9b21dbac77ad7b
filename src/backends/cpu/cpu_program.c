// SPDX-License-Identifier: Apache-2.0
// Programs: creating, launching and freeing them.
#include "backends/cpu/cpu_program.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/node_text.h"

static braid_status refuse_native_tasks(const struct backend_plan *plan)
{
    for (uint32_t i = 0; i < plan->num_tasks; i++)
        if (plan->tasks[i].kind == BACKEND_TASK_NATIVE)
            return braid_error(BRAID_UNSUPPORTED,
                               "cpu: node %s is a native call, which needs a stream to queue on",
                               braid_node_text(plan->tasks[i].node, plan->tasks[i].name).text);
    return BRAID_OK;
}

static void *allocate_lines(size_t num, size_t bytes)
{
    // Sizes of types with line alignment are multiples of it, as aligned_alloc asks.
    if (num > SIZE_MAX / bytes)
        return NULL;
    return aligned_alloc(CPU_LINE_BYTES, num ? num * bytes : bytes);
}

static bool allocate_lanes(const struct backend_plan *plan, struct backend_program *program)
{
    program->lanes = allocate_lines(plan->num_lanes, sizeof(*program->lanes));
    if (!program->lanes)
        return false;
    for (uint32_t i = 0; i < plan->num_lanes; i++)
        program->lanes[i] = (struct cpu_lane){ 0 };
    return true;
}

static bool allocate_arguments(const struct backend_plan *plan, struct backend_program *program)
{
    size_t arena_bytes = 0, num_sizes = 0;
    for (uint32_t i = 0; i < plan->num_tasks; i++) {
        const struct backend_task *task = &plan->tasks[i];
        arena_bytes += braid_cpu_task_bytes(task);
        if (task->kind == BACKEND_TASK_KERNEL)
            num_sizes += task->launch.num_args;
    }
    program->arena = malloc(arena_bytes ? arena_bytes : 1);
    program->argument_bytes = braid_allocate_zeroed(num_sizes, sizeof(*program->argument_bytes));
    program->arguments = braid_allocate_zeroed(plan->num_tasks, sizeof(*program->arguments));
    return program->arena && program->argument_bytes && program->arguments;
}

static void keep_argument_sizes(const struct backend_launch *launch, void *const *pointers,
                                uint32_t *sizes, struct cpu_arguments *out_arguments)
{
    for (uint32_t i = 0; i < launch->num_args; i++)
        sizes[i] = launch->arg_bytes[i];
    *out_arguments =
        (struct cpu_arguments){ .pointers = pointers, .bytes = sizes, .num = launch->num_args };
}

// Tasks are captured in the order of the lanes' steps, so that a walk reads memory in order.
static void capture_tasks(const struct backend_plan *plan, struct backend_program *program,
                          struct cpu_work *works)
{
    unsigned char *memory = program->arena;
    uint32_t *sizes = program->argument_bytes;
    for (uint32_t i = 0; i < plan->num_lanes; i++) {
        for (size_t j = 0; j < plan->lanes[i].num_steps; j++) {
            const struct backend_step *step = &plan->lanes[i].steps[j];
            if (step->kind != BRAID_STEP_RUN)
                continue;
            const struct backend_task *task = &plan->tasks[step->index];
            struct cpu_work *work = &works[step->index];
            if (task->kind == BACKEND_TASK_EMPTY)
                continue;
            memory = braid_cpu_task_capture(task, memory, work);
            if (task->kind != BACKEND_TASK_KERNEL)
                continue;
            keep_argument_sizes(&task->launch, work->args, sizes, &program->arguments[step->index]);
            sizes += task->launch.num_args;
        }
    }
}

static braid_status fill_program(const struct cpu_backend *backend, const struct backend_plan *plan,
                                 struct backend_program *program)
{
    if (!allocate_lanes(plan, program) || !allocate_arguments(plan, program))
        return braid_error_no_memory("a program");
    struct cpu_work *works = braid_allocate_zeroed(plan->num_tasks, sizeof(*works));
    if (!works)
        return braid_error_no_memory("a program");
    capture_tasks(plan, program, works);
    braid_status status = braid_cpu_program_compile(backend, plan, works, program);
    free(works);
    return status;
}

// Half-built programs included.
static void free_program(struct backend_program *program)
{
    braid_cpu_program_await_polls(program);
    braid_cpu_patches_finish(program);
    pthread_mutex_destroy(&program->patch_lock);
    free(program->lanes);
    free(program->active);
    free(program->steps);
    free(program->blocks);
    free(program->works);
    free(program->arena);
    free(program->argument_bytes);
    free(program->arguments);
    free(program);
}

braid_status braid_cpu_program_create(struct backend *base, const struct backend_plan *plan,
                                      struct backend_program **out_program)
{
    braid_status status = refuse_native_tasks(plan);
    if (status != BRAID_OK)
        return status;
    struct backend_program *program = allocate_lines(1, sizeof(*program));
    if (!program)
        return braid_error_no_memory("a program");
    *program = (struct backend_program){ 0 };
    pthread_mutex_init(&program->patch_lock, NULL);
    status = fill_program(cpu_backend_of(base), plan, program);
    if (status != BRAID_OK) {
        free_program(program);
        return status;
    }
    *out_program = program;
    return BRAID_OK;
}

// The command waits for the launch before, wherever that was queued, and makes a point of its own
// for the next one. Both locks held.
static braid_status append_launch(struct cpu_backend *backend, struct backend_program *program,
                                  struct backend_stream *stream)
{
    struct cpu_point *end = braid_cpu_point_create(backend, false);
    struct cpu_command *command = end ? braid_cpu_command_create(backend, 0) : NULL;
    if (!command) {
        braid_cpu_point_release(backend, end);
        return braid_error_no_memory("a launch");
    }
    command->kind = CPU_COMMAND_LAUNCH;
    command->program = program;
    command->point = program->last_end;
    command->launch_end = end;
    command->patch = program->pending;
    program->pending = NULL;
    program->last_end = end;
    end->num_references++;
    braid_cpu_stream_append(backend, stream, command);
    return BRAID_OK;
}

braid_status braid_cpu_program_launch(struct backend *base, struct backend_program *program,
                                      struct backend_stream *stream)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    stream = braid_cpu_stream_or_default(backend, stream);
    pthread_mutex_lock(&program->patch_lock);
    cpu_lock(backend);
    braid_status status = append_launch(backend, program, stream);
    cpu_unlock(backend);
    pthread_mutex_unlock(&program->patch_lock);
    return status;
}

void braid_cpu_program_destroy(struct backend *base, struct backend_program *program)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    if (!program)
        return;
    cpu_lock(backend);
    braid_cpu_point_release(backend, program->last_end);
    cpu_unlock(backend);
    free_program(program);
}
