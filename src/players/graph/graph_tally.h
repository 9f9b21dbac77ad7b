// SPDX-License-Identifier: Apache-2.0
// Times of nodes in loops and branches of a driver's graph: of each node, the sum of its runs in a
// frame. A body ends with a kernel that adds the times of its nodes to their tallies, and zeroes
// the stamps for the next iteration.
#ifndef BRAID_PLAYERS_GRAPH_GRAPH_TALLY_H
#define BRAID_PLAYERS_GRAPH_GRAPH_TALLY_H

#include "backends/gpu/gpu_backend.h"
#include "program/profile.h"

struct graph_tallies;

// On the device: of a row in one frame. `frame` counts from 1.
struct gpu_tally {
    uint64_t frame;
    struct profile_tally runs;
};

// Memory of the device that GPU_OWN_TALLY shares with GPU_OWN_KEEP.
struct graph_stamps {
    void *stamps, *rows, *counter;
    uint32_t num_rows, room, keep_blocks;
};

// The device is current. Errors: BRAID_UNSUPPORTED, if the driver does not take the kernel's text;
// BRAID_NO_MEMORY; BRAID_DEVICE_ERROR.
braid_status braid_graph_tallies_create(struct gpu_backend *gpu, const struct graph_stamps *stamps,
                                        struct graph_tallies **out_tallies);
// NULL is destroyed to no effect. Waits for nothing.
void braid_graph_tallies_destroy(struct graph_tallies *tallies);

// Adds the kernel behind all other nodes of a body, whose rows of stamps are these.
braid_status braid_graph_tallies_add(const struct graph_tallies *tallies,
                                     const struct gpu_behind *behind, uint32_t first_row,
                                     uint32_t num_rows, gpu_node *out_node);

// Of all frames that are kept, for braid_graph_tally_of. The device is current.
// The caller frees them. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_graph_tallies_read(const struct graph_tallies *tallies,
                                      struct gpu_tally **out_read);
// The times of a row in a frame, the first of which is 0. Zeros: it did not run then.
struct profile_tally braid_graph_tally_of(const struct graph_tallies *tallies,
                                          const struct gpu_tally *read, uint64_t frame,
                                          uint32_t row);

#endif
