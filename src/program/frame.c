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
    const struct work_host *host = user;
    struct inside inside;
    braid_inside_begin(&inside, "a host call", NULL);
    host->call(host->user);
    braid_inside_end(&inside);
}

// Arguments and host calls are addressed where they stand; all else is read.
void braid_frame_resolve(const struct tasks *tasks, struct frame *frame, uint32_t index)
{
    struct backend_task *task = &frame->tasks[index];
    uint64_t offset = tasks->offsets[index];
    if (task->kind == WORK_KERNEL) {
        void **args = (void **)(uintptr_t)task->launch.args;
        for (uint32_t i = 0; i < task->launch.num_args; i++) {
            args[i] = frame->slots[TASK_SLOT_ARGUMENTS] + offset;
            offset += graph_arg_stride(task->launch.arg_bytes[i]);
        }
    } else if (task->kind == WORK_HOST) {
        const struct work_host *host =
            (const struct work_host *)(void *)(frame->slots[TASK_SLOT_WORKS] + offset);
        task->host =
            (struct work_host){ run_host_call, (void *)(uintptr_t)host, host->is_blocking };
    } else if (task->kind != WORK_EMPTY) {
        memcpy(&task->work, frame->slots[TASK_SLOT_WORKS] + offset, sizeof(task->work));
    }
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
        if (task->kind == WORK_KERNEL) {
            task->launch.args = args;
            args += task->launch.num_args;
        }
        braid_frame_resolve(tasks, frame, i);
        if (task->kind != WORK_KERNEL)
            status = prepare(task, frame->backend);
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
