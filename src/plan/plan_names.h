// SPDX-License-Identifier: Apache-2.0
// Copies a graph's names, so that a plan may outlive its graph.
#ifndef BRAID_PLAN_NAMES_H
#define BRAID_PLAN_NAMES_H

#include <stdbool.h>

#include "graph/graph.h"

struct plan_names {
    char *text;            // NUL-terminated strings
    uint32_t *of_node;     // offsets into text; NULL: every node has the name at offset 0
    uint32_t *of_resource; // full names, with the bytes of ranges
    uint32_t *of_change;   // what of each node changes, by parameters; NULL: nothing of any
};

#endif
