// SPDX-License-Identifier: Apache-2.0
// Frames: slots of bytes, and tasks resolved from them.
#include "program/frame.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/inside.h"
#include "base/node_text.h"

// Stands for the program's host calls, so that what they must not do is known as theirs.
static void run_host_call(void *user)
{
    const struct graph_host *host = user;
    struct inside inside;
    braid_inside_begin(&inside, "a host call", NULL);
    host->call(host->user);
    braid_inside_end(&inside);
}

// Arguments and host calls are addressed where they stand; all else is read.
static void resolve(const struct task_binding *binding, const struct frame *frame, void **args,
                    struct backend_task *task)
{
    unsigned char *value = frame->slots[binding->slot] + binding->offset;
    switch ((enum task_field)binding->field) {
    case TASK_ARGUMENT:
        args[binding->index] = value;
        break;
    case TASK_GRID:
        memcpy(&task->launch.grid, value, sizeof(task->launch.grid));
        break;
    case TASK_COPY_TO:
        memcpy(&task->copy.to, value, sizeof(task->copy.to));
        break;
    case TASK_COPY_FROM:
        memcpy(&task->copy.from, value, sizeof(task->copy.from));
        break;
    case TASK_COPY_BYTES:
        memcpy(&task->copy.bytes, value, sizeof(task->copy.bytes));
        break;
    case TASK_FILL_TO:
        memcpy(&task->fill.to, value, sizeof(task->fill.to));
        break;
    case TASK_FILL_VALUE:
        memcpy(&task->fill.value, value, sizeof(task->fill.value));
        break;
    case TASK_HOST_CALL:
        task->host.call = run_host_call;
        task->host.user = value;
        break;
    case TASK_USER:
        memcpy(&task->native.user, value, sizeof(task->native.user));
        break;
    }
}

static void resolve_task(const struct tasks *tasks, struct frame *frame, uint32_t index,
                         void **args)
{
    for (uint32_t i = tasks->first_binding[index]; i < tasks->first_binding[index + 1]; i++)
        resolve(&tasks->bindings[i], frame, args, &frame->tasks[index]);
}

void braid_frame_resolve(const struct tasks *tasks, struct frame *frame, uint32_t task)
{
    resolve_task(tasks, frame, task, (void **)(uintptr_t)frame->tasks[task].launch.args);
}

static bool allocate(const struct tasks *tasks, struct frame *frame)
{
    bool allocated = true;
    for (int i = 0; i < TASK_NUM_SLOTS; i++) {
        frame->slots[i] = braid_allocate_zeroed(tasks->num_slot_bytes[i], 1);
        if (frame->slots[i] && tasks->num_slot_bytes[i])
            memcpy(frame->slots[i], tasks->slot_bytes[i], tasks->num_slot_bytes[i]);
        allocated = allocated && frame->slots[i];
    }
    frame->backend = tasks->backend;
    frame->num_tasks = tasks->num;
    frame->args = braid_allocate_zeroed(tasks->num_args, sizeof(*frame->args));
    frame->tasks = braid_allocate_zeroed(tasks->num, sizeof(*frame->tasks));
    return allocated && frame->args && frame->tasks;
}

static void write_addresses(const struct tasks *tasks, unsigned char *arena, struct frame *frame)
{
    for (uint32_t i = 0; i < tasks->num_addresses; i++) {
        const struct task_address *address = &tasks->addresses[i];
        void *value = arena + address->arena_offset;
        memcpy(frame->slots[address->slot] + address->offset, &value, sizeof(value));
    }
}

// What a backend does otherwise with a copy depends on the memory, which is the frame's own.
static braid_status prepare(struct backend_task *task, struct backend *backend)
{
    if (!backend || !backend->ops->task_prepare)
        return BRAID_OK;
    braid_status status = backend->ops->task_prepare(backend, task);
    if (status)
        return braid_error(status, "node %s: %s", braid_node_text(task->node, task->name).text,
                           braid_error_message());
    return BRAID_OK;
}

static braid_status fill(const struct tasks *tasks, struct frame *frame)
{
    void **args = frame->args;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < tasks->num && !status; i++) {
        struct backend_task *task = &frame->tasks[i];
        *task = tasks->items[i];
        resolve_task(tasks, frame, i, args);
        if (task->kind == BACKEND_TASK_KERNEL) {
            task->launch.args = args;
            args += task->launch.num_args;
        } else {
            status = prepare(task, frame->backend);
        }
    }
    return status;
}

braid_status braid_frame_create(const struct tasks *tasks, unsigned char *arena,
                                struct frame *out_frame)
{
    struct frame frame = { 0 };
    braid_status status = BRAID_OK;
    if (!allocate(tasks, &frame))
        status = braid_error_no_memory("the values of a frame");
    if (!status) {
        write_addresses(tasks, arena, &frame);
        status = fill(tasks, &frame);
    }
    if (status)
        braid_frame_finish(&frame);
    else
        *out_frame = frame;
    return status;
}

void braid_frame_finish(struct frame *frame)
{
    for (uint32_t i = 0; frame->tasks && i < frame->num_tasks; i++) {
        if (frame->tasks[i].detour)
            frame->backend->ops->task_finish(frame->backend, &frame->tasks[i]);
    }
    for (int i = 0; i < TASK_NUM_SLOTS; i++)
        free(frame->slots[i]);
    free(frame->args);
    free(frame->tasks);
    *frame = (struct frame){ 0 };
}
