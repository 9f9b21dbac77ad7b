// SPDX-License-Identifier: Apache-2.0
// Frames: tasks resolved from the value table.
#include "tasks/frame.h"

#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"
#include "base/node_text.h"

// ---- host calls ----

// Each record is read when it runs, so a changed call gets another record. The old record stays
// until all frames that were launched with it have ended.

// Marks the thread as inside a host call, so that calls forbidden there are refused.
static void run(void *user)
{
    struct host_call *call = user;
    struct inside inside;
    atomic_fetch_add(&call->num_begun, 1);
    braid_inside_begin(&inside, "a host call", NULL);
    call->work.call(call->work.user);
    braid_inside_end(&inside);
    atomic_fetch_add_explicit(&call->num_run, 1, memory_order_release);
}

static void run_none(void *user)
{
    (void)user;
}

// Has the task call `work`. Errors: BRAID_NO_MEMORY.
static braid_status host_call_put(struct host_calls *calls, struct work_host work,
                                  struct backend_task *task)
{
    struct host_call *call = calls->first;
    if (call)
        calls->first = call->next;
    else
        call = braid_allocate(sizeof(*call));
    if (!call)
        return braid_error_no_memory("a host call");
    call->next = NULL;
    call->work = work;
    atomic_init(&call->num_begun, 0);
    atomic_init(&call->num_run, 0);
    task->host = (struct work_host){ .call = run, .user = call, .is_blocking = work.is_blocking };
    return BRAID_OK;
}

// No frame uses the task's call, if it has one: another task may be given its record.
static void host_call_leave(struct host_calls *calls, const struct backend_task *task)
{
    struct host_call *call = task->host.user;
    if (!call)
        return;
    call->next = calls->first;
    calls->first = call;
}

static void free_call(struct host_call *call)
{
    const struct timespec pause = { .tv_nsec = 50000 };
    while (atomic_load_explicit(&call->num_run, memory_order_acquire) <
           atomic_load(&call->num_begun))
        nanosleep(&pause, NULL);
    braid_free(call);
}

// No frame is in flight, or the device has failed: calls that still run on a thread of the driver
// are awaited.
static void host_calls_finish(struct host_calls *calls)
{
    while (calls->first) {
        struct host_call *call = calls->first;
        calls->first = call->next;
        free_call(call);
    }
}

// ---- frames ----

enum { NOTE_ARGUMENTS = 3 }; // for a kernel that notes its begin: see backend.h

static const void *address_of(const struct tasks *tasks, const struct frame *frame,
                              const struct task_address *address, uint64_t number)
{
    if (address->trap)
        return &frame->traps[address->trap - 1];
    if (!address->num_versions)
        return frame->arenas[address->place] + address->arena_offset + address->memory_offset;
    uint64_t which = (number + address->num_versions - address->frames_before);
    which %= address->num_versions;
    return (const char *)tasks->version_memory[address->first + which] + address->memory_offset;
}

// The bytes of a task as this frame has them: the master copy's, and the addresses on top.
static void build(const struct tasks *tasks, const struct frame *frame, uint32_t node,
                  uint64_t number, void *to, size_t bytes)
{
    bool is_kernel = tasks->items[node].kind == WORK_KERNEL;
    const unsigned char *from =
        tasks->slot_bytes[is_kernel ? TASK_SLOT_ARGUMENTS : TASK_SLOT_WORKS];
    if (bytes)
        memcpy(to, from + tasks->offsets[node], bytes);
    for (uint32_t i = tasks->first_address[node]; i < tasks->first_address[node + 1]; i++) {
        const struct task_address *address = &tasks->addresses[i];
        const void *value = address_of(tasks, frame, address, number);
        if (!address->is_set)
            memcpy((char *)to + (address->offset - tasks->offsets[node]), &value, sizeof(value));
    }
}

static union work build_work(const struct tasks *tasks, const struct frame *frame, uint32_t node,
                             uint64_t number)
{
    union work work;
    build(tasks, frame, node, number, &work, sizeof(work));
    return work;
}

// Arguments are addressed where they stand; all else is read.
static void point_to_args(const struct tasks *tasks, struct frame *frame, struct backend_task *task)
{
    uint64_t offset = tasks->offsets[task->node];
    void **args = (void **)(uintptr_t)task->launch.args;
    for (uint32_t i = 0; i < task->launch.num_args; i++) {
        args[i] = frame->arguments + offset;
        offset += graph_arg_stride(task->launch.arg_bytes[i]);
    }
}

// Disabled nodes read nothing, and the program may free their inputs.
static bool is_disabled(const struct tasks *tasks, uint32_t node)
{
    const struct task_control *control = tasks_control(tasks, node);
    return !control->enabled || control->rests;
}

// The bytes that the launch fetches, if the next kernel runs and still has their address as
// argument.
static void point_to_next(const struct tasks *tasks, const struct frame *frame, uint64_t number,
                          struct backend_task *task)
{
    const struct plan_prefetch *prefetch =
        tasks->prefetches ? &tasks->prefetches[task->node] : NULL;
    if (!prefetch || !prefetch->bytes)
        return;
    const uint64_t first = tasks->offsets[prefetch->node];
    const uint64_t at = braid_tasks_arg_offset(tasks, prefetch->node, prefetch->argument);
    build(tasks, frame, prefetch->node, number, frame->room,
          braid_tasks_arg_bytes(tasks, prefetch->node));
    bool is_there = memcmp(frame->room + (at - first), &prefetch->address, sizeof(void *)) == 0;
    task->launch.next = prefetch->address;
    bool runs = !is_disabled(tasks, prefetch->node) &&
                !work_grid_is_empty(tasks_control(tasks, prefetch->node)->grid);
    task->launch.next_bytes = runs && is_there ? prefetch->bytes : 0;
}

static size_t most_arg_bytes(const struct tasks *tasks)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < tasks->num; i++) {
        uint64_t bytes = 0;
        if (tasks->items[i].kind == WORK_KERNEL)
            bytes = braid_tasks_arg_bytes(tasks, i);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool allocate(const struct tasks *tasks, struct frame *frame)
{
    frame->arguments =
        braid_store_take(&frame->store, tasks->num_slot_bytes[TASK_SLOT_ARGUMENTS], 1);
    frame->room = braid_store_take(&frame->store, most_arg_bytes(tasks), 1);
    frame->backend = tasks->backend;
    frame->places = tasks->places;
    size_t num_more = frame->notes ? (size_t)tasks->num * NOTE_ARGUMENTS : 0;
    frame->args = braid_store_take(&frame->store, tasks->num_args + num_more, sizeof(*frame->args));
    frame->tasks = braid_store_take(&frame->store, tasks->num, sizeof(*frame->tasks));
    frame->iterations =
        braid_store_take(&frame->store, tasks->num_regions, sizeof(*frame->iterations));
    return !frame->store.failed;
}

braid_status braid_frame_prepare(const struct frame *frame, struct backend_task *task)
{
    struct backend *backend = places_backend(frame->places, frame->backend, task->place);
    const char *flaw = braid_work_flaw(task->kind, &task->work);
    if (flaw)
        return braid_error_invalid("node %s: %s", braid_node_text(task->node, task->name).text,
                                   flaw);
    if (!backend || !backend->ops->task_prepare)
        return BRAID_OK;
    braid_status status = backend->ops->task_prepare(backend, task);
    if (status)
        return braid_error(status, "node %s: %s", braid_node_text(task->node, task->name).text,
                           braid_error_get_message());
    return BRAID_OK;
}

static braid_status fill_task(const struct tasks *tasks, struct frame *frame, uint64_t number,
                              struct backend_task *task)
{
    if (task->kind == WORK_KERNEL) {
        point_to_args(tasks, frame, task);
        build(tasks, frame, task->node, number, frame->arguments + tasks->offsets[task->node],
              braid_tasks_arg_bytes(tasks, task->node));
        point_to_next(tasks, frame, number, task);
        return braid_frame_prepare(frame, task);
    }
    if (task->kind == WORK_EMPTY)
        return BRAID_OK;
    task->work = build_work(tasks, frame, task->node, number);
    if (task->kind != WORK_HOST)
        return braid_frame_prepare(frame, task);
    braid_status status = host_call_put(&frame->host_calls, task->host, task);
    if (status)
        return status;
    status = braid_frame_prepare(frame, task);
    if (status)
        host_call_leave(&frame->host_calls, task);
    return status;
}

// Says who notes the begin and the end of the task: the kernel, else the player.
static void place_note(const struct tasks *tasks, const struct frame *frame,
                       const struct box_words *words, struct backend_task *task)
{
    const struct task_note *note = &tasks->notes[task->node];
    const struct backend_kernel *kernel = task->kind == WORK_KERNEL ? task->launch.kernel : NULL;
    bool ends = kernel && kernel->notes_end;
    task->note = &frame->notes[note->row];
    task->notes_begin = !kernel || !kernel->notes_begin;
    task->notes_end = note->ends && !ends;
    task->block_count = note->ends && ends ? words[task->place].block_counts + task->node : NULL;
    task->cancelled = (const uint32_t *)&frame->notes[tasks->num].begun;
    task->cancelled_there = words[task->place].cancelled;
}

static braid_status fill(const struct tasks *tasks, struct frame *frame,
                         const struct box_words *words, uint64_t number)
{
    void **args = frame->args;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < tasks->num && !status; i++) {
        struct backend_task *task = &frame->tasks[i];
        *task = tasks->items[i];
        task->node = i;
        if (frame->notes)
            place_note(tasks, frame, words, task);
        if (task->kind == WORK_KERNEL) {
            task->launch.args = args;
            args += task->launch.num_args;
        }
        if (frame->notes && task->kind == WORK_KERNEL && task->launch.kernel->notes_begin) {
            *args++ = &task->note;
            *args++ = &task->node;
            *args++ = &task->block_count;
        }
        status = fill_task(tasks, frame, number, task);
        frame->num_tasks += !status;
    }
    return status;
}

static void finish_detour(const struct frame *frame, struct backend_task *task)
{
    struct backend *backend = places_backend(frame->places, frame->backend, task->place);
    backend->ops->task_finish(backend, task);
}

// Finishes a task that no frame uses.
static void finish_task(struct frame *frame, struct backend_task *task)
{
    if (task->detour)
        finish_detour(frame, task);
    if (task->kind == WORK_HOST)
        host_call_leave(&frame->host_calls, task);
}

void braid_frame_free_replaced(struct frame *frame, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++)
        finish_task(frame, &frame->replaced[i]);
    frame->num_replaced -= num;
    for (uint32_t i = 0; num && i < frame->num_replaced; i++)
        frame->replaced[i] = frame->replaced[i + num];
}

void braid_frame_finish(struct frame *frame)
{
    braid_frame_free_replaced(frame, frame->num_replaced);
    for (uint32_t i = 0; frame->tasks && i < frame->num_tasks; i++)
        finish_task(frame, &frame->tasks[i]);
    braid_free(frame->replaced);
    braid_free(frame->changed_at);
    host_calls_finish(&frame->host_calls);
    braid_store_finish(&frame->store);
    *frame = (struct frame){ 0 };
}

braid_status braid_frame_create(const struct tasks *tasks, unsigned char *const *arenas,
                                uint64_t number, struct note *notes, const struct box_words *words,
                                struct frame_trap *traps, struct frame *out_frame)
{
    struct frame frame = { .notes = notes, .traps = traps };
    braid_status status = BRAID_OK;
    if (!allocate(tasks, &frame))
        status = braid_error_no_memory("the values of a frame");
    uint32_t num_places = tasks->places ? tasks->places->num : 1;
    for (uint32_t i = 0; i < num_places && arenas; i++)
        frame.arenas[i] = arenas[i];
    if (!status)
        status = fill(tasks, &frame, words, number);
    if (status)
        braid_frame_finish(&frame);
    else
        *out_frame = frame;
    return status;
}

// For every task, since one resolve may follow another before anything can be freed.
static braid_status make_room_to_replace(struct frame *frame)
{
    uint64_t wanted = (uint64_t)frame->num_replaced + 1;
    if (!frame->changed_at)
        frame->changed_at = braid_allocate_zeroed(frame->num_tasks, sizeof(*frame->changed_at));
    if (!frame->changed_at)
        return braid_error_no_memory("a task that is replaced");
    if (wanted <= frame->room_replaced)
        return BRAID_OK;
    wanted += frame->num_tasks;
    struct backend_task *grown = braid_reallocate(frame->replaced, 2 * wanted * sizeof(*grown));
    if (!grown)
        return braid_error_no_memory("a task that is replaced");
    frame->replaced = grown;
    frame->room_replaced = (uint32_t)(2 * wanted);
    return BRAID_OK;
}

// One that no launch has seen is freed at once: so many changes between two launches keep no more
// than one does.
static void replace(struct frame *frame, struct backend_task *old)
{
    if (frame->changed_at[old->node] == frame->num_launches)
        finish_task(frame, old);
    else
        frame->replaced[frame->num_replaced++] = *old;
    frame->changed_at[old->node] = frame->num_launches;
}

static void take(struct frame *frame, const struct backend_task *made)
{
    struct backend_task *task = &frame->tasks[made->node], old = *task;
    *task = *made;
    bool has_call = old.kind == WORK_HOST && old.host.user != made->host.user;
    if (has_call || (old.detour && old.detour != made->detour))
        replace(frame, &old);
}

static bool resolve_kernel(const struct tasks *tasks, struct frame *frame, uint64_t number,
                           struct backend_task *made)
{
    const struct backend_task *old = &frame->tasks[made->node];
    const braid_dim3 grid = tasks_control(tasks, made->node)->grid, had = old->launch.grid;
    size_t bytes = braid_tasks_arg_bytes(tasks, made->node);
    unsigned char *args = frame->arguments + tasks->offsets[made->node];
    bool is_empty = work_grid_is_empty(grid);
    build(tasks, frame, made->node, number, frame->room, bytes);
    bool is_same = bytes == 0 || memcmp(args, frame->room, bytes) == 0;
    if (!is_same)
        memcpy(args, frame->room, bytes);
    made->disabled = made->disabled || is_empty;
    made->launch.grid = is_empty ? had : grid; // a driver keeps one that it takes
    point_to_next(tasks, frame, number, made);
    return !is_same || made->launch.next_bytes != old->launch.next_bytes ||
           made->disabled != old->disabled || made->launch.grid.x != had.x ||
           made->launch.grid.y != had.y || made->launch.grid.z != had.z;
}

// Neither struct has padding. The union behind it has bytes that nobody wrote.
static bool is_same_memory(enum work_kind kind, const union work *work, const union work *other)
{
    return memcmp(work, other,
                  kind == WORK_COPY ? sizeof(struct work_copy) : sizeof(struct work_fill)) == 0;
}

// The backend's detour for the task before belongs to the old task.
static braid_status resolve_memory(struct frame *frame, struct backend_task *made)
{
    const struct backend_task *old = &frame->tasks[made->node];
    if (is_same_memory(made->kind, &made->work, &old->work))
        return BRAID_OK;
    braid_status status = old->detour ? make_room_to_replace(frame) : BRAID_OK;
    made->detour = NULL;
    return status ? status : braid_frame_prepare(frame, made);
}

// An old call may be another call at the same address, since it may run together with the new one.
// The old task keeps the backend's detour for it.
static braid_status resolve_host(struct frame *frame, struct work_host work,
                                 struct backend_task *made)
{
    braid_status status = make_room_to_replace(frame);
    if (status)
        return status;
    if (made->disabled)
        made->host = (struct work_host){ .call = run_none };
    else
        status = host_call_put(&frame->host_calls, work, made);
    if (status || !made->detour)
        return status;
    status = braid_frame_prepare(frame, made);
    if (status)
        host_call_leave(&frame->host_calls, made);
    return status;
}

static bool is_same_call(const struct backend_task *old, bool is_disabled, const void *user)
{
    if (old->disabled || is_disabled)
        return old->disabled == is_disabled;
    const struct host_call *call = old->host.user;
    return call->work.user == user;
}

braid_status braid_frame_resolve(const struct tasks *tasks, struct frame *frame, uint32_t index,
                                 uint64_t number, bool *out_changed)
{
    struct backend_task made = frame->tasks[index];
    const union work work = made.kind == WORK_KERNEL || made.kind == WORK_EMPTY
                                ? made.work
                                : build_work(tasks, frame, index, number);
    braid_status status = BRAID_OK;
    made.disabled = is_disabled(tasks, index);
    *out_changed = true;
    if (made.kind == WORK_KERNEL) {
        *out_changed = resolve_kernel(tasks, frame, number, &made);
    } else if (made.kind == WORK_COPY || made.kind == WORK_FILL) {
        *out_changed = !is_same_memory(made.kind, &work, &made.work) ||
                       made.disabled != frame->tasks[index].disabled;
        made.work = work;
        status = resolve_memory(frame, &made);
    } else if (made.kind == WORK_HOST) {
        *out_changed = !is_same_call(&frame->tasks[index], made.disabled, work.host.user);
        if (*out_changed)
            status = resolve_host(frame, work.host, &made);
    } else {
        made.work = work; // also where it is the same: queue calls are captured again
    }
    if (!status)
        take(frame, &made);
    return status;
}
