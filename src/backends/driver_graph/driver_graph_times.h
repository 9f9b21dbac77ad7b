// SPDX-License-Identifier: Apache-2.0
// Times of the nodes of a driver's graph: writing them, their memory, and reading them.
//
// Only CUDA's. Kernels with text get code that writes their begin and end (gpu_ptx_stamps.h).
// Around every other node stand two kernels that write the time. All write into one frame of stamps
// on the device. The graph's last node is a kernel that puts these with the frames kept, in turn,
// and zeroes them for the next. So a launch makes no other call than without times.
#ifndef BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_TIMES_H
#define BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_TIMES_H

#include "backends/gpu/gpu_backend.h"
#include "tasks/player.h"

struct graph_times;
struct graph_tallies;

// For the frames of a stage that keeps times. The device is current.
// Errors: BRAID_UNSUPPORTED (braid_gpu_clock_check), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_driver_graph_times_create(const struct stage *stage,
                                             struct graph_times **out_times);
// NULL is destroyed to no effect. Waits for nothing.
void braid_driver_graph_times_destroy(struct graph_times *times);

// The launch of a task, a kernel, that writes its times; *out_inside is false where it cannot, and
// must stand between two stamps. Its args are valid until the next call. Errors: as loading
// kernels.
braid_status braid_driver_graph_times_launch(struct graph_times *times,
                                             const struct backend_task *task,
                                             struct backend_launch *out_launch, bool *out_inside);
// The same for new arguments of a task whose node was added. False: it has no times in it.
bool braid_driver_graph_times_launch_again(struct graph_times *times,
                                           const struct backend_task *task,
                                           struct backend_launch *out_launch);

// Adds a node that writes when a task begins, or has ended.
braid_status braid_driver_graph_times_add_stamp(struct graph_times *times,
                                                const struct gpu_behind *behind,
                                                const struct backend_task *task, bool ended,
                                                gpu_node *out_node);

// Where the calls of an island write, one behind the other from that of the given task.
void *braid_driver_graph_times_of_island(struct graph_times *times, uint32_t first_task);
// It was made: its tasks write their times themselves.
void braid_driver_graph_times_note_inside(struct graph_times *times, uint32_t task);

// For a program that is one island: makes room for the frames that are kept, each with so many
// stamps. The calls write there themselves. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_driver_graph_times_add_whole(struct graph_times *times, uint32_t num_stamps,
                                                void **out_stamps);
// A task has that stamp of each frame.
void braid_driver_graph_times_note_stamp(struct graph_times *times, uint32_t task, uint32_t stamp);
// Returns which of those frames the next launch begins with.
uint32_t braid_driver_graph_times_next(const struct graph_times *times);

// Adds the node that keeps the times of a frame, behind all others.
braid_status braid_driver_graph_times_add_keep(struct graph_times *times,
                                               const struct gpu_behind *behind);
// Adds the node that adds up the times of an iteration or arm, behind all others of its body.
braid_status braid_driver_graph_times_add_tally(struct graph_times *times,
                                                const struct gpu_behind *behind, uint32_t region,
                                                gpu_node *out_node);
// Returns the tallies of a plan's program with bodies.
struct graph_tallies *braid_driver_graph_times_tallies(const struct graph_times *times);
// Frames were launched.
void braid_driver_graph_times_launched(struct graph_times *times, uint32_t num_frames);

// See player.read_times.
braid_status braid_driver_graph_times_read(const struct graph_times *times,
                                           struct profile *out_profile);
// See player.read_clock.
braid_status braid_driver_graph_times_read_clock(const struct graph_times *times,
                                                 struct profile *profile);

#endif
