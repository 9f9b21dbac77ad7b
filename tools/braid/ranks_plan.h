// SPDX-License-Identifier: Apache-2.0
// What all ranks do, as the planner orders it on each: nodes, and which waits for which.
#ifndef BRAID_TOOL_RANKS_PLAN_H
#define BRAID_TOOL_RANKS_PLAN_H

#include "ranks_world.h"

// LogGP (Alexandrov, Ionescu, Schauser, Scheiman 1995).
struct ranks_network {
    double latency_ns;  // L
    double overhead_ns; // o: of a worker, for each send and each receive
    double gap_ns;      // g: between two messages of a rank, at least
    double ns_per_byte; // G
};

enum ranks_kind { RANKS_COMPUTE, RANKS_SEND, RANKS_RECEIVE };

struct ranks_node {
    uint64_t cost_ns;
    uint64_t planned_ns; // when its rank's plan starts it
    uint32_t rank;
    uint32_t message; // a send's or receive's
    uint8_t kind;
};

struct ranks_message {
    uint64_t bytes;
    uint32_t send, receive; // nodes
};

struct ranks_plan {
    struct ranks_node *nodes;
    struct ranks_message *messages;
    struct ranks_edge *edges; // what their plans wait for, on each rank
    size_t num_nodes, num_messages, num_edges, room_nodes, room_messages, room_edges;
    uint32_t num_ranks;
};

// Plans each rank's part by itself for so many workers; `is_free`: so that lanes add no order.
enum exit_status ranks_plan_make(const struct ranks_world *world,
                                 const struct ranks_network *network, uint32_t num_workers,
                                 bool is_free, struct ranks_plan *out_plan);
void ranks_plan_finish(struct ranks_plan *plan);

// ranks_run.c: a frame of all ranks.
struct ranks_frame {
    double makespan_ns, work_ns;
    uint64_t bytes, num_messages;
    bool is_stuck; // lanes of ranks wait for each other
};
// A host has `num_cores` for `ranks_a_host` ranks; 0 ranks: each rank has its workers to itself.
struct ranks_machine {
    struct ranks_network network;
    uint32_t num_workers, num_cores, ranks_a_host;
};
enum exit_status ranks_run(const struct ranks_plan *plan, const struct ranks_machine *machine,
                           struct ranks_frame *out_frame);

#endif
