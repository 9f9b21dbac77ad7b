// SPDX-License-Identifier: Apache-2.0
// Kernels from which the texts clang_*.ptx were compiled, without a toolkit: see README.md.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

extern "C" __global__ void add(float *x, const float *y, int n)
{
    int i = __nvvm_read_ptx_sreg_tid_x() + __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
    if (i < n)
        x[i] += y[i];
}

__device__ __attribute__((noinline)) int twice(int x)
{
    return x + x;
}

extern "C" __global__ void turn(int *x, double *y)
{
    __shared__ int own[128];
    int i = __nvvm_read_ptx_sreg_tid_x();
    own[i] = twice(x[i]);
    __nvvm_bar_sync(0);
    x[i] = own[127 - i];
    y[i] = y[i] * y[i] / x[i];
    if (i == 0)
        __builtin_trap();
    __nvvm_atom_add_gen_i(x, 3);
}
