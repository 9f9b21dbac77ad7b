// SPDX-License-Identifier: Apache-2.0
// The state of the proof of a plan as it walks the steps.
#ifndef BRAID_VERIFY_STATE_H
#define BRAID_VERIFY_STATE_H

#include "base/node_text.h"
#include "graph/graph.h"
#include "graph/links.h"
#include "graph/regions.h"
#include "plan/memory/memory_plan.h"
#include "plan/program.h"
#include "verify/verify_clocks.h"

// A position.
struct verify_position {
    uint32_t node;      // behind which it was recorded, or GRAPH_NONE
    uint32_t turn;      // how many nodes its lane had run
    verify_clock clock; // what its lane knew
    uint32_t waits_left;
};

// Where a node has run, and its number on its lane, from 1; 0: it has not.
struct verify_spot {
    uint32_t lane, turn;
};

// Shared by the proofs of a graph's regions, each of its own nodes: no proof of one looks at all
// nodes of the graph. Between proofs the spots and accesses are as they were made.
struct verify_whole {
    const braid_graph *graph; // has all frames
    uint32_t num_nodes;
    uint32_t *region_of;          // per node; NULL: the graph has none
    struct verify_spot *spots;    // per node
    uint32_t *pred_first, *preds; // explicit edges, by the node they lead to
    struct graph_units units;
    struct verify_accesses *accesses; // NULL: there are none
};

// `graph` outlives it. Errors: BRAID_NO_MEMORY.
braid_status braid_verify_whole_create(const braid_graph *graph, struct verify_whole **out_whole);
void braid_verify_whole_destroy(struct verify_whole *whole);

// The state while the steps are walked in issue order. For each lane it has the nodes of other
// lanes that have ended before the lane's next node. A walk looks at nodes of num_known lanes from
// first_known on. If clocks of all lanes would take too much memory, there are several walks.
struct verify {
    const struct program *program;
    const braid_graph *graph; // has all frames
    uint32_t num_frames;
    uint32_t region; // whose nodes are proved; those inside them are proved by themselves
    uint32_t first_node, end_node;                // where these are
    uint32_t num_nodes, num_lanes, num_positions; // in all frames
    uint32_t first_known, num_known;
    struct verify_clocks clocks;
    verify_clock *lane_clocks; // per lane
    struct verify_position *positions;
    uint32_t *steps_left; // per lane
    uint32_t *num_run;    // per lane
    uint32_t *last_run;   // per lane, or GRAPH_NONE
    struct verify_whole *whole;
    struct verify_memory *memory; // NULL: no memory plan is proved
};

// Whether `before` is known to have ended when `node` starts, just as `node` is walked. Of lanes
// that this walk does not look at another one tells.
static inline bool verify_is_ordered(const struct verify *verify, uint32_t before, uint32_t node)
{
    const struct verify_spot *spots = verify->whole->spots, *spot = &spots[before];
    uint32_t lane = spots[node].lane, known = spot->lane - verify->first_known;
    if (spot->turn == 0 || spot->lane == lane || known >= verify->num_known)
        return spot->turn > 0;
    return verify_num_ended(&verify->clocks, verify->lane_clocks[lane], known) >= spot->turn;
}

static inline bool verify_is_here(const struct verify *verify, uint32_t node)
{
    if (verify->graph->num_left_out && graph_nodes(verify->graph)[node].is_left_out)
        return false;
    return !verify->whole->region_of || verify->whole->region_of[node] == verify->region;
}

// Where a node's bundle stands in the order in which accesses count.
static inline uint32_t verify_turn_of_unit(const struct verify *verify, uint32_t node)
{
    const uint32_t *unit_of = verify->whole->units.unit_of;
    return unit_of ? unit_of[node] : node;
}

struct node_text braid_verify_name(const struct verify *verify, uint32_t node);

// Reports that `node` may start before `before` has ended, though `why` forbids it.
braid_status braid_verify_report(const struct verify *verify, uint32_t before, uint32_t node,
                                 const char *why);

// The part of a proof that looks at declared accesses. Checks accesses node by node, in issue
// order. Each access must be ordered after the last write before it, and each write after all reads
// since. If each of these pairs keeps the order of insertion, all pairs in conflict do.
struct verify_accesses;
braid_status braid_verify_accesses_node(struct verify_accesses *accesses,
                                        const struct verify *verify, uint32_t node);
// Forgets all accesses of a proof.
void braid_verify_accesses_forget(struct verify_accesses *accesses, const struct verify *verify);

#endif
