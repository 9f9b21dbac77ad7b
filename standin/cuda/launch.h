// SPDX-License-Identifier: Apache-2.0
// Kernel launches: checking the shape and taking a copy of the arguments.
#ifndef BRAID_STANDIN_LAUNCH_H
#define BRAID_STANDIN_LAUNCH_H

#include "work.h"

enum { MAX_BLOCK_THREADS = 1024, MAX_SHARED_DEFAULT = 49152, MAX_SHARED_OPT_IN = 232448 };

struct launch_shape {
    CUfunction function;
    unsigned grid[3], block[3], shared_bytes;
    void **params, **extra; // as in cuLaunchKernel: one of the two
};

// Both expect the world's lock.
CUresult launch_prepare(const struct launch_shape *shape, struct work *out_work);
int launch_shared_limit(CUfunction function);

// How many blocks of so many threads and bytes of shared memory one multiprocessor runs at once.
int launch_blocks_at_once(int block_threads, size_t shared_bytes);

// Whether a cooperative launch runs all its blocks at once. Others have nothing to fear.
CUresult launch_check_room(const struct work *work);

// Sets or reads one launch attribute of kernel work.
CUresult launch_set_attribute(struct work *work, CUlaunchAttributeID id,
                              const CUlaunchAttributeValue *value);
CUresult launch_get_attribute(const struct work *work, CUlaunchAttributeID id,
                              CUlaunchAttributeValue *out_value);

#endif
