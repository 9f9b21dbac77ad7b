// SPDX-License-Identifier: Apache-2.0
// Nodes of the driver's graph for work that is no kernel.
#ifndef BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_NODES_H
#define BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_NODES_H

#include "backends/gpu/gpu_backend.h"

// Adds a node for a copy, a fill, a host call or nothing. The task's device is current.
braid_status braid_driver_graph_add_plain(struct gpu_backend *gpu, const struct gpu_behind *behind,
                                          const struct backend_task *task, gpu_node *out_node);

// One without work, for any task.
braid_status braid_driver_graph_add_empty_node(const struct gpu_backend *gpu,
                                               const struct gpu_behind *behind,
                                               const struct backend_task *task, gpu_node *out_node);

// A copy or fill, as a new node or in one of an executable.
braid_status braid_driver_graph_put_memory_work(const struct gpu_backend *gpu,
                                                const struct gpu_site *site,
                                                const struct backend_task *task);

#endif
