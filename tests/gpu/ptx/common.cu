// SPDX-License-Identifier: Apache-2.0
// Kernels from which the texts in this folder were compiled: see README.md.
extern "C" __global__ void saxpy(float *y, const float *x, float a, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    y[i] += a * x[i];
}

extern "C" __global__ void sum(float *out, const float *in, int n)
{
    __shared__ float parts[32];
    float total = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        total += in[i];
    for (int step = 16; step > 0; step /= 2)
        total += __shfl_down_sync(~0u, total, step);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < blockDim.x / 32; w++)
            total += parts[w];
        atomicAdd(out, total);
    }
}

extern "C" __global__ void product(float *c, const float *a, const float *b, int n)
{
    __shared__ float left[16][17], right[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void histogram(unsigned *bins, const unsigned char *data, unsigned n)
{
    extern __shared__ unsigned own[];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&own[data[i]], 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        if (own[i])
            atomicAdd(&bins[i], own[i]);
}

__device__ __noinline__ double inner(double x, int depth)
{
    return depth ? inner(x * 0.5, depth - 1) + 1.0 / x : sqrt(x);
}

extern "C" __global__ void calls(double *out, long long *whole, int n)
{
    int i = threadIdx.x;
    out[i] = inner(out[i], n);
    whole[i] = whole[i] / (n + 1) % 17;
}

extern "C" __global__ void choice(int *out, int kind)
{
    switch (kind) {
    case 0: out[0] = 3; break;
    case 1: out[1] = out[0] * 7; break;
    case 2: out[2] ^= 0x55; break;
    case 3: out[3] = __popc(out[2]); break;
    case 4: out[4] = __clz(out[3]); break;
    case 5: out[5] = __brev(out[4]); return;
    case 6: out[6] = min(out[5], 4); break;
    case 7: __trap();
    }
    out[8] = kind;
}

struct settings {
    float weights[12];
    short bounds[5];
    unsigned char flags[3];
};

__constant__ float table[64];
__device__ unsigned counter;

extern "C" __global__ void __launch_bounds__(128, 2) settle(float *out, settings all, volatile int *flag)
{
    float local[16];
    for (int i = 0; i < 16; i++)
        local[i] = all.weights[i % 12] * table[(i + threadIdx.x) % 64];
    unsigned place = atomicInc(&counter, 1000u);
    while (*flag == 0)
        __nanosleep(20);
    __threadfence();
    if (__any_sync(~0u, all.flags[threadIdx.x % 3] > place))
        out[threadIdx.x] = local[place % 16] + (float)all.bounds[threadIdx.x % 5];
    out[place % 128] += __uint_as_float(__ballot_sync(~0u, threadIdx.x & 1)) + __expf(out[0]);
}

extern "C" __global__ void groups(int *out)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.s32 p, %0, 0;\n\t@p bar.sync 3, 64;\n\t}" ::"r"((int)threadIdx.x / 64));
    asm volatile("bar.sync 1, 128;");
    out[threadIdx.x] = (int)blockDim.y * (int)gridDim.z + (int)blockIdx.z;
}

extern "C" __global__ void nothing()
{
}
