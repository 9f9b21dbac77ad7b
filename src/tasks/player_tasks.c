// SPDX-License-Identifier: Apache-2.0
// The shared code of players: queue calls.
#include <stdio.h>

#include "base/error.h"
#include "base/error_details.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "device/device.h"
#include "tasks/player.h"

struct queue_call {
    braid_device *device;
    const struct backend_task *task;
    braid_stream *stream;
    bool made;
};

static braid_status call(void *user)
{
    struct queue_call *made_call = user;
    const struct work_queue *queue = &made_call->task->queue;
    made_call->made = true;
    struct host_allocator *suspended = host_allocator_suspend();
    braid_status status = queue->call(made_call->device, made_call->stream, queue->user);
    host_allocator_resume(suspended);
    return status;
}

braid_status braid_player_queue_call(braid_device *device, const struct backend_task *task,
                                     braid_stream *stream)
{
    struct backend *backend = device->backend;
    struct queue_call made_call = { device, task, stream, false };
    device_use_stream(stream); // by the frame's work; the call may launch others there
    uint64_t num_errors = braid_error_count();
    braid_status status = backend->ops->call_program
                              ? backend->ops->call_program(backend, call, &made_call)
                              : call(&made_call);
    if (!status)
        return BRAID_OK;
    bool has_message = braid_error_count() != num_errors; // a call of Braid's left it
    char why[64] = "";
    if (made_call.made)
        snprintf(why, sizeof(why), "its queue call returned %s%s", braid_status_get_name(status),
                 has_message ? ": " : "");
    return braid_error(status, "launch of node %s (%s, lane %u) failed: %s%s",
                       braid_node_text(task->node, task->name).text, device->label, task->lane, why,
                       has_message ? braid_error_get_message() : "");
}
