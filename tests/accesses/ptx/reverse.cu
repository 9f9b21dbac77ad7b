// SPDX-License-Identifier: Apache-2.0
// Kernels that go down from the end of an array, in the ways that programs write.
#ifdef __NVCC__
#define THREAD (int)(blockIdx.x * blockDim.x + threadIdx.x)
#else // clang, without CUDA's headers
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define THREAD \
    (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#endif

extern "C" __global__ void by_index(float *end, int n)
{
    int i = THREAD;
    if (i < n)
        end[-1 - i] = 1;
}

extern "C" __global__ void by_wide_index(float *end, unsigned long n)
{
    unsigned long i = THREAD;
    if (i < n)
        *(end - 1 - i) = 1;
}

extern "C" __global__ void by_length(float *end, int n)
{
    int i = THREAD;
    if (i < n)
        end[i - n] = 1;
}

extern "C" __global__ void by_constant(float *end)
{
    end[THREAD % 256 - 256] = 1;
}

extern "C" __global__ void by_stride(float *end, int stride)
{
    end[-(THREAD + 1) * stride] = 1;
}

extern "C" __global__ void by_steps(const float *first, float *last, int n)
{
    while (n--)
        *--last = *first++;
}

extern "C" __global__ void by_unrolled_steps(float *end)
{
    for (int i = -4; i < 0; i++)
        end[i] = (float)i;
}

struct reversed {
    float *end;
    __device__ float &operator[](int index) const
    {
        return *(end - 1 - index);
    }
};

extern "C" __global__ void by_iterator(reversed all, int n)
{
    for (int i = THREAD; i < n; i += 32)
        all[i] = 1;
}
