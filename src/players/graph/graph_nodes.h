// SPDX-License-Identifier: Apache-2.0
// Nodes of the driver's graph for work that is no kernel.
#ifndef BRAID_PLAYERS_GRAPH_GRAPH_NODES_H
#define BRAID_PLAYERS_GRAPH_GRAPH_NODES_H

#include "backends/gpu/gpu_backend.h"

// Of a copy, a fill, a host call or nothing. The task's device is current.
braid_status braid_graph_add_plain(struct gpu_backend *gpu, const struct gpu_behind *behind,
                                   const struct backend_task *task, gpu_node *out_node);

// One without work, for any task.
braid_status braid_graph_add_empty_node(const struct gpu_backend *gpu,
                                        const struct gpu_behind *behind,
                                        const struct backend_task *task, gpu_node *out_node);

// The bits of a fill's value that its values have: a node refuses others, a stream drops them.
uint32_t braid_graph_cut_value(uint32_t value, uint32_t value_bytes);

#endif
