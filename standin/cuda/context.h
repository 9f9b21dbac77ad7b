// SPDX-License-Identifier: Apache-2.0
// Contexts: what streams, memory and modules belong to, and what a device fault poisons.
#ifndef BRAID_STANDIN_CONTEXT_H
#define BRAID_STANDIN_CONTEXT_H

#include <stdbool.h>

#include "cuda_abi.h"

// Guarded by the world's lock. A destroyed context's record stays, so that a thread that still
// has it current gets CUDA_ERROR_CONTEXT_IS_DESTROYED.
struct CUctx_st {
    CUdevice device;
    bool primary, alive;
    unsigned retains; // a primary context's
    unsigned flags;
    unsigned long long id;
    CUresult fault;        // sticky: every later call returns it
    CUstream null_stream;  // made at its first use
    unsigned peers;        // bit per device whose memory it may access
    struct CUctx_st *next; // in the list of all contexts
};

CUcontext context_current(void);              // this thread's, or NULL
CUcontext context_of_device(CUdevice device); // its primary context's record; NULL: no such device

// All of these expect the world's lock.
CUresult context_check(CUcontext context); // usable, destroyed, poisoned, or no context at all?
void context_poison(CUcontext context, CUresult fault);      // the first fault stays
CUresult context_revive(CUcontext context, CUdevice device); // makes it live if it is not
void context_end(CUcontext context); // waits for its work; the record stays known
long context_live(void);             // retains of primary contexts, and contexts created

#endif
