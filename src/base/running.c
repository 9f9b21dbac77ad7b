// SPDX-License-Identifier: Apache-2.0
// The nodes of an exec that run, or ran when the device failed, as lists and in messages.
#include "base/running.h"

#include <stdio.h>

#include "base/append.h"
#include "base/node_text.h"

enum { MOST_NAMED = 4 };

void braid_running_add(struct running *running, uint32_t node, const char *name, uint32_t lane,
                       uint32_t island)
{
    if (running->num < MOST_RUNNING)
        running->nodes[running->num] = (struct running_node){
            .node = node, .lane = lane, .island = island, .slot = running->slot, .name = name
        };
    running->num++;
}

static void write_node(const struct running_node *node, char *text, size_t size)
{
    bool in_island = node->island != UINT32_MAX;
    braid_append(text, size, "%s%s (%s %u)", *text ? ", " : "",
                 braid_node_text(node->node, node->name).text, in_island ? "island" : "lane",
                 in_island ? node->island : node->lane);
}

void braid_running_write(const struct running *running, char *text, size_t size)
{
    const char *islands = running->num_islands == 1 ? "island" : "islands";
    char more[32] = "", nodes[512] = "", inside[32] = "", of[32] = "";
    if (!running->has_notes) {
        snprintf(inside, sizeof(inside), "in its %s ", islands);
        snprintf(of, sizeof(of), " of its %s", islands);
    }
    for (uint32_t i = 0; i < running->num && i < MOST_NAMED; i++)
        write_node(&running->nodes[i], nodes, sizeof(nodes));
    if (running->num > MOST_NAMED)
        snprintf(more, sizeof(more), " and %u more", running->num - MOST_NAMED);
    if (running->num)
        snprintf(text, size, "%sthese nodes were running: %s%s", inside, nodes, more);
    else if (running->is_unknown)
        snprintf(text, size, "its %s of %u calls may have been running", islands,
                 running->num_calls);
    else
        snprintf(text, size, "no node%s was running", of);
}
