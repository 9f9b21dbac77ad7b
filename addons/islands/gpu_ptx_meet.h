// SPDX-License-Identifier: Apache-2.0
// The needs of a kernel in an island, and where its threads meet: barriers of its block and
// instructions of its warps.
#ifndef BRAID_ISLANDS_GPU_PTX_MEET_H
#define BRAID_ISLANDS_GPU_PTX_MEET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ptx/ptx_read.h"

enum { PTX_MOST_PARAMETERS = 128, PTX_MOST_SHARED_ALIGN = 128 };

// The needs and effects of a kernel at the place where it is called.
struct ptx_callable {
    bool barriers, warps;
    bool fences;           // may wait for other blocks of its own
    bool counts;           // meets at a barrier in another way than bar.sync
    unsigned leaves;       // facts: where threads may meet while others have ended
    bool is_partial;       // fewer threads than those of its block may meet at a barrier
    bool is_plain;         // reads its parameters in words at known places
    uint32_t numbers;      // its barriers: bits
    bool is_open;          // has dynamic shared memory
    uint32_t shared_bytes; // static, behind which the dynamic begins
    uint32_t num_args, arg_bytes[PTX_MOST_PARAMETERS];
};

// Where it is called.
struct ptx_site {
    uint32_t group_threads; // each lane's; 32: it is a warp
    uint32_t num_groups;    // lanes of the block
    bool flat;              // blocks have one dimension
    bool whole;             // each call takes all threads of its lane
    uint32_t small;         // bytes of its arguments, in registers; 0: they are in memory
    uint32_t numbers;       // the barriers of all kernels: bits
    const char *prefix;     // before the module's names there
};

enum { PTX_MOST_OPERANDS = 6 };

// A kernel while its block is written.
struct ptx_meeting {
    const struct ptx_site *site;
    struct ptx_callable *made;
    FILE *file;
    bool asks_threads; // it reads how many its block has
};

bool braid_ptx_has_part(struct ptx_word instruction, const char *part);

// The words between commas, without spaces around; returns how many. 0: there are none, or one is
// empty, or they are too many.
size_t braid_ptx_split_operands(const struct ptx_statement *statement,
                                struct ptx_word operands[PTX_MOST_OPERANDS]);
void braid_ptx_put_guard(const struct ptx_meeting *meeting, const struct ptx_statement *statement);

// Finds where threads of a kernel may meet while others have ended, once its needs are noted. A
// barrier with a count waits for threads that have ended with others of their warp, so it is left
// alone or refused. False: the reason, or memory ran out.
bool braid_ptx_note_leaving(const struct ptx_statement *statements, size_t num, unsigned facts,
                            struct ptx_callable *made, struct ptx_reason *out_reason);

// Declares the registers of the others, in front of the kernel's statements.
void braid_ptx_put_meeting_places(const struct ptx_meeting *meeting, FILE *to);
// False: its number is not written.
bool braid_ptx_put_barrier(struct ptx_meeting *meeting, const struct ptx_statement *statement);
// In front of an instruction of the warp, where some of it may have ended. Returns the operand in
// whose place %braid_live names those that go on; empty: none.
struct ptx_word braid_ptx_put_live_mask(const struct ptx_meeting *meeting,
                                        const struct ptx_statement *statement);
// The label at the end, and the loop of threads that have ended.
void braid_ptx_put_end(struct ptx_meeting *meeting, FILE *to);

#endif
