// SPDX-License-Identifier: Apache-2.0
// Changing HIP's source so that its kernels write down when they began and ended, as
// gpu_ptx_stamps.h does with PTX: the same two parameters, the same stamps.
//
// A kernel's body begins with an object that writes the begin when it is made, and the end when it
// is destroyed, which is at every way out. Threads that leave early end where the others do, which
// on AMD's devices holds up no barrier: those of one wave go on as a mask of it, and a wave all of
// whose threads have left ends.
//
// The time is wall_clock64() of HIP's own header, which every architecture has: AMD's text says of
// it that it counts at a constant rate, the same for the whole device, which
// hipDeviceAttributeWallClockRate tells.
#ifndef BRAID_BACKENDS_GPU_GPU_SOURCE_STAMPS_H
#define BRAID_BACKENDS_GPU_GPU_SOURCE_STAMPS_H

// The same source with the code in every kernel, for the caller to free; NULL where it stays as it
// is: then *out_reason says why in a few words (a constant), or is NULL when memory ran out. The
// source is read as tokens, not compiled: what is made need not compile.
char *braid_gpu_source_with_stamps(const char *source, const char **out_reason);

#endif
