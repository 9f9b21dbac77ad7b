// SPDX-License-Identifier: Apache-2.0
// The inside of the graph player: a program as the driver's own graph.
#ifndef BRAID_PLAYERS_GRAPH_GRAPH_H
#define BRAID_PLAYERS_GRAPH_GRAPH_H

#include "backends/gpu/gpu_backend.h"
#include "players/graph/graph_islands.h"
#include "program/player.h"

struct graph_playing {
    struct playing base;
    struct gpu_backend *gpu;
    gpu_graph graph; // owns the nodes; kept because changes name nodes of it
    gpu_executable executable;
    gpu_node *nodes; // by task index
    struct graph_islands islands;
    struct graph_times *times; // NULL: nobody asked for times
    uint32_t num_nodes;        // for messages
};

// Adds the program's nodes and edges to playing->graph: exactly the lane orders and the waits, and
// perhaps one kernel that does nothing before many roots.
braid_status braid_graph_playing_build(const struct stage *stage, struct graph_playing *playing,
                                       gpu_stream capture_stream);

#endif
