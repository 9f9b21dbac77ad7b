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

// Writes the costs of all nodes of a graph as JSON (docs/json.md): with the graph's digest
// (braid_graph_digest), and the backend and name of the device that they are of. Where writing
// fails, for example on a full disk, the file stays as it was: the new one is written beside it, in
// a folder that takes new files, and then takes its place. Thread-safety: as reading the graph.
// Errors: BRAID_INVALID_ARGUMENT (NULL), BRAID_IO_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_save_costs(const braid_graph *graph,
                                                               const braid_device *device,
                                                               const char *path);

// Gives the nodes of a graph the costs of a file, all of them or none. `device` is the one that
// they must be of; NULL: any. Errors: BRAID_INVALID_ARGUMENT (NULL; it is no file of costs, or has
// more than 1 MiB and 64 bytes a node, is of a format that this version does not know, of another
// graph or another device, or a cost or the sum of all is over INT64_MAX: the message says which),
// BRAID_IO_ERROR, BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_load_costs(braid_graph *graph,
                                                               const braid_device *device,
                                                               const char *path);

#ifdef __cplusplus
}
#endif

#endif
