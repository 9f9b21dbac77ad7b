// SPDX-License-Identifier: Apache-2.0
// The graph of a capture, with memory of this process.
#ifndef BRAID_TOOL_REPLAY_GRAPH_H
#define BRAID_TOOL_REPLAY_GRAPH_H

#include <braid/graph.h>

#include "capture_file.h"

struct replay_graph {
    struct capture_file *file; // whose values get addresses while the graph is made
    // By resource: of a buffer, and of a transient one that does not share memory.
    unsigned char *const *memory;
    braid_host_function *const *host_calls; // by node; NULL: the node does nothing
    // By access, for host calls whose data the file lacks: the address of what a node declares,
    // NULL if it is no buffer of the program. NULL: functions of the host cannot use the memory.
    unsigned char *const *declared;
    bool is_planned; // with accesses and edges, and transient buffers of the plan; else every node
                     // is alone
};

enum exit_status replay_graph_create(const struct replay_graph *replay, braid_graph **out_graph);

// Whether a node does nothing.
bool replay_graph_rests(const struct replay_graph *replay, uint32_t node);

bool replay_access_writes(const struct capture_access *access);
// Whether a node runs, and declares that it writes this byte of a buffer.
bool replay_graph_writes(const struct replay_graph *replay, uint32_t node, uint32_t buffer,
                         uint64_t at);

#endif
