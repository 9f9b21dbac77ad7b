// SPDX-License-Identifier: Apache-2.0
// Where the threads of a block part: branches whose conditions may differ from thread to thread.
//
// A register differs if it comes from the thread's index, from other threads, or from a register
// that differs. Memory at one address is the same for all threads that read it between two
// barriers. If a register has several assignments and one stands behind such a branch, it differs,
// too.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_PART_H
#define BRAID_BACKENDS_GPU_GPU_PTX_PART_H

#include "backends/gpu/gpu_ptx_read.h"

struct ptx_parting {
    bool *differs;   // by statement: its guard, or where it branches to, differs
    size_t *behind;  // by statement: the first such branch that some threads come to it by;
                     // SIZE_MAX: none
    size_t *targets; // by statement: the label that a branch goes to; the number of statements
                     // where it is not known, or is no branch
};

// False: memory ran out.
bool braid_ptx_find_parting(const struct ptx_statement *statements, size_t num,
                            struct ptx_parting *out_parting);
void braid_ptx_parting_finish(struct ptx_parting *parting);

#endif
