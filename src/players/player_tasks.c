// SPDX-License-Identifier: Apache-2.0
// What players have in common: native calls, and what of tasks inside islands can change.
#include "base/error.h"
#include "base/node_text.h"
#include "program/player.h"

braid_status braid_player_call_native(braid_device *device, const struct backend_task *task,
                                      braid_stream *stream)
{
    braid_status status = task->native.call(device, stream, task->native.user);
    if (status)
        return braid_error(status,
                           "launch of node %s (%s, lane %u) failed: its native call returned %s",
                           braid_node_text(task->node, task->name).text, device->label, task->lane,
                           braid_status_name(status));
    return BRAID_OK;
}

braid_status braid_player_check_inside(const struct tasks *tasks, const struct backend_task *task)
{
    const braid_dim3 grid = task->launch.grid, compiled = tasks->items[task->node].launch.grid;
    bool same = grid.x == compiled.x && grid.y == compiled.y && grid.z == compiled.z;
    if (same && !task->disabled)
        return BRAID_OK;
    return braid_error(BRAID_UNSUPPORTED,
                       "node %s is a call inside an island, which cannot %s: have a parameter do "
                       "it, or make the exec without islands",
                       braid_node_text(task->node, task->name).text,
                       task->disabled ? "be disabled" : "get another grid");
}
