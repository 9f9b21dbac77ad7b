// SPDX-License-Identifier: Apache-2.0
// Telling the program that a frame has ended.
#include "base/error.h"
#include "base/inside.h"
#include "exec/exec.h"

// Frames end in the order of launches, and so are told of: the count needs no lock.
static void tell_end(void *user)
{
    braid_exec *exec = user;
    struct inside inside;
    braid_inside_begin(&inside, "a frame's callback", NULL);
    exec->on_end(exec->num_ended++, exec->on_end_user);
    braid_inside_end(&inside);
}

braid_status braid_exec_queue_end(braid_exec *exec, braid_stream *stream)
{
    if (!exec->on_end)
        return BRAID_OK;
    struct backend *backend = exec->device->backend;
    const struct backend_task task = {
        .kind = WORK_HOST,
        .name = "frame's callback",
        .node = BACKEND_NO_NODE,
        .host = { .call = tell_end, .user = exec },
    };
    braid_status status = backend->ops->submit(backend, device_backend_stream(stream), &task);
    if (!status)
        return BRAID_OK;
    status = braid_error(status,
                         "launch on %s: the frame's callback could not be queued, so the frame's "
                         "end was awaited: %s",
                         exec->device->label, braid_error_message());
    return status;
}

// Of frames whose callback was queued the device has told before `done`.
braid_status braid_exec_tell_rest(braid_exec *exec)
{
    struct backend *backend = exec->device->backend;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; exec->on_end && i < exec->num_slots && !status; i++)
        status = backend->ops->event_synchronize(backend, exec->slots[i].done->backend);
    while (exec->on_end && !status && exec->num_ended < exec->num_frames)
        tell_end(exec);
    return status;
}
