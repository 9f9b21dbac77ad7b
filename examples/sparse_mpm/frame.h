// SPDX-License-Identifier: Apache-2.0
// The graph of one frame: all substeps of all materials.
#ifndef MPM_FRAME_H
#define MPM_FRAME_H

#include <braid/braid.h>

#include "world.h"

// What the nodes of one material touch. Lists and allocators are resources as much as buffers: two
// loops that fill one list may not run at once, even if nothing else connects them.
struct mpm_resources {
    braid_resource particles, mask, blocks, cells, velocity, foam;
    braid_resource pointer_list, part_list, foam_list;
};

struct mpm_frame {
    const struct mpm_world *world;
    bool on_cpu;
    braid_graph *graph;
    struct mpm_resources resources[MPM_NUM_MATERIALS];
    braid_node *updates; // the update_grid nodes, which have gravity as an argument
    uint32_t num_updates, num_nodes;
    braid_node fade_foam; // shares list:water.pointers with updates[MPM_WATER]
};

void mpm_frame_init(struct mpm_frame *frame, const struct mpm_world *world);
void mpm_frame_finish(struct mpm_frame *frame);

// Costs of all nodes, in the order in which they were added.
void mpm_frame_set_costs(const struct mpm_frame *frame, const uint64_t *costs_ns);

// Gravity of the launches that follow.
void mpm_frame_set_gravity(const struct mpm_frame *frame, braid_exec *exec, mpm_vector gravity);

#endif
