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

// Writes the costs of all nodes of a graph as JSON (docs/json.md). The file also holds the graph's
// digest (braid_graph_digest), the backend, and the name of the device that was measured. Braid
// writes a new file beside the old one and then renames it. If writing fails, the old file stays.
// Errors: BRAID_INVALID_ARGUMENT (NULL), BRAID_IO_ERROR. Thread-safety: as reading the graph.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_save_costs(const braid_graph *graph,
                                                               const braid_device *device,
                                                               const char *path);

// Gives the nodes of a graph the costs of a file: all of them or none. `device` is the device that
// the costs must be of; NULL: any. The message of an error names its cause. Errors:
// - BRAID_INVALID_ARGUMENT: NULL; a file that braid_graph_save_costs has not written, or of another
//   format.
// - BRAID_INVALID_ARGUMENT: a file of another graph or another device.
// - BRAID_INVALID_ARGUMENT: the sum of all costs is over INT64_MAX.
// - BRAID_IO_ERROR, BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_load_costs(braid_graph *graph,
                                                               const braid_device *device,
                                                               const char *path);

#ifdef __cplusplus
}
#endif

#endif
