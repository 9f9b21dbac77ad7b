// SPDX-License-Identifier: Apache-2.0
// Loops and branches of a file as those of a braid_graph.
#ifndef BRAID_TOOL_TASK_REGION_H
#define BRAID_TOOL_TASK_REGION_H

#include <braid/region.h>

#include "dot_file.h"

// The body that nodes are added to now.
struct task_region {
    uint32_t node; // the file's number; DOT_NONE: the frame
    bool is_else;  // its second arm
};

// Ends bodies and begins second arms until nodes of that body can be added.
braid_status task_region_reach(braid_graph *graph, const struct dot_file *file,
                               struct task_region *at, uint32_t around, bool is_else);

// Adds a loop or branch, whose body is then the one that nodes are added to. Where it is run, no
// node writes its condition, and a loop runs as often as is expected.
braid_status task_region_begin(braid_graph *graph, const struct dot_file *file, uint32_t index,
                               const braid_node_options *options, const braid_resource *resources,
                               bool is_run, struct task_region *at);

#endif
