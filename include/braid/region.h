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
// braid_graph_end add this body. It ends when the condition, a uint32_t that nodes of the frame
// write, is 0, or at the bound. From outside, a loop is one node that accesses all that its body
// accesses. docs/book/loops.md tells more.
typedef struct braid_loop {
    braid_node_options node;  // name, after and lane_hint; all else must be zero
    braid_resource condition; // a buffer with an address, a transient one, or a range of either,
                              // whose first four bytes count; { 0 }: `times` alone
    uint64_t times;           // how many iterations run at most; or
    uint64_t most;            // the same, for loops with a condition, and no error; or
    bool unbounded;           // the condition alone ends the loop
    bool tests_first;         // the condition counts before the first iteration, too
    uint64_t expected; // iterations that the planner counts on; 0: `times`, else 10, at most `most`
} braid_loop;

// A branch: nodes of which one arm runs. Calls between braid_graph_begin_if and braid_graph_else
// add the first arm, which runs unless the condition is 0. Those up to braid_graph_end add the
// second, if any. An arm may overwrite the condition. From outside, a branch is one node. Loops and
// branches nest at most 256 deep.
typedef struct braid_if {
    braid_node_options node;  // name, after and lane_hint; all else must be zero
    braid_resource condition; // as that of a loop
} braid_if;

// Begins a loop: nodes that are added from now on are in its body, until braid_graph_end. The loop
// is a node itself, out_loop, which may be NULL. Planning refuses one with a condition that no node
// in it writes. Devices and modes that play no loops (docs/book/loops.md) refuse it by name:
// BRAID_UNSUPPORTED.
// Errors: BRAID_UNSUPPORTED (a graph with communicators).
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_begin_loop(braid_graph *graph,
                                                                  const braid_loop *loop,
                                                                  braid_node *out_loop);

// Begins a branch, as braid_graph_begin_loop a loop, with the same errors.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_begin_if(braid_graph *graph,
                                                                const braid_if *branch,
                                                                braid_node *out_if);

// Begins the second arm of the branch begun last.
// Errors: BRAID_WRONG_STATE (no branch is open, or it has two arms, or its first arm has no node).
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_else(braid_graph *graph);

// Ends the loop or branch begun last. If it fails, that is still open.
// Errors: BRAID_WRONG_STATE (none is open, or its body or arm has no node).
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_end(braid_graph *graph);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_begin_loop_sized(braid_graph *graph,
                                                                     const braid_loop *loop,
                                                                     braid_node *out_loop,
                                                                     size_t size, size_t node_size);
BRAID_INLINE braid_status braid_graph_begin_loop(braid_graph *graph, const braid_loop *loop,
                                                 braid_node *out_loop)
{
    return braid_graph_begin_loop_sized(graph, loop, out_loop, sizeof(braid_loop),
                                        sizeof(braid_node_options));
}
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_begin_if_sized(braid_graph *graph,
                                                                   const braid_if *branch,
                                                                   braid_node *out_if, size_t size,
                                                                   size_t node_size);
BRAID_INLINE braid_status braid_graph_begin_if(braid_graph *graph, const braid_if *branch,
                                               braid_node *out_if)
{
    return braid_graph_begin_if_sized(graph, branch, out_if, sizeof(braid_if),
                                      sizeof(braid_node_options));
}

#ifdef __cplusplus
}
#endif

#endif
