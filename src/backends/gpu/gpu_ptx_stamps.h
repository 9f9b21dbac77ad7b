// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels write down when they began and ended.
//
// Each entry is given two parameters behind its own: the address of stamps, and a mask. Thread 0 of
// the first blocks writes the begin (blocks are started in their order), and of each warp one
// thread the end, into the stamp of its multiprocessor's number and the mask: several stamps, a
// line of memory apart, spread what would meet in one. A stamp is the greatest complement of a
// begin, and the greatest end, by %globaltimer: both are atomic maxima over what was zero before,
// so that of a stamp's blocks the first begin and the last end stay.
//
// Ways out of a kernel that ended threads at once now meet where the end is written, and threads of
// a warp may wait for each other there. That would never end where others of the warp wait for a
// barrier that counts those as gone: so such kernels stay as they are.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_STAMPS_H
#define BRAID_BACKENDS_GPU_GPU_PTX_STAMPS_H

#include <stdint.h>

#include "backends/gpu/gpu_ptx_read.h"

// What a kernel of the changed text writes; zeroed before.
struct gpu_stamp {
    uint64_t not_begun; // the complement of the time
    uint64_t ended;
};

enum {
    GPU_STAMP_PARAMETERS = 2, // void *stamps, uint32_t mask
    GPU_STAMPS_APART = 8,     // from one stamp of a kernel to its next, in stamps: 128 bytes
};

// The same text with the code in every entry, for the caller to free; NULL where it stays as it is:
// then *out_reason says why, or is empty when memory ran out.
char *braid_gpu_ptx_with_stamps(const char *text, struct ptx_reason *out_reason);

// Where a kernel may wait before it begins: from behind the brace of an entry's body, behind the
// code above that only decides which thread writes the begin, where it stands there.
const char *braid_gpu_ptx_behind_decision(const char *body);

#endif
