// SPDX-License-Identifier: Apache-2.0
// Replays an exec frame by frame, measures each frame and checks the order of every edge.
#ifndef BRAID_TOOL_FRAMES_H
#define BRAID_TOOL_FRAMES_H

#include <stdint.h>

#include <braid/exec.h>

#include "busy_kernel.h"
#include "dot_file.h"

// Where the nodes of a frame write when they ran, and where the host reads it.
struct frame_memory {
    braid_device *device;
    braid_interval *on_device, *on_host;
    uint64_t bytes;
};

// What was measured of each frame.
struct frame {
    uint64_t makespan_ns; // from the first start to the last end, by the device's clock
    uint64_t launch_ns;   // how long the launch held up the host
};

enum exit_status frame_memory_create(braid_device *device, uint32_t num_nodes,
                                     struct frame_memory *out_memory);
void frame_memory_destroy(struct frame_memory *memory);

// A task_graph_add: adds a node that is busy for its cost, with `user` = on_device.
braid_status frame_add_node(braid_graph *graph, const struct dot_node *node,
                            const braid_node_options *options, uint32_t index, void *user);

// Runs one frame to its end. An edge whose order was not kept is reported as a failure.
enum exit_status frame_run(braid_exec *exec, const struct frame_memory *memory,
                           const struct dot_file *file, uint64_t number, struct frame *out_frame);

#endif
