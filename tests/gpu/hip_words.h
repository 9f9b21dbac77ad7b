// SPDX-License-Identifier: Apache-2.0
// What the text of an island uses of HIP C++, so that any C++ compiler can read it. Nothing of it
// is ever run.
#ifndef BRAID_TESTS_HIP_WORDS_H
#define BRAID_TESTS_HIP_WORDS_H

#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4

struct uint2 {
    unsigned x, y;
};
struct uint3 {
    unsigned x, y, z;
};
struct uint4 {
    unsigned x, y, z, w;
};

uint3 make_uint3(unsigned x, unsigned y, unsigned z);
uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w);
void __syncthreads();
extern const uint3 threadIdx, blockIdx, blockDim, gridDim;

struct ulonglong2 {
    unsigned long long x, y;
};
ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y);
long long wall_clock64();
unsigned __hip_atomic_load(const unsigned *at, int order, int scope);
void __hip_atomic_store(unsigned *at, unsigned value, int order, int scope);
unsigned __hip_atomic_fetch_add(unsigned *at, unsigned value, int order, int scope);
void __builtin_amdgcn_fence(int order, const char *scope);
void __builtin_amdgcn_wave_barrier();
void __builtin_amdgcn_s_sleep(int ticks);

#endif
