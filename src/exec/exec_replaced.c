// SPDX-License-Identifier: Apache-2.0
// Replaced values that frames in flight still use: they are freed once these have ended.
#include "base/error.h"
#include "exec/exec.h"

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
// end of all frames. The mark stands for the end of those that may use older values.
braid_status braid_exec_free_replaced(braid_exec *exec, struct frame_slot *slot)
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
    braid_status status =
        backend->ops->event_record(backend, slot->mark->backend, device_backend_stream(stream));
    slot->num_marked = status ? 0 : slot->frame.num_replaced;
    braid_error_end_noted(&attempt, status);
}
