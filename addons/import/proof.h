// SPDX-License-Identifier: Apache-2.0
// The proof that an imported graph keeps all captured orders that it must. It shares no code with
// orders.c.
#ifndef BRAID_IMPORT_PROOF_H
#define BRAID_IMPORT_PROOF_H

#include "import/orders.h"

struct import_fault {
    uint32_t from, to; // an order that is lost, or one that nobody captured
    bool is_lost;
};

// Whether edges keep each captured order of two nodes, unless both are proven and share no buffer
// that one of them writes. They may order no two nodes that the capture left unordered, and lead to
// higher numbers. False with *out_fault: they do not. *out_failed: memory ran out.
bool braid_import_prove(const struct import_order *order, const struct import_edge *edges,
                        size_t num_edges, struct import_fault *out_fault, bool *out_failed);

#endif
