// SPDX-License-Identifier: Apache-2.0
// Replays an exec frame by frame, measures each frame and checks the order of every edge.
#ifndef BRAID_TOOL_FRAMES_H
#define BRAID_TOOL_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/exec.h>

#include "busy_kernel.h"
#include "dot_file.h"
#include "task_graph.h"

// Where the nodes of a frame write when they ran, and where the host reads it.
struct frame_memory {
    braid_device *device;
    braid_interval *on_device, *on_host;
    uint64_t bytes;
    // On several devices nodes are given the addresses of the file's buffers, so that they run
    // anywhere: of each resource, or NULL; otherwise there are none.
    void **buffers;
    uint32_t num_buffers;
};

// What was measured of each frame.
struct frame {
    uint64_t makespan_ns; // from the first start to the last end, by the device's clock
    uint64_t launch_ns;   // how long the launch held up the host
};

enum exit_status frame_memory_create(braid_device *device, uint32_t num_nodes,
                                     struct frame_memory *out_memory);
void frame_memory_destroy(struct frame_memory *memory);
// Allocates the file's buffers as well.
enum exit_status frame_memory_add_buffers(struct frame_memory *memory, const struct dot_file *file);

// A task_graph_add: adds a node that is busy for its cost; `user` is the memory.
braid_status frame_add_node(braid_graph *graph, const struct dot_node *node,
                            const braid_node_options *options,
                            const struct task_addresses *addresses, uint32_t index, void *user);

// Runs one frame to its end. An edge whose order was not kept is reported as a failure.
enum exit_status frame_run(braid_exec *exec, const braid_graph *graph,
                           const struct frame_memory *memory, const struct dot_file *file,
                           uint64_t number, struct frame *out_frame);

#endif
