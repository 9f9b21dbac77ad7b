// SPDX-License-Identifier: Apache-2.0
// How messages name a node.
#include "base/node_text.h"

#include <stdio.h>

struct node_text braid_node_text(uint32_t node, const char *name)
{
    struct node_text text;
    name = name ? name : "";
    if (node == UINT32_MAX)
        snprintf(text.text, sizeof(text.text), "'%.150s'", name);
    else
        snprintf(text.text, sizeof(text.text), "%u '%.140s'", node, name);
    return text;
}
