// SPDX-License-Identifier: Apache-2.0
// The nodes of an exec that run, or ran when the device failed, as lists and in messages.
#ifndef BRAID_BASE_RUNNING_H
#define BRAID_BASE_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_RUNNING = 64 }; // from there on only their number is told

struct running_node {
    uint32_t node, lane;
    uint32_t island; // the frame's, that it is in; UINT32_MAX: it is in none, or in the only one
    uint32_t slot;   // the frame's
    const char *name;
};

struct running {
    struct running_node nodes[MOST_RUNNING];
    uint32_t num;                    // all of them
    uint32_t slot;                   // that of the frame that is looked at
    uint32_t num_islands, num_calls; // looked at
    bool has_notes;                  // nodes outside islands have some, too
    bool is_unknown;                 // some island takes no notes
};

void braid_running_add(struct running *running, uint32_t node, const char *name, uint32_t lane,
                       uint32_t island);
// The first few by name and place, for a message.
void braid_running_write(const struct running *running, char *text, size_t size);

#endif
