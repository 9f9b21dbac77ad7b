// SPDX-License-Identifier: Apache-2.0
// How messages name a node: by index and name, since nodes may share a name.
#ifndef BRAID_BASE_NODE_TEXT_H
#define BRAID_BASE_NODE_TEXT_H

#include <stdint.h>

// By value, so that a message can name several without buffers of its own.
struct node_text {
    char text[160]; // a longer name is cut
};

// "2 'step'"; the name alone, "'step'", for an index of UINT32_MAX. NULL reads as an empty name.
struct node_text braid_node_text(uint32_t node, const char *name);

#endif
