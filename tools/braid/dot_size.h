// SPDX-License-Identifier: Apache-2.0
// Counts the nodes and edges that a DOT text stands for, before Graphviz makes them.
#ifndef BRAID_TOOL_DOT_SIZE_H
#define BRAID_TOOL_DOT_SIZE_H

#include "dot_limits.h"
#include "dot_text.h"

// Reports a text whose nodes, edges, subgraphs, their members or names of attributes are over the
// limits. An edge counts as often as the text says it. A text with an error may pass: Graphviz
// finds the error.
enum exit_status dot_size_check(const struct dot_text *text, const struct dot_limits *limits);

#endif
