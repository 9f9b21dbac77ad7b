// SPDX-License-Identifier: Apache-2.0
// The nodes of an exec that run, or ran when the device failed, as lists and in messages.
#ifndef BRAID_BASE_RUNNING_H
#define BRAID_BASE_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_RUNNING = 64 }; // of which more is told than their number

struct running_node {
    uint32_t node, lane;
    uint32_t island; // of the frame, that it is in; UINT32_MAX: it is in none, or in the only one
    uint32_t slot;   // of the frame
    const char *name;
};

struct running {
    struct running_node nodes[MOST_RUNNING];
    uint32_t num;                    // all of them
    uint32_t slot;                   // of the frame that is looked at
    uint32_t num_islands, num_calls; // looked at
    bool has_notes;                  // of nodes outside islands, too
    bool is_unknown;                 // some island takes no notes
};

void braid_running_add(struct running *running, uint32_t node, const char *name, uint32_t lane,
                       uint32_t island);
// The first few by name and place, for a message.
void braid_running_write(const struct running *running, char *text, size_t size);

#endif
