// SPDX-License-Identifier: Apache-2.0
// A file's graph as a braid_graph.
#ifndef BRAID_TOOL_TASK_GRAPH_H
#define BRAID_TOOL_TASK_GRAPH_H

#include <braid/graph.h>

#include "dot_file.h"

// Adds node i of the file to the graph, as its node i.
typedef braid_status task_graph_add(braid_graph *graph, const struct dot_node *node, uint32_t index,
                                    void *user);

// Makes a graph with the file's nodes, added by `add`, and its edges.
enum exit_status task_graph_create(const struct dot_file *file, task_graph_add *add, void *user,
                                   braid_graph **out_graph);

// A node's name in drawings: its label if it has one, else its id.
const char *task_graph_name(const struct dot_node *node);

#endif
