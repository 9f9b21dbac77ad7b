// SPDX-License-Identifier: Apache-2.0
// What the text of an island uses of CUDA C++, so that any C++ compiler can read it. Nothing of it
// is ever run.
#ifndef BRAID_TESTS_CUDA_WORDS_H
#define BRAID_TESTS_CUDA_WORDS_H

#define __CUDA_ARCH__ 900
#define __device__
#define __global__
#define __shared__
#define __align__(bytes) alignas(bytes)
#define __forceinline__ inline
#define __grid_constant__
#define __restrict__ __restrict
#define __launch_bounds__(...)

struct uint2 {
    unsigned x, y;
};
struct uint3 {
    unsigned x, y, z;
};
struct uint4 {
    unsigned x, y, z, w;
};
struct ulonglong2 {
    unsigned long long x, y;
};

uint3 make_uint3(unsigned x, unsigned y, unsigned z);
uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w);
ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y);
void __syncthreads();
void __syncwarp();
unsigned __shfl_sync(unsigned mask, unsigned value, int lane);
int __all_sync(unsigned mask, int predicate);
long clock();
unsigned long __cvta_generic_to_shared(const void *at);
extern const uint3 threadIdx, blockIdx, blockDim, gridDim;

#endif
