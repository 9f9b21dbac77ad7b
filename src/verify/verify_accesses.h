// SPDX-License-Identifier: Apache-2.0
// The part of a proof that looks at declared accesses.
#ifndef BRAID_VERIFY_ACCESSES_H
#define BRAID_VERIFY_ACCESSES_H

#include "verify/verify_state.h"

// Checks accesses node by node, in issue order. Each access must be ordered after the last write
// before it, and each write after all reads since. If each of these pairs keeps the order of
// insertion, all pairs in conflict do.
struct verify_accesses;
braid_status braid_verify_accesses_create(const struct verify *verify,
                                          struct verify_accesses **out_accesses);
braid_status braid_verify_accesses_node(struct verify_accesses *accesses, uint32_t node);
void braid_verify_accesses_destroy(struct verify_accesses *accesses);

#endif
