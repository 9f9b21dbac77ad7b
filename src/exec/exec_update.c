// SPDX-License-Identifier: Apache-2.0
// The launch's side of values. It resolves the tasks that changed since the slot's last launch, and
// hands them to the player by one call.
//
// If a task cannot be resolved, or the player refuses it, the launch fails before it queues
// anything. The slot's number stays, so the next launch in the slot hands over the same tasks
// again, and those that changed since. Until all are taken the slot is not played, so it does not
// matter which of them the player has.
#include "base/error.h"
#include "base/inside.h"
#include "exec/exec.h"
#include "exec/exec_parts.h"

// ---- replaced values ----

// Errors: those of event_query.
static braid_status ask(const braid_exec *exec, const braid_event *event, bool *out_ended)
{
    struct backend *backend = exec->device->backend;
    braid_status status = backend->ops->event_query(backend, event->backend);
    *out_ended = status == BRAID_OK;
    return status == BRAID_NOT_READY ? BRAID_OK : status;
}

// A launch is complete without a mark: the values stay until a later launch gets the event, or all
// frames have ended.
static void lease_mark(braid_exec *exec, struct frame_slot *slot)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt, braid_device_lease_event(exec->device, &slot->mark));
}

// Frees replaced values once the frames that may use them have ended. If their end is not known,
// the values stay, and nothing waits. With one frame always in flight, `done` never stands for the
// end of all frames. The mark stands for the end of those that may use older values. Errors: those
// of event_query.
static braid_status exec_free_replaced(braid_exec *exec, struct frame_slot *slot)
{
    struct frame *frame = &slot->frame;
    if (!frame->num_replaced || atomic_load(&exec->turn.is_unrecorded))
        return BRAID_OK;
    bool all = false, marked = false;
    braid_status status = ask(exec, slot->done, &all);
    if (!status && !all && slot->num_marked)
        status = ask(exec, slot->mark, &marked);
    if (!status && !all && !slot->mark)
        lease_mark(exec, slot);
    if (status || (!all && !marked))
        return status;
    braid_frame_free_replaced(frame, all ? frame->num_replaced : slot->num_marked);
    slot->num_marked = 0;
    return BRAID_OK;
}

void braid_exec_mark_replaced(braid_exec *exec, struct frame_slot *slot, braid_stream *stream)
{
    struct backend *backend = exec->device->backend;
    if (!slot->frame.num_replaced || slot->num_marked || !slot->mark)
        return;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = backend->ops->event_record(backend, slot->mark->backend, stream->backend);
    slot->num_marked = status ? 0 : slot->frame.num_replaced;
    braid_error_end_noted(&attempt, status);
}

// ---- updates ----

// Appends a task to the list for the player, unless that has taken the frame's current values.
static braid_status take(braid_exec *exec, struct frame_slot *slot, uint32_t node, uint64_t number,
                         uint32_t *num)
{
    bool changed = false;
    braid_status status = braid_frame_resolve(&exec->tasks, &slot->frame, node, number, &changed);
    if (!status && (changed || slot->is_refused))
        exec->values.changed[(*num)++] = &slot->frame.tasks[node];
    return status;
}

// The node that was set first comes first.
static braid_status take_changed(braid_exec *exec, struct frame_slot *slot, uint64_t number,
                                 uint32_t *num)
{
    const struct exec_values *values = &exec->values;
    uint32_t end = exec->tasks.num, node = values->older[end];
    braid_status status = BRAID_OK;
    while (node != end && values->changed_at[node] > slot->seen)
        node = values->older[node];
    for (node = values->newer[node]; node != end && !status; node = values->newer[node])
        status = take(exec, slot, node, number, num);
    return status;
}

// Nodes with versions, unless they are among those that changed.
static braid_status take_versions(braid_exec *exec, struct frame_slot *slot, uint64_t number,
                                  uint32_t *num)
{
    const struct tasks *tasks = &exec->tasks;
    braid_status status = BRAID_OK;
    uint32_t last = UINT32_MAX;
    for (uint32_t i = 0; i < tasks->num_addresses && !status; i++) {
        const struct task_address *address = &tasks->addresses[i];
        if (address->num_versions < 2 || address->node == last ||
            exec->values.changed_at[address->node] > slot->seen)
            continue;
        last = address->node;
        status = take(exec, slot, last, number, num);
    }
    return status;
}

static braid_status hand_over(braid_exec *exec, const struct frame_slot *slot, uint32_t num,
                              uint32_t frame)
{
    if (!num || !exec->player->update)
        return BRAID_OK;
    struct inside inside; // queue calls may be made on this thread
    braid_inside_begin(&inside, "a queue call", exec);
    braid_status status = exec->player->update(slot->playing, exec->values.changed, num, frame);
    braid_inside_end(&inside);
    return status;
}

braid_status braid_exec_update(braid_exec *exec, struct frame_slot *slot, uint64_t number,
                               uint32_t frame)
{
    braid_exec_idle_update(exec);
    bool turns = (number - slot->number) % exec->frames.version_period != 0;
    if (slot->seen == exec->values.now && !turns)
        return BRAID_OK;
    uint32_t num = 0;
    braid_status status = exec->player->is_driven ? braid_exec_await_slot(exec, slot) : BRAID_OK;
    if (!status)
        status = exec_free_replaced(exec, slot);
    if (!status)
        status = take_changed(exec, slot, number, &num);
    if (!status && turns)
        status = take_versions(exec, slot, number, &num);
    if (!status)
        status = hand_over(exec, slot, num, frame);
    slot->is_refused = status != BRAID_OK;
    if (status)
        return status;
    slot->seen = exec->values.now;
    slot->number = number;
    return BRAID_OK;
}
