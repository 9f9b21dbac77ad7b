// SPDX-License-Identifier: Apache-2.0
// The order of nodes of two frames in driver graphs: events, recorded and waited for by nodes.
#ifndef BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_FRAMES_H
#define BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_FRAMES_H

#include "backends/gpu/gpu_backend.h"
#include "tasks/player.h"

struct graph_frames;

// Whether the driver has such nodes.
bool braid_driver_graph_frames_orders(struct backend *backend, bool several_places);

// The events of all slots, for the playing of a stage: *out_frames is NULL where there are none.
// Slot 0's makes them, and the others, which are given those, share them; each is counted as a
// user. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_driver_graph_frames_create(const struct stage *stage,
                                              struct graph_frames *of_first,
                                              struct graph_frames **out_frames);
void braid_driver_graph_frames_leave(struct graph_frames *frames); // NULL does nothing

// Adds the node of an operation between frames: a record of an event, or a wait for it.
braid_status braid_driver_graph_frames_add(const struct graph_frames *frames,
                                           const struct stage *stage,
                                           const struct gpu_behind *behind, const braid_step *op,
                                           gpu_node *out_node);

#endif
