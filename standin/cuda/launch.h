// SPDX-License-Identifier: Apache-2.0
// Kernel launches: checking the shape and taking a copy of the arguments.
#ifndef BRAID_STANDIN_LAUNCH_H
#define BRAID_STANDIN_LAUNCH_H

#include "work.h"

enum { MAX_BLOCK_THREADS = 1024, MAX_SHARED_DEFAULT = 49152, MAX_SHARED_OPT_IN = 232448 };

struct launch_shape {
    CUfunction function; // or a kernel of a library
    CUcontext context;   // where such a kernel runs; NULL: the current one
    unsigned grid[3], block[3], shared_bytes;
    void **params, **extra; // as in cuLaunchKernel: one of the two
};

// Both expect the world's lock, which the first may let go of in between.
CUresult launch_prepare(const struct launch_shape *shape, struct work *out_work);
int launch_shared_limit(CUfunction function);

// Memory for the arguments of a call, and behind them for the array that tells them. NULL: no
// memory.
unsigned char *launch_new_arguments(CUfunction function);
// The arrays as the driver gives them: kernelParams, or extra for packed arguments. They belong to
// the call. Expects the world's lock.
void launch_tell_arguments(const struct kernel_call *call, void ***out_params, void ***out_extra);

// How many blocks of so many threads and bytes of shared memory one multiprocessor runs at once.
int launch_blocks_at_once(int block_threads, size_t shared_bytes);

// Whether a cooperative launch runs all its blocks at once. Others have nothing to fear.
CUresult launch_check_room(const struct work *work);

// Sets or reads one attribute of kernel work. Nodes have no events and no early start among their
// attributes: driver 580 refuses both there, and an early start is told by edges.
CUresult launch_set_attribute(struct work *work, CUlaunchAttributeID id,
                              const CUlaunchAttributeValue *value);
CUresult launch_get_attribute(const struct work *work, CUlaunchAttributeID id,
                              CUlaunchAttributeValue *out_value);

#endif
