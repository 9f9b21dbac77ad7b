// SPDX-License-Identifier: Apache-2.0
// Loops and branches: nodes of a graph that run again and again, or perhaps not.
#ifndef BRAID_REGION_H
#define BRAID_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/graph.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// A loop: nodes that run again and again. The calls between braid_graph_begin_loop and
// braid_graph_end add this body. The condition is a uint32_t that nodes of the frame write. An
// iteration starts after the one before has ended. The loop ends when the condition is 0 or the
// bound is reached. From outside, a loop is one node that accesses all that its body accesses. An
// edge between a node outside and one inside orders the whole loop. Bundles and lane hints hold
// inside one body. A transient buffer that only the body uses lives for the whole loop.
typedef struct braid_loop {
    braid_node_options node;  // name, after and lane_hint; all else must be zero
    braid_resource condition; // a buffer with an address, a transient one, or a range of either,
                              // whose first four bytes count; { 0 }: `times` alone ends the loop
    uint64_t times;           // how many iterations run at most; 0: `most` says it
    uint64_t most;            // the same, for loops with a condition; reaching it is no error
    bool unbounded;           // instead of `times` and `most`: the condition alone ends the loop
    bool tests_first;         // the condition counts before the first iteration, too; a loop
                              // without this runs once at least
    uint64_t expected;        // iterations that the planner counts on; 0: `times`, else 10, but no
                              // more than `most`
} braid_loop;

// A branch: nodes of which one arm runs. The calls between braid_graph_begin_if and
// braid_graph_else add the first arm, which runs if the condition is not 0. Those up to
// braid_graph_end add the second, which may be missing. The branch reads its condition before an
// arm starts; an arm may overwrite it. From outside, a branch is one node. An arm that does not run
// leaves all that it would have written as it was. Loops and branches nest.
typedef struct braid_if {
    braid_node_options node;  // name, after and lane_hint; all else must be zero
    braid_resource condition; // as that of a loop
} braid_if;

// Begins a loop: nodes that are added from now on are in its body, until braid_graph_end. The loop
// is a node itself, which *out_loop names; out_loop may be NULL. A graph with an open loop cannot
// be planned, nor one with a loop that has a condition and no node that writes it.
// On streams of the CPU a thread queues the body again and again. If it cannot, the loop ends
// early, and the exec's next wait, query or launch returns that failure.
// docs/book/loops.md tells where loops run. All else refuses them by name (BRAID_UNSUPPORTED).
// Errors, which name the loop: BRAID_INVALID_ARGUMENT (a condition or bound that is none, options
// that a loop has not), BRAID_UNSUPPORTED (a graph with communicators), BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_begin_loop(braid_graph *graph,
                                                               const braid_loop *loop,
                                                               braid_node *out_loop);

// Begins a branch, as braid_graph_begin_loop a loop, with the same errors. Its first arm ends at
// braid_graph_else or braid_graph_end.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_begin_if(braid_graph *graph,
                                                             const braid_if *branch,
                                                             braid_node *out_if);

// Begins the second arm of the branch begun last. If it fails, nothing has changed.
// Errors: BRAID_NO_MEMORY; BRAID_INVALID_ARGUMENT (no branch is open, or it has two arms, or its
// first arm has no node).
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_else(braid_graph *graph);

// Ends the loop or branch begun last. If it fails, that is still open.
// Errors: BRAID_INVALID_ARGUMENT (none is open, or its body or arm has no node), BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_end(braid_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
