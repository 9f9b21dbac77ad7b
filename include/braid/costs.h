// SPDX-License-Identifier: Apache-2.0
// Costs of a graph's nodes in a file.
#ifndef BRAID_COSTS_H
#define BRAID_COSTS_H

#include <braid/device.h>
#include <braid/graph.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// Writes the costs of all nodes of a graph as JSON (docs/json.md). If that fails, an older file
// stays.
// Errors: BRAID_IO_ERROR.
// Thread-safety: as reading the graph.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_save_costs(const braid_graph *graph,
                                                               const braid_device *device,
                                                               const char *path);

// Gives all nodes of a graph the costs of a file. They must be of `device`; NULL: of any.
// Errors: BRAID_IO_ERROR, BRAID_INVALID_ARGUMENT (no file of costs, another format, graph or
// device, a sum over INT64_MAX).
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_load_costs(braid_graph *graph,
                                                               const braid_device *device,
                                                               const char *path);

#ifdef __cplusplus
}
#endif

#endif
