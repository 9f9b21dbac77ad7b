// SPDX-License-Identifier: Apache-2.0
// Frames: slots of bytes, and tasks resolved from them.
#include "program/frame.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/node_text.h"

// Arguments are addressed where they stand; all else is read.
static void read_work(const struct tasks *tasks, const struct frame *frame,
                      struct backend_task *task)
{
    memcpy(&task->work, frame->slots[TASK_SLOT_WORKS] + tasks->offsets[task->node],
           sizeof(task->work));
}

static void read_args(const struct tasks *tasks, struct frame *frame, struct backend_task *task)
{
    uint64_t offset = tasks->offsets[task->node];
    void **args = (void **)(uintptr_t)task->launch.args;
    for (uint32_t i = 0; i < task->launch.num_args; i++) {
        args[i] = frame->slots[TASK_SLOT_ARGUMENTS] + offset;
        offset += graph_arg_stride(task->launch.arg_bytes[i]);
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
    frame->places = tasks->places;
    frame->args = braid_allocate_zeroed(tasks->num_args, sizeof(*frame->args));
    frame->tasks = braid_allocate_zeroed(tasks->num, sizeof(*frame->tasks));
    return allocated && frame->args && frame->tasks;
}

static void write_addresses(const struct tasks *tasks, unsigned char *const *arenas,
                            struct frame *frame)
{
    for (uint32_t i = 0; i < tasks->num_addresses; i++) {
        const struct task_address *address = &tasks->addresses[i];
        void *value = arenas[address->place] + address->arena_offset;
        memcpy(frame->slots[address->slot] + address->offset, &value, sizeof(value));
    }
}

static void write_versions(const struct tasks *tasks, uint64_t number, struct frame *frame)
{
    for (uint32_t i = 0; i < tasks->num_versions; i++) {
        const struct task_version *version = &tasks->versions[i];
        const void *value = frame_version(tasks, version, number);
        memcpy(frame->slots[version->slot] + version->offset, &value, sizeof(value));
    }
}

// What a backend does otherwise with a copy depends on the memory, which is the frame's own.
static braid_status prepare(const struct frame *frame, struct backend_task *task)
{
    struct backend *backend = places_backend(frame->places, frame->backend, task->place);
    if (!backend || !backend->ops->task_prepare)
        return BRAID_OK;
    braid_status status = backend->ops->task_prepare(backend, task);
    if (status)
        return braid_error(status, "node %s: %s", braid_node_text(task->node, task->name).text,
                           braid_error_message());
    return BRAID_OK;
}

static braid_status fill_task(const struct tasks *tasks, struct frame *frame,
                              struct backend_task *task)
{
    if (task->kind == WORK_KERNEL) {
        read_args(tasks, frame, task);
        return BRAID_OK;
    }
    if (task->kind == WORK_EMPTY)
        return BRAID_OK;
    read_work(tasks, frame, task);
    if (task->kind != WORK_HOST)
        return prepare(frame, task);
    braid_status status = braid_host_call_put(&frame->host_calls, task->host, 0, task);
    if (status)
        return status;
    status = prepare(frame, task);
    if (status)
        braid_host_call_discard(task);
    return status;
}

static braid_status fill(const struct tasks *tasks, struct frame *frame)
{
    void **args = frame->args;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < tasks->num && !status; i++) {
        struct backend_task *task = &frame->tasks[i];
        *task = tasks->items[i];
        task->node = i;
        if (task->kind == WORK_KERNEL) {
            task->launch.args = args;
            args += task->launch.num_args;
        }
        status = fill_task(tasks, frame, task);
        frame->num_tasks += !status;
    }
    return status;
}

braid_status braid_frame_create(const struct tasks *tasks, unsigned char *const *arenas,
                                uint64_t number, struct frame *out_frame)
{
    struct frame frame = { 0 };
    braid_status status = BRAID_OK;
    if (!allocate(tasks, &frame))
        status = braid_error_no_memory("the values of a frame");
    if (!status) {
        write_addresses(tasks, arenas, &frame);
        write_versions(tasks, number, &frame);
        status = fill(tasks, &frame);
    }
    if (status)
        braid_frame_finish(&frame);
    else
        *out_frame = frame;
    return status;
}

static void finish_detour(const struct frame *frame, struct backend_task *task)
{
    struct backend *backend = places_backend(frame->places, frame->backend, task->place);
    backend->ops->task_finish(backend, task);
}

// Of a task that no frame uses.
static void finish_task(struct frame *frame, struct backend_task *task)
{
    if (task->detour)
        finish_detour(frame, task);
    if (task->kind == WORK_HOST)
        braid_host_call_discard(task);
}

void braid_frame_finish(struct frame *frame)
{
    braid_frame_free_replaced(frame, frame->num_replaced);
    for (uint32_t i = 0; frame->tasks && i < frame->num_tasks; i++)
        finish_task(frame, &frame->tasks[i]);
    free(frame->replaced);
    free(frame->changed_at);
    braid_host_calls_finish(&frame->host_calls);
    for (int i = 0; i < TASK_NUM_SLOTS; i++)
        free(frame->slots[i]);
    free(frame->args);
    free(frame->tasks);
    *frame = (struct frame){ 0 };
}

void braid_frame_free_replaced(struct frame *frame, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++)
        finish_detour(frame, &frame->replaced[i]);
    frame->num_replaced -= num;
    for (uint32_t i = 0; num && i < frame->num_replaced; i++)
        frame->replaced[i] = frame->replaced[i + num];
}

static braid_status refuse(const struct backend_task *task, const char *what)
{
    return braid_error(BRAID_INVALID_ARGUMENT, "node %s: %s",
                       braid_node_text(task->node, task->name).text, what);
}

static braid_status check_room(const struct backend_task *task, uint64_t bytes, uint64_t room)
{
    if (!room || bytes <= room)
        return BRAID_OK;
    return braid_error(BRAID_INVALID_ARGUMENT,
                       "node %s: %llu bytes end beyond the %llu of a resource",
                       braid_node_text(task->node, task->name).text, (unsigned long long)bytes,
                       (unsigned long long)room);
}

// An end that moves is no longer that of its resource.
static braid_status check_copy(struct backend_task *task, const struct work_copy *old)
{
    struct work_copy *copy = &task->copy;
    if (!copy->to || !copy->from)
        return refuse(task, copy->to ? "a copy from NULL" : "a copy to NULL");
    if (copy->bytes == 0)
        return refuse(task, "a copy of 0 bytes: to do nothing, disable the node");
    copy->to_room = copy->to == old->to ? copy->to_room : 0;
    copy->from_room = copy->from == old->from ? copy->from_room : 0;
    braid_status status = check_room(task, copy->bytes, copy->to_room);
    return status ? status : check_room(task, copy->bytes, copy->from_room);
}

static braid_status check_fill(struct backend_task *task, const struct work_fill *old)
{
    struct work_fill *fill = &task->fill;
    if (!fill->to)
        return refuse(task, "a fill of NULL");
    if (fill->num_values == 0 || fill->num_values > UINT64_MAX / 4)
        return refuse(task, "a fill of no values, or of too many: to do nothing, disable the node");
    fill->to_room = fill->to == old->to ? fill->to_room : 0;
    return check_room(task, fill->num_values * fill->value_bytes, fill->to_room);
}

static braid_status check_grid(const struct backend_task *task)
{
    const struct backend_launch *launch = &task->launch;
    if (braid_grid_fits(launch->grid, launch->block))
        return BRAID_OK;
    return braid_error(BRAID_INVALID_ARGUMENT, "node %s: a grid of %ux%ux%u blocks",
                       braid_node_text(task->node, task->name).text, launch->grid.x, launch->grid.y,
                       launch->grid.z);
}

// For every task, since a change of several settles when all are made.
static braid_status make_room_to_replace(struct frame *frame)
{
    uint64_t wanted = (uint64_t)frame->num_replaced + frame->num_tasks;
    if (!frame->changed_at)
        frame->changed_at = braid_allocate_zeroed(frame->num_tasks, sizeof(*frame->changed_at));
    if (!frame->changed_at)
        return braid_error_no_memory("a task that is replaced");
    if (wanted <= frame->room_replaced)
        return BRAID_OK;
    struct backend_task *grown = realloc(frame->replaced, 2 * wanted * sizeof(*grown));
    if (!grown)
        return braid_error_no_memory("a task that is replaced");
    frame->replaced = grown;
    frame->room_replaced = (uint32_t)(2 * wanted);
    return BRAID_OK;
}

// What the backend made of the call before is still its own.
static braid_status prepare_host_again(struct frame *frame, struct backend_task *task)
{
    if (!task->detour)
        return BRAID_OK;
    braid_status status = make_room_to_replace(frame);
    if (!status)
        status = prepare(frame, task);
    if (status)
        braid_host_call_discard(task);
    return status;
}

// A call that was there before is not known to be the same: it may run with the new one.
static braid_status change_host(const struct tasks *tasks, struct frame *frame,
                                struct backend_task *task)
{
    const struct backend_task *old = &frame->tasks[task->node];
    struct backend_task read = *task;
    read_work(tasks, frame, &read);
    if (old->disabled ? task->disabled
                      : !task->disabled && braid_host_call_work(old).user == read.host.user)
        return BRAID_OK;
    braid_status status = BRAID_OK;
    if (task->disabled)
        braid_host_call_put_none(task);
    else
        status = braid_host_call_put(&frame->host_calls, read.host, frame->num_launches, task);
    return status ? status : prepare_host_again(frame, task);
}

// What the backend made of the task before is the old one's.
static braid_status change_memory(const struct tasks *tasks, struct frame *frame,
                                  struct backend_task *task)
{
    const struct backend_task *old = &frame->tasks[task->node];
    read_work(tasks, frame, task);
    if (memcmp(&task->work, &old->work, sizeof(task->work)) == 0)
        return BRAID_OK;
    braid_status status =
        task->kind == WORK_COPY ? check_copy(task, &old->copy) : check_fill(task, &old->fill);
    if (!status && old->detour)
        status = make_room_to_replace(frame);
    task->detour = NULL;
    return status ? status : prepare(frame, task);
}

static braid_status read_changed(const struct tasks *tasks, struct frame *frame,
                                 struct backend_task *task)
{
    switch (task->kind) {
    case WORK_KERNEL:
        return check_grid(task);
    case WORK_COPY:
    case WORK_FILL:
        return change_memory(tasks, frame, task);
    case WORK_HOST:
        return change_host(tasks, frame, task);
    case WORK_NATIVE:
    case WORK_POST:
        read_work(tasks, frame, task);
        return BRAID_OK;
    default: // nothing of it can change
        return BRAID_OK;
    }
}

static struct task_control *control_of(const struct frame *frame, uint32_t task)
{
    return (struct task_control *)(void *)frame->slots[TASK_SLOT_CONTROLS] + task;
}

// The rooms of ends are no values that anybody sets.
static void write_work(const struct tasks *tasks, struct frame *frame,
                       const struct backend_task *task)
{
    if (task->kind == WORK_COPY || task->kind == WORK_FILL)
        memcpy(frame->slots[TASK_SLOT_WORKS] + tasks->offsets[task->node], &task->work,
               sizeof(task->work));
}

braid_status braid_frame_change(const struct tasks *tasks, struct frame *frame, uint32_t index)
{
    const struct task_control *control = control_of(frame, index);
    struct backend_task task = frame->tasks[index];
    const braid_dim3 grid = control->grid;
    bool is_empty = task.kind == WORK_KERNEL && (!grid.x || !grid.y || !grid.z);
    task.disabled = !control->enabled || is_empty;
    if (task.kind == WORK_KERNEL && !is_empty) // else a driver keeps one that it takes
        task.launch.grid = grid;
    braid_status status = read_changed(tasks, frame, &task);
    if (status)
        return status;
    write_work(tasks, frame, &task);
    frame->tasks[index] = task;
    return BRAID_OK;
}

// One that no launch has seen is freed at once: so many changes between two launches keep no more
// than one does.
static void replace_detour(struct frame *frame, const struct backend_task *old)
{
    struct backend_task unused = *old;
    if (frame->changed_at[old->node] == frame->num_launches)
        finish_detour(frame, &unused);
    else
        frame->replaced[frame->num_replaced++] = *old;
    frame->changed_at[old->node] = frame->num_launches;
}

void braid_frame_settle(struct frame *frame, const struct backend_task *old)
{
    const struct backend_task *task = &frame->tasks[old->node];
    if (old->kind == WORK_HOST && old->host.user != task->host.user)
        braid_host_call_replace(&frame->host_calls, frame->num_launches, old);
    if (old->detour && old->detour != task->detour)
        replace_detour(frame, old);
}

void braid_frame_put(const struct tasks *tasks, struct frame *frame,
                     const struct backend_task *task)
{
    frame->tasks[task->node] = *task;
    write_work(tasks, frame, task);
}

void braid_frame_discard(const struct frame *frame, struct backend_task *unused)
{
    const struct backend_task *task = &frame->tasks[unused->node];
    if (unused->kind == WORK_HOST && unused->host.user != task->host.user)
        braid_host_call_discard(unused);
    if (unused->detour && unused->detour != task->detour)
        finish_detour(frame, unused);
}
