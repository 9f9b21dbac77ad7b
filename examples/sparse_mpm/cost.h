// SPDX-License-Identifier: Apache-2.0
// How wide each kernel is launched, and how long it is expected to run.
#ifndef MPM_COST_H
#define MPM_COST_H

#include "frame.h"
#include "kernels.h"

struct mpm_shape {
    uint32_t num_blocks, block_size;
    uint64_t cost_ns;
};

struct mpm_shape mpm_shape_of(const struct mpm_frame *frame, enum mpm_kernel kernel, int material);

#endif
