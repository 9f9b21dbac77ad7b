// SPDX-License-Identifier: Apache-2.0
// An island as a graph of the driver's, of one node.
//
// On an H200 launching a kernel of 4 KB of arguments takes the host 4.5 to 5.7 us. Launching a
// graph of that kernel alone takes 1.4 to 2.2: the driver has its arguments already. So a frame
// with the arguments of the frame before is launched that way. Others are launched as a kernel,
// since telling the driver of new arguments takes as long as launching with them.
#ifndef BRAID_ISLANDS_ISLAND_GRAPH_H
#define BRAID_ISLANDS_ISLAND_GRAPH_H

#include "backends/gpu/gpu_backend.h"

struct island_graph;

// Makes the graph of a launch whose arguments are read again when they have changed. NULL: the
// driver has no such graphs. The device is current. Errors: BRAID_DEVICE_ERROR, BRAID_NO_MEMORY.
braid_status braid_island_graph_create(struct gpu_backend *gpu, const struct backend_launch *launch,
                                       struct island_graph **out_graph);
// Nothing of it is in flight; NULL is destroyed to no effect. If the device is not current, the
// parts that need it stay with the driver.
void braid_island_graph_destroy(struct island_graph *graph, bool current);

// Tells that the arguments of the launch, or its kernel, are others from now on. NULL: nobody asks.
void braid_island_graph_change(struct island_graph *graph);

// Whether the next frame, of which one is to be launched, is launched so: asked once for each.
// `graph` may be NULL.
bool braid_island_graph_takes(struct island_graph *graph);
// Then launches it with the present values of `launch`. *out_slot is the call that failed.
gpu_result braid_island_graph_launch(struct island_graph *graph,
                                     const struct backend_launch *launch, gpu_stream stream,
                                     const void **out_slot);

#endif
