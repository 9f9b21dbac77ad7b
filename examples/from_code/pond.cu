// SPDX-License-Identifier: Apache-2.0
// A step of a pond, in whole numbers: waves, warmth, foam, and a picture of all. pond.ptx is made from it:
// clang -x cuda -nocudainc -nocudalib --cuda-device-only --cuda-gpu-arch=sm_75 -O2 -S pond.cu -o pond.ptx
#ifdef __NVCC__
#define INDEX (int)(blockIdx.x * blockDim.x + threadIdx.x)
#else // clang, without CUDA's headers
#define __global__ __attribute__((global))
#define INDEX (int)(__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#endif

extern "C" __global__ void slope(const int *height, int *force, int num)
{
    const int i = INDEX;
    if (i < num)
        force[i] = height[i > 0 ? i - 1 : i] + height[i + 1 < num ? i + 1 : i] - 2 * height[i];
}

extern "C" __global__ void push(int *speed, const int *force, int num)
{
    const int i = INDEX;
    if (i < num)
        speed[i] += force[i] / 4;
}

extern "C" __global__ void rise(int *height, const int *speed, int num)
{
    const int i = INDEX;
    if (i < num)
        height[i] += speed[i];
}

extern "C" __global__ void foam(int *white, const int *speed, int num)
{
    const int i = INDEX;
    if (i < num)
        white[i] = white[i] / 2 + (speed[i] > 8) * 100;
}

extern "C" __global__ void warm(const int *heat, int *next, int num)
{
    const int i = INDEX;
    if (i < num)
        next[i] = (heat[i > 0 ? i - 1 : i] + 2 * heat[i] + heat[i + 1 < num ? i + 1 : i]) / 4;
}

extern "C" __global__ void cool(int *heat, const int *next, int num)
{
    const int i = INDEX;
    if (i < num)
        heat[i] = next[i] - next[i] / 64;
}

extern "C" __global__ void draw(int *image, const int *height, const int *white, const int *heat, int num)
{
    const int i = INDEX;
    if (i < num)
        image[i] = height[i] + white[i] + heat[i];
}
