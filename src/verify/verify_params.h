// SPDX-License-Identifier: Apache-2.0
// The proof that a parameter's bytes reach each of its users, in every frame.
#ifndef BRAID_VERIFY_VERIFY_PARAMS_H
#define BRAID_VERIFY_VERIFY_PARAMS_H

#include "tasks/frame.h"

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
