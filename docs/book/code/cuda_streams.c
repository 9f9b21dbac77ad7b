// SPDX-License-Identifier: Apache-2.0
// A part written against the CUDA driver, as much of it as the part needs: it is compiled, and runs
// on calls that only count.
#include <stddef.h>
#include <stdio.h>

#define CHECK_CUDA(call) ((call) ? (void)puts(#call) : (void)0)

typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUDA_KERNEL_NODE_PARAMS {
    CUfunction func;
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    void **kernelParams, **extra;
} CUDA_KERNEL_NODE_PARAMS;

static int num_calls;
static int cuStreamWaitEvent(CUstream s, CUevent e, unsigned f)
{
    (void)s, (void)e, (void)f;
    return num_calls++, 0;
}
static int cuEventRecord(CUevent e, CUstream s)
{
    (void)e, (void)s;
    return num_calls++, 0;
}
static int cuLaunchKernel(CUfunction k, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, CUstream s, void **args,
                          void **extra)
{
    (void)k, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)s,
        (void)args, (void)extra;
    return num_calls++, 0;
}
static int cuGraphAddKernelNode(CUgraphNode *n, CUgraph g, const CUgraphNode *d, size_t num,
                                const CUDA_KERNEL_NODE_PARAMS *p)
{
    (void)n, (void)g, (void)d, (void)num, (void)p;
    return num_calls++, 0;
}
static int cuGraphInstantiate(CUgraphExec *x, CUgraph g, unsigned long long f)
{
    (void)x, (void)g, (void)f;
    return num_calls++, 0;
}
static int cuGraphLaunch(CUgraphExec x, CUstream s)
{
    (void)x, (void)s;
    return num_calls++, 0;
}

int main(void)
{
    CUstream stream = NULL, side = NULL;
    CUevent loaded = NULL, blurred = NULL;
    CUfunction load = NULL, blur = NULL, edges = NULL, merge = NULL;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    void *load_args[1], *blur_args[1], *edges_args[1], *merge_args[1];
    // here
    return num_calls ? 0 : 1;
}
