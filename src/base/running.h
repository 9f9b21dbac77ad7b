// SPDX-License-Identifier: Apache-2.0
// The calls of an exec's islands that ran when the device failed, for the failure's message.
#ifndef BRAID_BASE_RUNNING_H
#define BRAID_BASE_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct running {
    char nodes[ERROR_MESSAGE_BYTES / 2]; // the first few, by name and place
    uint32_t num;                        // all of them
    uint32_t num_islands, num_calls;     // looked at
    bool is_unknown;                     // some island takes no notes
};

// One more node, which was running in that lane or island.
void braid_running_add(struct running *running, const char *node, const char *where,
                       uint32_t index);
void braid_running_write(const struct running *running, char *text, size_t size);

#endif
