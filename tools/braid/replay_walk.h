// SPDX-License-Identifier: Apache-2.0
// A captured frame, node by node, with the loops and branches in it.
#ifndef BRAID_TOOL_REPLAY_WALK_H
#define BRAID_TOOL_REPLAY_WALK_H

#include "replay_device.h"

struct replay_walk {
    const struct replay_device *device; // whose conditions count
    uint64_t *iterations;               // by node: of a loop, as entered last
    enum exit_status (*visit)(void *context, uint32_t node);
    void *context;
};

enum exit_status replay_walk(const struct replay_walk *walk);

#endif
