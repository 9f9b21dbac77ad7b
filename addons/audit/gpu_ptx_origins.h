// SPDX-License-Identifier: Apache-2.0
// Registers of a function that have an address, and the register from which each is computed.
//
// It is a guess: a sum may be of two addresses, and a register may have several. Registers with one
// origin have addresses in one buffer as a rule.
#ifndef BRAID_AUDIT_GPU_PTX_ORIGINS_H
#define BRAID_AUDIT_GPU_PTX_ORIGINS_H

#include "backends/gpu/gpu_ptx_read.h"

struct ptx_origin {
    struct ptx_word name, origin; // length 0: the slot is free
};

struct ptx_origins {
    struct ptx_origin *slots; // by the hash of the name
    size_t num_slots;         // the function's at hand: a power of two
};

// Room for the registers of any function of the text. False: memory ran out.
bool braid_ptx_origins_create(const struct ptx *ptx, struct ptx_origins *out_origins);
void braid_ptx_origins_finish(struct ptx_origins *origins);

// Forgets all others, and follows addresses from where the function loads them.
void braid_ptx_origins_find(struct ptx_origins *origins, const struct ptx_statement *statements,
                            size_t num);

// The word itself, if nothing is known of it.
struct ptx_word braid_ptx_origin_of(const struct ptx_origins *origins, struct ptx_word name);

#endif
