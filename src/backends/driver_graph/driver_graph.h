// SPDX-License-Identifier: Apache-2.0
// The inside of the graph player: a plan's program as the driver's own graph.
#ifndef BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_H
#define BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_H

#include "backends/driver_graph/driver_graph_islands.h"
#include "backends/driver_graph/driver_graph_loops.h"
#include "backends/driver_graph/driver_graph_prefetch.h"
#include "backends/driver_graph/driver_graph_times.h"
#include "backends/gpu/gpu_backend.h"
#include "tasks/player.h"

struct graph_node_state {
    bool is_disabled; // in the executable
    bool is_detoured; // the node stands for several
    bool is_early;    // a kernel that starts early, or that another starts early behind
};

struct graph_playing {
    struct playing base;
    struct gpu_backend *gpu; // at place 0, like the next
    braid_device *device;
    int32_t priority;            // queue calls have it
    const struct places *places; // NULL: there is no other
    gpu_graph graph;             // owns the nodes; kept because changes name nodes of it
    gpu_executable executable;
    gpu_node *nodes; // by task index, also in bodies; NULL: in an island, or without work. An
                     // island has the index of its first task
    struct graph_node_state *states;
    struct graph_islands islands;
    struct graph_times *times;           // NULL: nobody asked for times
    struct graph_prefetches *prefetches; // NULL: no kernel fetches anything
    struct graph_loops *loops;           // NULL: there are none
    bool is_conditional;                 // it has conditional nodes: no island plays all loops
    struct graph_frames *frames;         // shared; NULL: no nodes of two frames are ordered
    uint32_t num_nodes;                  // for messages
};

// Adds the nodes and edges of the plan's program to playing->graph: exactly the lane orders and the
// waits. One kernel that does nothing may come before many roots.
braid_status braid_driver_graph_playing_build(const struct stage *stage,
                                              struct graph_playing *playing,
                                              const gpu_stream *capture_streams);
// Returns the GPU of the place that a task runs on.
static inline struct gpu_backend *graph_gpu_of(const struct stage *stage, uint32_t place)
{
    return gpu_from(places_backend(stage->places, stage->device->backend, place));
}

// driver_graph_set.c: BRAID_UNSUPPORTED, and why, if a parameter changes a value that the driver
// cannot.
braid_status braid_driver_graph_playing_check_changes(const struct stage *stage);
// Checks that a task outside of islands can have its present values, as far as the graph knows.
// Errors: BRAID_UNSUPPORTED.
braid_status braid_driver_graph_playing_check(const struct graph_playing *playing,
                                              const struct backend_task *task);
// Hands such a task to the executable's node. After an error the node is to be set again before the
// graph is launched.
braid_status braid_driver_graph_playing_set(struct graph_playing *playing,
                                            const struct backend_task *task);

#endif
