// SPDX-License-Identifier: Apache-2.0
// Kernels as a program has them already, for nvcc or hipcc: own_kernels.c makes nodes of them.
extern "C" __global__ void scale(float *to, const float *from, float factor, int num)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < num)
        to[i] = factor * from[i];
}

extern "C" __global__ void add(float *to, const float *a, const float *b, int num)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < num)
        to[i] = a[i] + b[i];
}
