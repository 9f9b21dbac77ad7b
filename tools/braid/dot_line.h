// SPDX-License-Identifier: Apache-2.0
// On which line of a file an edge or an attribute stands: for error messages only, as it parses
// again.
#ifndef BRAID_TOOL_DOT_LINE_H
#define BRAID_TOOL_DOT_LINE_H

#include "dot_text.h"

// Edges and nodes are counted from 0 in the order in which they first appear.
uint64_t dot_line_of_edge(const struct dot_text *text, uint32_t edge);

// The line that gives a node its attribute of that name last; 1 if no statement of its own does.
uint64_t dot_line_of_attribute(const struct dot_text *text, uint32_t node, const char *name);

#endif
