// SPDX-License-Identifier: Apache-2.0
// Finds a cycle in a file's graph, and says on which line it closes.
#ifndef BRAID_TOOL_DOT_CYCLE_H
#define BRAID_TOOL_DOT_CYCLE_H

#include "dot_file.h"

// Reports a cycle if the graph has one: the line of the last of its edges, and its nodes.
enum exit_status dot_cycle_check(const struct dot_file *file);

#endif
