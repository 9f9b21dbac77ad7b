// SPDX-License-Identifier: Apache-2.0
// Times of nodes in loops and branches of a driver's graph: of each node, the sum of its runs in a
// frame. A body ends with a kernel that adds the times of its nodes to their tallies, and zeroes
// the stamps for the next iteration. If a loop or branch is an island, its calls do that
// themselves.
#ifndef BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_TALLY_H
#define BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_TALLY_H

#include "backends/gpu/gpu_backend.h"
#include "tasks/profile.h"

struct graph_tallies;

// On the device: of a call or scope in one frame, which counts from 1. A scope has begun last at
// `begun`.
struct gpu_tally {
    uint64_t frame, num_runs, sum_ns, begun;
};

// Memory of the device that GPU_OWN_TALLY shares with GPU_OWN_KEEP.
struct graph_stamps {
    void *stamps, *rows, *counter;
    uint32_t num_rows, room, keep_blocks;
    uint32_t num_tasks, num_regions; // in the plan's program: an island has a region at least
};

// The device is current. Errors: BRAID_UNSUPPORTED, if the driver does not take the kernel's text;
// BRAID_NO_MEMORY; BRAID_DEVICE_ERROR.
braid_status braid_driver_graph_tallies_create(struct gpu_backend *gpu,
                                               const struct graph_stamps *stamps,
                                               struct graph_tallies **out_tallies);
// NULL is destroyed to no effect. Waits for nothing.
void braid_driver_graph_tallies_destroy(struct graph_tallies *tallies);

// Adds the kernel behind all other nodes of a body, whose rows of stamps are these.
braid_status braid_driver_graph_tallies_add(const struct graph_tallies *tallies,
                                            const struct gpu_behind *behind, uint32_t first_row,
                                            uint32_t num_rows, gpu_node *out_node);

// Makes room for the runs of so many calls and scopes of an island, before it is added. The island
// counts frames by *out_stamps. The device is current. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_driver_graph_tallies_add_island(struct graph_tallies *tallies, uint32_t num_rows,
                                                   struct gpu_tally **out_memory,
                                                   const struct graph_stamps **out_stamps);
// A task has that row of the island that was added last.
void braid_driver_graph_tallies_note(struct graph_tallies *tallies, uint32_t task, uint32_t row);

// Reads those of all frames that are kept. The device is current. Errors: BRAID_DEVICE_ERROR.
braid_status braid_driver_graph_tallies_read(struct graph_tallies *tallies);
// As read last: the times of a task with that row of stamps in a frame, the first of which is 0.
// Zeros: it did not run then.
struct profile_tally braid_driver_graph_tally_of(const struct graph_tallies *tallies,
                                                 uint64_t frame, uint32_t task, uint32_t row);

#endif
