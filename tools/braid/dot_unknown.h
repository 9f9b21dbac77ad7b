// SPDX-License-Identifier: Apache-2.0
// Attributes that are nearly one of ours, and would be ignored in silence.
#ifndef BRAID_TOOL_DOT_UNKNOWN_H
#define BRAID_TOOL_DOT_UNKNOWN_H

#include "dot_attributes.h"

// Whether a name is none of the `num` names, but differs from one by a letter or by capitals.
bool dot_unknown_is_near(const char *const *names, size_t num, const char *name);

// Writes a line to standard error for each attribute of a node whose name is near to one of those.
enum exit_status dot_unknown_tell(struct dot_file *file, const char *const *names, size_t num);

// The same for the graph's own attributes.
enum exit_status dot_unknown_tell_of_graph(struct dot_file *file, const char *const *names,
                                           size_t num);

#endif
