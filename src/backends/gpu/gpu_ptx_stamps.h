// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels write down when they began and ended.
//
// Each entry gets two parameters behind its own: the address of stamps, and a mask. Thread 0 of the
// first blocks writes the begin (blocks start in order). One thread of each warp writes the end.
// The stamp's index is the number of the multiprocessor under the mask. Several stamps, a line of
// memory apart, spread writes that would collide in one. A stamp is the greatest complement of a
// begin, and the greatest end, by %globaltimer. Both are atomic maxima over zero, so the first
// begin and the last end of a stamp's blocks stay.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_STAMPS_H
#define BRAID_BACKENDS_GPU_GPU_PTX_STAMPS_H

#include <stdint.h>

#include "ptx/ptx_read.h"

// The data that a kernel of the changed text writes; zeroed before.
struct gpu_stamp {
    uint64_t not_begun; // the complement of the time
    uint64_t ended;
};

enum {
    GPU_STAMP_PARAMETERS = 2, // void *stamps, uint32_t mask
    GPU_STAMPS_APART = 8,     // from one stamp of a kernel to its next, in stamps: 128 bytes
};

// As braid_gpu_ptx_with_read_grid, where the reasons are those of put_ends in gpu_ptx_passes.c.
char *braid_gpu_ptx_with_stamps(const char *text, struct ptx_reason *out_reason);

#endif
