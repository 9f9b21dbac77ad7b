// SPDX-License-Identifier: Apache-2.0
// What a graph's drawing says for programs that plan it: all that planning looks at.
#ifndef BRAID_GRAPH_GRAPH_DOT_ATTRIBUTES_H
#define BRAID_GRAPH_GRAPH_DOT_ATTRIBUTES_H

#include <stdio.h>

#include "graph/changes.h"

// A graph that is drawn. What a node has of scratch is no resource in drawings: the others are
// numbered without.
struct graph_drawing {
    const braid_graph *graph;
    struct graph_changes changes;
    uint32_t *numbers; // by resource; NULL: as in the graph
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_graph_drawing_begin(const braid_graph *graph, struct graph_drawing *out_drawing);
void braid_graph_drawing_end(struct graph_drawing *drawing);

static inline uint32_t graph_drawn_number(const struct graph_drawing *drawing, uint32_t resource)
{
    return drawing->numbers ? drawing->numbers[resource] : resource;
}

// graph [cost_unit=ns, resources="...", parameters="..."]; the latter only where there are any.
void braid_graph_dot_write_graph(const struct graph_drawing *drawing, FILE *file);

// Attributes of a node, each behind a comma: cost, kind, launch, lane_hint, prelude_of or
// epilogue_of, accesses, and those of the next function, as far as they are not what goes without
// saying.
void braid_graph_dot_write_node(const struct graph_drawing *drawing, uint32_t index, FILE *file);

// Of a node that frames give addresses or parameters to: args, grid_from, to, from, user,
// value_bytes, uses.
void braid_graph_dot_write_values(const struct graph_drawing *drawing, uint32_t index, FILE *file);
void braid_graph_dot_write_parameters(const braid_graph *graph, FILE *file);

// A name, so that none can be taken for what stands between names.
void braid_graph_dot_write_code(FILE *file, const char *name);

// What stands before item `index` of a list. Graphviz takes no long strings in one piece; a
// backslash before a newline stands for nothing.
void braid_graph_dot_write_space(FILE *file, uint32_t index);

#endif
