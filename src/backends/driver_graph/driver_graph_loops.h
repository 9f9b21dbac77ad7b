// SPDX-License-Identifier: Apache-2.0
// Loops and branches as nodes of the driver's graph, and the kernels that set their conditions.
//
// The driver plays a body while a condition is not 0, which kernels on the device set. A kernel
// before the loop sets it first. The last node of the body is a kernel that counts the iteration
// and sets it again. So no launch and no wait of the host is needed between iterations. An arm of a
// branch is such a body, played at most once: the kernel before the branch sets its condition.
#ifndef BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_LOOPS_H
#define BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_LOOPS_H

#include "backends/driver_graph/driver_graph_islands.h"
#include "tasks/player.h"

struct graph_loops;

// BRAID_UNSUPPORTED, and why, where the driver plays none of the stage's loops, or not this one.
braid_status braid_driver_graph_loops_check(const struct stage *stage);

// For a stage with loops; *out_loops is NULL where there are none. The device is current.
// Errors: BRAID_UNSUPPORTED, BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_driver_graph_loops_create(const struct stage *stage,
                                             struct graph_loops **out_loops);
void braid_driver_graph_loops_destroy(struct graph_loops *loops); // NULL does nothing

// Describes the loop or branch of a task for an island. Errors: BRAID_UNSUPPORTED (the device
// cannot read the condition), BRAID_DEVICE_ERROR.
braid_status braid_driver_graph_loops_describe(const struct graph_loops *loops,
                                               const struct backend_task *task,
                                               struct island_scope *out_scope);

// Adds a loop or branch, whose nodes go into *out_bodies, of which a second arm has one more.
// `body` is that of `program`.
braid_status braid_driver_graph_loops_add(struct graph_loops *loops,
                                          const struct gpu_behind *behind,
                                          const struct program *program, const struct program *body,
                                          const struct backend_task *task, gpu_node *out_node,
                                          gpu_graph *out_bodies);
// Adds the kernel that ends an iteration, behind all other nodes of the body. *starts_early says
// whether it may start early, behind the only node before it, and then whether it does.
braid_status braid_driver_graph_loops_add_next(struct graph_loops *loops,
                                               const struct gpu_behind *behind,
                                               const struct backend_task *task, bool *starts_early);

// Gives a loop other values for later launches.
braid_status braid_driver_graph_loops_set(const struct graph_loops *loops,
                                          gpu_executable executable,
                                          const struct backend_task *task);

// See player.num_iterations.
uint64_t braid_driver_graph_loops_num_iterations(const struct graph_loops *loops, uint32_t loop,
                                                 enum iterations which);

#endif
