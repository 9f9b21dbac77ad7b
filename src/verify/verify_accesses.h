// SPDX-License-Identifier: Apache-2.0
// The part of a proof that looks at declared accesses.
#ifndef BRAID_VERIFY_ACCESSES_H
#define BRAID_VERIFY_ACCESSES_H

#include "verify/verify_state.h"

// Checks accesses node by node, in issue order. A conflicting pair is ordered if each access is
// ordered after the last write before it, and each write after all reads since; the order of
// insertion is kept if it is kept by each of these pairs.
struct verify_accesses;
braid_status braid_verify_accesses_create(const struct verify *verify,
                                          struct verify_accesses **out_accesses);
braid_status braid_verify_accesses_node(struct verify_accesses *accesses, uint32_t node);
void braid_verify_accesses_destroy(struct verify_accesses *accesses);

#endif
