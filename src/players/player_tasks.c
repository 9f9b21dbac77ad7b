// SPDX-License-Identifier: Apache-2.0
// The shared code of players: queue calls.
#include "base/error.h"
#include "base/error_details.h"
#include "base/node_text.h"
#include "device/device.h"
#include "program/player.h"

braid_status braid_player_queue_call(braid_device *device, const struct backend_task *task,
                                     braid_stream *stream)
{
    device_use_stream(stream); // by the frame's work; the call may launch others there
    uint64_t num_errors = braid_error_count();
    braid_status status = task->queue.call(device, stream, task->queue.user);
    if (!status)
        return BRAID_OK;
    bool has_message = braid_error_count() != num_errors; // of a call of Braid's
    return braid_error(status,
                       "launch of node %s (%s, lane %u) failed: its queue call returned %s%s%s",
                       braid_node_text(task->node, task->name).text, device->label, task->lane,
                       braid_status_name(status), has_message ? ": " : "",
                       has_message ? braid_error_message() : "");
}
