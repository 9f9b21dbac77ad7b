// SPDX-License-Identifier: Apache-2.0
// Frames: slots of bytes, and tasks resolved from them.
#include "program/frame.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"

// Arguments are addressed where they stand; all else is read.
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
    case TASK_USER:
        memcpy(task->kind == BACKEND_TASK_HOST ? &task->host.user : &task->native.user, value,
               sizeof(void *));
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
    frame->args = braid_allocate_zeroed(tasks->num_args, sizeof(*frame->args));
    frame->tasks = braid_allocate_zeroed(tasks->num, sizeof(*frame->tasks));
    return allocated && frame->args && frame->tasks;
}

braid_status braid_frame_create(const struct tasks *tasks, struct frame *out_frame)
{
    struct frame frame = { 0 };
    if (!allocate(tasks, &frame)) {
        braid_frame_finish(&frame);
        return braid_error_no_memory("the values of a frame");
    }
    void **args = frame.args;
    for (uint32_t i = 0; i < tasks->num; i++) {
        frame.tasks[i] = tasks->items[i];
        resolve_task(tasks, &frame, i, args);
        if (frame.tasks[i].kind != BACKEND_TASK_KERNEL)
            continue;
        frame.tasks[i].launch.args = args;
        args += frame.tasks[i].launch.num_args;
    }
    *out_frame = frame;
    return BRAID_OK;
}

void braid_frame_finish(struct frame *frame)
{
    for (int i = 0; i < TASK_NUM_SLOTS; i++)
        free(frame->slots[i]);
    free(frame->args);
    free(frame->tasks);
    *frame = (struct frame){ 0 };
}
