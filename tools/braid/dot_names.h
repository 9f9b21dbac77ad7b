// SPDX-License-Identifier: Apache-2.0
// A table of different names, numbered in the order of their first appearance.
#ifndef BRAID_TOOL_DOT_NAMES_H
#define BRAID_TOOL_DOT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct dot_names {
    const char **names;
    struct dot_name_slot *slots;   // a power of two of them, at most half of them used
    struct dot_name_chunk *chunks; // the names' bytes, which stay where they are
    uint32_t num, room, num_slots;
};

// The number of a name; DOT_NONE where it is not in the table.
uint32_t dot_names_find(const struct dot_names *names, const char *name);

// The same, after adding a name that is new. DOT_NONE: no memory.
uint32_t dot_names_add(struct dot_names *names, const char *name, bool *out_is_new);

// Forgets which names there are: those that somebody points to stay.
void dot_names_close(struct dot_names *names);

void dot_names_finish(struct dot_names *names);

#endif
