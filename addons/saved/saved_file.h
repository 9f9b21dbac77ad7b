// SPDX-License-Identifier: Apache-2.0
// The file of a saved plan. Its numbers are of 4 or 8 bytes, the lowest byte first.
//
// - 8 bytes: "braidpln".
// - 4: the format, 1.
// - 4, 4: the nodes of the graph; the regions that are planned, of which the frame is one.
// - 8: braid_graph_get_digest.
// - 4, 4: max_lanes; 1 with fixed_lanes, and 2 more with ignore_costs.
// - 8 each: braid_cost_model, in the order of its members.
// - The regions as the graph numbers them, and the frame last.
// - 4: delays of the frame: units that were ready before the end of the one before on their lane.
// - 12 each: the last node before, the first node behind, and braid_serialisation_cause.
// - 8: a check of all bytes before.
//
// Each region has:
// - 4, 4: its nodes and lanes.
// - 8, 8: digests of its structure, and of its costs, as planning reads them.
// - 16 each: its nodes in issue order: the node, the lane (4), and the start in ns (8).
//
// Nodes of a region count from 0 in the order of the graph. Nodes that no output needs have none.
#ifndef BRAID_SAVED_SAVED_FILE_H
#define BRAID_SAVED_SAVED_FILE_H

#include <stdint.h>

#include <braid/status.h>

#include "plan/plan_options.h"
#include "plan/plan_placement.h"

struct saved_node {
    uint32_t node, lane;
    uint64_t start_ns; // from the start of the region
};

struct saved_region {
    uint32_t num_nodes, num_lanes;
    uint64_t structure, costs; // digests
    struct saved_node *nodes;  // in issue order
};

struct saved_plan {
    uint32_t num_nodes; // the graph's
    uint32_t num_regions;
    uint64_t digest;
    struct plan_options options; // without places
    struct saved_region *regions;
    struct plan_delay *delays;
    uint32_t num_delays;
};

static inline uint64_t saved_mix(uint64_t digest, uint64_t number)
{
    digest = (digest ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 32;
}

// Errors: BRAID_IO_ERROR, BRAID_NO_MEMORY.
braid_status braid_saved_write(const char *path, const struct saved_plan *plan);

// Reads a plan of so many nodes and of this digest; nothing else of it is checked. Errors:
// BRAID_INVALID_ARGUMENT (no such file, a damaged one, or another graph), BRAID_IO_ERROR,
// BRAID_NO_MEMORY.
braid_status braid_saved_read(const char *path, uint32_t num_nodes, uint64_t digest,
                              struct saved_plan *out_plan);

void braid_saved_finish(struct saved_plan *plan);

#endif
