// SPDX-License-Identifier: Apache-2.0
// A capture on a device: its memory, its graph node by node, and its graph as planned.
#ifndef BRAID_TOOL_REPLAY_DEVICE_H
#define BRAID_TOOL_REPLAY_DEVICE_H

#include <braid/device.h>
#include <braid/exec.h>

#include "replay_graph.h"

struct replay_device {
    struct replay_graph replay;
    braid_device *device;
    unsigned char **memory, **declared;
    braid_graph *graph;
    braid_exec *exec; // its nodes are all disabled but one
};

// Opens it, with the contents of the file. `out_device` is to be closed, also if this fails.
enum exit_status replay_device_open(const struct replay_graph *replay,
                                    const braid_device_options *options,
                                    struct replay_device *out_device);
void replay_device_close(struct replay_device *device);

// Gives all buffers the contents of the file again, and transient ones zeros.
enum exit_status replay_device_fill(const struct replay_device *device);
// Copies bytes of a buffer, from `offset` on, to the host.
enum exit_status replay_device_read(const struct replay_device *device, uint32_t buffer,
                                    uint64_t offset, uint64_t bytes, unsigned char *to);
// Runs a node alone, to its end.
enum exit_status replay_device_run(const struct replay_device *device, uint32_t node);
// Plans all nodes on so many lanes, and runs them as a frame.
enum exit_status replay_device_run_planned(const struct replay_device *device, uint32_t num_lanes);
// Prints what braid_graph_audit finds in the frame. A finding is a failure.
enum exit_status replay_device_audit(const struct replay_device *device);

#endif
