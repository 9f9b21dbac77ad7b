// SPDX-License-Identifier: Apache-2.0
// The attributes in a graph's drawing for programs that plan it.
#ifndef BRAID_REPORT_GRAPH_DOT_ATTRIBUTES_H
#define BRAID_REPORT_GRAPH_DOT_ATTRIBUTES_H

#include <stdio.h>

#include "graph/changes.h"

// graph [cost_unit=ns, resources="...", outputs="..."]; the latter two only where there are any.
void braid_graph_dot_write_graph(const braid_graph *graph, FILE *file);

// Attributes of a node, each behind a comma: cost, kind, launch, lane_hint, prelude_of or
// epilogue_of, accesses, pointers and others. An attribute with its default is left out.
void braid_graph_dot_write_node(const braid_graph *graph, const struct graph_changes *changes,
                                uint32_t index, FILE *file);

#endif
