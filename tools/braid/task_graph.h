// SPDX-License-Identifier: Apache-2.0
// A file's graph as a braid_graph.
#ifndef BRAID_TOOL_TASK_GRAPH_H
#define BRAID_TOOL_TASK_GRAPH_H

#include <braid/graph.h>

#include "dot_file.h"

// Adds node i of the file to the graph, as its node i; `options` are complete.
typedef braid_status task_graph_add(braid_graph *graph, const struct dot_node *node,
                                    const braid_node_options *options, uint32_t index, void *user);

// Adds a node of the file's own kind that is only there to be planned; `user` is not used.
task_graph_add task_graph_add_to_plan;

// Makes a graph with the file's resources, nodes, added by `add`, and edges. Costs that the file
// does not give are unknown to it.
enum exit_status task_graph_create(const struct dot_file *file, task_graph_add *add, void *user,
                                   braid_graph **out_graph);

// A node's name in drawings: its label if it has one, else its id.
const char *task_graph_name(const struct dot_node *node);

// What went wrong in planning, as a mistake of the file where it is one: a cycle through bundles or
// accesses only the library finds.
enum exit_status task_graph_fail(const struct dot_file *file, braid_status status);

#endif
