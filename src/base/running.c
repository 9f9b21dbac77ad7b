// SPDX-License-Identifier: Apache-2.0
// The calls of an exec's islands that ran when the device failed, for the failure's message.
#include "base/running.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NAMED = 4 };

void braid_running_add(struct running *running, const char *node, const char *where, uint32_t index)
{
    size_t used = strlen(running->nodes);
    if (running->num++ < MOST_NAMED)
        snprintf(running->nodes + used, sizeof(running->nodes) - used, "%s%s (%s %u)",
                 used ? ", " : "", node, where, index);
}

void braid_running_write(const struct running *running, char *text, size_t size)
{
    const char *islands = running->num_islands == 1 ? "island" : "islands";
    char more[32] = "";
    if (running->num > MOST_NAMED)
        snprintf(more, sizeof(more), " and %u more", running->num - MOST_NAMED);
    if (running->num)
        snprintf(text, size, "in its %s these nodes were running: %s%s", islands, running->nodes,
                 more);
    else if (running->is_unknown)
        snprintf(text, size, "its %s of %u calls may have been running", islands,
                 running->num_calls);
    else
        snprintf(text, size, "no node of its %s was running", islands);
}
