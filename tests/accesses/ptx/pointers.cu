// SPDX-License-Identifier: Apache-2.0
// Kernels whose pointers go different ways from their parameters to where they are used.
#ifdef __NVCC__
#define THREAD (int)(blockIdx.x * blockDim.x + threadIdx.x)
#define MEET() __syncthreads()
#else // clang, without CUDA's headers
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define THREAD \
    (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#define MEET() __nvvm_bar_sync(0)
#define atomicAdd(at, by) __nvvm_atom_add_gen_i(at, by)
#endif

struct view {
    float *data;
    int num, stride;
    const int *index;
};

struct list {
    float *items[4];
};

__device__ int total;

// Pointers stand in structs.
extern "C" __global__ void gather(view in, view out)
{
    int i = THREAD;
    if (i < out.num)
        out.data[i * out.stride] = in.data[in.index[i]];
}

extern "C" __global__ void choose(const float *a, const float *b, float *out, int which)
{
    const float *from = which ? a : b;
    out[THREAD] = from[THREAD];
}

// They change places in a loop.
extern "C" __global__ void swapped(float *a, float *b, int steps)
{
    for (int i = 0; i < steps; i++) {
        b[THREAD] = a[THREAD] + 1;
        float *other = a;
        a = b;
        b = other;
    }
}

// Nobody knows what the table holds.
extern "C" __global__ void grouped(float **table, float *out)
{
    out[THREAD] = table[THREAD % 7][THREAD];
}

extern "C" __global__ void handed(float *a, float *b)
{
    __shared__ float *from[2];
    if (THREAD < 2)
        from[THREAD] = THREAD ? a : b;
    MEET();
    from[THREAD % 2][THREAD] += 1;
}

__device__ __attribute__((noinline)) float *advance(float *from, int by)
{
    return from + by * by;
}

extern "C" __global__ void called(float *a, float *b, int by)
{
    *advance(a, by) = *advance(b, by);
}

extern "C" __global__ void counted(const int *x, int *counts)
{
    atomicAdd(&counts[x[THREAD]], 1);
    atomicAdd(&total, 1);
}

// An offset in a parameter that only the launch tells.
extern "C" __global__ void indexed(list from, int which, float *out)
{
    out[THREAD] = from.items[which][THREAD];
}

// Pairs of floats, side by side.
struct __attribute__((aligned(8))) two {
    float x, y;
};

extern "C" __global__ void turned(const two *x, two *out)
{
    two one = x[THREAD];
    out[THREAD] = {one.y, one.x};
}
