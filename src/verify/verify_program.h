// SPDX-License-Identifier: Apache-2.0
// The proof of a plan's program as players play it, not only as the planner wrote it.
#ifndef BRAID_VERIFY_VERIFY_PROGRAM_H
#define BRAID_VERIFY_VERIFY_PROGRAM_H

#include "graph/graph.h"
#include "plan/memory/memory_plan.h"
#include "tasks/frame.h"
#include "tasks/program_tasks.h"
#include "tasks/tasks.h"

// Proves from the operations alone the same as braid_schedule_verify proves of a schedule.
// - Every node runs once, every edge and every pair in conflict is ordered, and no wait can block
//   for ever.
// - Buffers that share bytes in a memory plan, unless that is NULL, are never alive at once.
// - Each island is a stretch of a lane with nothing but tasks.
// - Kernels fetch for the next node of their lane, and only bytes that stay as they are.
//
// Errors: BRAID_INTERNAL (names the first pair that is not ordered), BRAID_NO_MEMORY.
braid_status braid_program_verify(const struct program *program, const braid_graph *graph,
                                  const struct memory_plan *memory);

// For a program whose frames overlap. Proves that so many frames one after the other, each on its
// own lanes, order every pair of accesses in conflict. Accesses to transient buffers are left out:
// these are each frame's own. graph/frame_links.c and exec/exec_frames.c show how many frames are
// enough to prove all. Errors: as above.
braid_status braid_program_verify_frames(const struct program *program, const braid_graph *graph,
                                         uint32_t num_frames);

// The nodes of `num_frames` frames one behind the other, with their bundles and accesses, but
// without work, edges or hints. Each frame has transient buffers of its own. Nodes without work
// touch nothing here: their order inside a frame is proved elsewhere. Node i of frame f has index i
// + f * nodes. Errors: BRAID_NO_MEMORY, BRAID_INVALID_ARGUMENT (too many nodes for one graph).
braid_status braid_unroll_frames(const braid_graph *graph, uint32_t num_frames,
                                 braid_graph **out_unrolled);

// Bytes of a slot of the master copy that get bytes of a parameter.
struct verify_binding {
    uint32_t parameter, from; // the first byte of its value
    uint32_t node, slot, bytes;
    uint64_t offset; // in the slot
};

// Proves, before the first launch:
// - Each use of a parameter in the graph has one binding. Bindings have the order of declaring,
//   which counts if they overlap.
// - Its bytes are within those that a frame takes from the master copy for the node. In each frame
//   they stand where the node's launch has them.
// - No two frames have bytes in common, nor do a frame and the master copy. So setting a parameter
//   for later frames does not write bytes that a launched frame reads.
//
// `bindings` are by parameter, then by node. Errors: BRAID_INTERNAL (names the parameter and the
// node), BRAID_NO_MEMORY.
braid_status braid_verify_params(const braid_graph *graph, const struct tasks *tasks,
                                 const struct frame *const *frames, uint32_t num_frames,
                                 const struct verify_binding *bindings, size_t num_bindings);

#endif
