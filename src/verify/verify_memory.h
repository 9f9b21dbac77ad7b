// SPDX-License-Identifier: Apache-2.0
// The part of a proof that looks at a memory plan.
#ifndef BRAID_VERIFY_MEMORY_H
#define BRAID_VERIFY_MEMORY_H

#include "memory/memory_plan.h"
#include "verify/verify_state.h"

// Checks node by node, in issue order, that buffers which share bytes are never alive at once. A
// buffer begins to be used only when all users of the others have ended for the rest of the frame.
struct verify_memory;
braid_status braid_verify_memory_create(const struct verify *verify, const struct memory_plan *plan,
                                        struct verify_memory **out_memory);
braid_status braid_verify_memory_node(struct verify_memory *memory, uint32_t node, uint32_t lane);
void braid_verify_memory_destroy(struct verify_memory *memory);

#endif
