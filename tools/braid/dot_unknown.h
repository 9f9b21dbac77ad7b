// SPDX-License-Identifier: Apache-2.0
// Attributes of nodes that are nearly one of ours, and would be ignored in silence.
#ifndef BRAID_TOOL_DOT_UNKNOWN_H
#define BRAID_TOOL_DOT_UNKNOWN_H

#include "dot_attributes.h"

// Writes a line to standard error for each attribute of a node that is none of the `num` names, but
// differs from one by a letter or by capitals.
void dot_unknown_tell(const struct dot_file *file, Agraph_t *graph, const char *const *names,
                      size_t num);

#endif
