// SPDX-License-Identifier: Apache-2.0
// What a node is called in text for people: by its label, if no other node has that.
#ifndef BRAID_TOOL_DOT_SHOWN_H
#define BRAID_TOOL_DOT_SHOWN_H

#include "dot_file.h"

struct dot_shown {
    const struct dot_file *file;
    bool *is_unique; // by node: its label tells it from all others
};

// Out of memory, all nodes go by their ids.
struct dot_shown dot_shown_create(const struct dot_file *file);

// The label of a node, or its id, which is always its own. A label may have several lines.
const char *dot_shown_name(const struct dot_shown *shown, uint32_t node);

void dot_shown_finish(struct dot_shown *shown);

#endif
