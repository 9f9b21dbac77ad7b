// SPDX-License-Identifier: Apache-2.0
// Accesses of an instruction of PTX to global memory.
#ifndef BRAID_PTX_PTX_ACCESS_H
#define BRAID_PTX_PTX_ACCESS_H

#include "ptx/ptx_read.h"

// An update reads and writes atomically.
enum ptx_act { PTX_READS, PTX_WRITES, PTX_UPDATES, PTX_NUM_ACTS };

struct ptx_access {
    enum ptx_act act;
    struct ptx_word base;   // the address: a register, variable or number
    struct ptx_word offset; // a number to add; length 0: there is none
    uint32_t bytes;         // 0: `size` says it
    struct ptx_word size;   // an operand
    uint32_t rows;          // so many bytes each, by all threads of a warp together; 0: it is one
    struct ptx_word stride; // an operand, how many bits of `stride_bits` lie from row to row
    uint32_t stride_bits;   // without an operand: how many bits themselves
};

enum ptx_access_kind {
    PTX_NO_ACCESS, // none to global memory that a program could notice
    PTX_ACCESS,
    PTX_UNSEEN_ACCESS, // there may be some, and their addresses are not told
};

// The access of an instruction.
enum ptx_access_kind braid_ptx_find_access(const struct ptx_statement *statement,
                                           struct ptx_access *out_access);

#endif
