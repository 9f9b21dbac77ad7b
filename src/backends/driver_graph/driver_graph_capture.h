// SPDX-License-Identifier: Apache-2.0
// Queue calls as graphs: the work that they queue is captured.
#ifndef BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_CAPTURE_H
#define BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_CAPTURE_H

#include "backends/gpu/gpu_backend.h"
#include "tasks/player.h"

// Makes the call on a capturing stream. The device is current.
// Errors: BRAID_UNSUPPORTED (it cannot be captured), the call's own.
braid_status braid_driver_graph_capture(const struct stage *stage, const struct backend_task *task,
                                        gpu_stream capture_stream, gpu_graph *out_graph);
void braid_driver_graph_free_captured(const struct gpu_backend *gpu, gpu_graph graph);

// The same, and adds the captured work as a node.
braid_status braid_driver_graph_add_captured(const struct stage *stage,
                                             const struct gpu_behind *behind,
                                             const struct backend_task *task,
                                             gpu_stream capture_stream, gpu_node *out_node);

#endif
