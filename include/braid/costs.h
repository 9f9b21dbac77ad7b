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

// What a node takes as a call of an island, in nanoseconds: kernels are shorter there, where a call
// finds in its multiprocessor's caches what the one before left. braid_exec_tune measures it; plans
// of islands of a whole graph go by it, in place of the cost, for kernels of one block. It is
// forgotten when the node is given another cost (braid_graph_set_cost, braid_exec_measure), and 0
// forgets it too. Errors: BRAID_INVALID_ARGUMENT (NULL, not a node of this graph), BRAID_NO_MEMORY.
// Thread-safety: as changing the graph.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_set_inside_cost(braid_graph *graph,
                                                                    braid_node node,
                                                                    uint64_t cost_ns);

// 0: it is not known, the graph is NULL, or the node is none of it. Thread-safety: as reading the
// graph.
BRAID_API uint64_t braid_graph_inside_cost(const braid_graph *graph, braid_node node);

// Writes the costs of all nodes of a graph, what they take inside an island among them, as JSON
// (docs/json.md): with the graph's digest
// (braid_graph_digest), and the backend and name of the device that they are of. Where writing
// fails, for example on a full disk, the file stays as it was: the new one is written beside it, in
// a folder that takes new files, and then takes its place. Thread-safety: as reading the graph.
// Errors: BRAID_INVALID_ARGUMENT (NULL), BRAID_IO_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_save_costs(const braid_graph *graph,
                                                               const braid_device *device,
                                                               const char *path);

// Gives the nodes of a graph the costs of a file, all of them or none; what they take inside an
// island is then what the file says, or not known. `device` is the one that
// they must be of; NULL: any. Errors: BRAID_INVALID_ARGUMENT (NULL; it is no file of costs, or has
// more than 1 MiB and 64 bytes a node, is of a format that this version does not know, of another
// graph or another device: the message says which), BRAID_IO_ERROR, BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_load_costs(braid_graph *graph,
                                                               const braid_device *device,
                                                               const char *path);

#ifdef __cplusplus
}
#endif

#endif
