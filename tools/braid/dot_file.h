// SPDX-License-Identifier: Apache-2.0
// Task graphs read from Graphviz DOT files.
#ifndef BRAID_TOOL_DOT_FILE_H
#define BRAID_TOOL_DOT_FILE_H

#include <stdint.h>

#include "dot_text.h"
#include "message.h"

struct dot_node {
    char *id;      // as in the file
    char *label;   // what a reader would see in a drawing; NULL: the id
    uint64_t cost; // 1 where none is given
};

struct dot_edge {
    uint32_t from, to; // indices of nodes
};

struct dot_file {
    struct dot_text text;
    char *cost_unit;        // NULL: not given
    uint64_t unit_ns;       // how long a unit of cost is planned
    struct dot_node *nodes; // in the order of their first appearance
    struct dot_edge *edges; // in the order of the file
    uint32_t num_nodes, num_edges;
    uint32_t without_cost; // nodes to which none is given
};

// Reads the one directed graph in a file ("-": standard input), which has no cycle. A file that
// cannot be read or used is reported with its line, and nothing is written to out_file.
enum exit_status dot_file_read(const char *path, struct dot_file *out_file);

void dot_file_finish(struct dot_file *file);

#endif
