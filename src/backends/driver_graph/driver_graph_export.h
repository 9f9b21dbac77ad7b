// SPDX-License-Identifier: Apache-2.0
// The graph of a playing that the program launches, and not the player: its place in a capture.
#ifndef BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_EXPORT_H
#define BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_EXPORT_H

#include "backends/gpu/gpu_backend.h"
#include "tasks/player.h"

// The playing is launched no more: its executable is freed. *out_graph is the driver's graph, which
// the playing owns. Errors: BRAID_UNSUPPORTED (it has no graph, or its graph has a loop or branch,
// which no graph inside another one has).
braid_status braid_driver_graph_export(struct playing *playing, const struct stage *stage,
                                       void **out_graph);

// Adds such a graph to the capture of a stream, behind all that the stream has queued there.
// Errors: BRAID_UNSUPPORTED, BRAID_DEVICE_ERROR. They leave the capture as it was, except one: the
// driver took the graph, and twice refuses to let the stream go on behind it.
braid_status braid_driver_graph_add_to_capture(struct gpu_backend *gpu, void *graph,
                                               gpu_stream stream);

#endif
