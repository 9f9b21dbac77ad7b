// SPDX-License-Identifier: Apache-2.0
// Kernels for sm_90 from which texts in this folder were compiled: see README.md.
extern "C" __global__ void tail(float *y)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    y[threadIdx.x] += 1;
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) near(float *y)
{
    __shared__ float own;
    own = y[blockIdx.x];
    asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
    y[blockIdx.x + 8] = own;
}

extern "C" __global__ void copies(float4 *to, const float4 *from)
{
    __shared__ float4 own[32];
    unsigned at = (unsigned)__cvta_generic_to_shared(&own[threadIdx.x]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from + threadIdx.x) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    to[threadIdx.x] = own[31 - threadIdx.x];
    atomicMin((int *)to, 5);
}

extern "C" __global__ void multiply(float *d, const unsigned *a, const unsigned *b)
{
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
                 : "r"(a[threadIdx.x]), "r"(a[threadIdx.x + 32]), "r"(a[threadIdx.x + 64]), "r"(a[threadIdx.x + 96]),
                   "r"(b[threadIdx.x]), "r"(b[threadIdx.x + 32]));
    d[4 * threadIdx.x] = c0;
    d[4 * threadIdx.x + 1] = c1;
    d[4 * threadIdx.x + 2] = c2;
    d[4 * threadIdx.x + 3] = c3;
}
