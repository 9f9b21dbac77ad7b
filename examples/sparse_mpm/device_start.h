// SPDX-License-Identifier: Apache-2.0
// The start of the device source: what physics.h, grid.h and bodies.h need on a GPU.

#define MPM_ON_DEVICE
#define MPM_SHARED static __device__ inline

// HIP's compiler fuses products with sums unless told not to; see physics.h.
#ifdef __clang__
#pragma clang fp contract(off)
#endif
