// SPDX-License-Identifier: Apache-2.0
// A part of a program that captures a step with a plan in it: it is compiled, and runs on the CPU
// with calls that only count.
#include "book.h"

typedef struct CUstream_st *cudaStream_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaStreamCaptureModeGlobal = 0 };

static int num_calls;

static int copied(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream)
{
    (void)to, (void)from, (void)bytes, (void)kind, (void)stream;
    return num_calls++, 0;
}

static int cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
    (void)stream, (void)mode;
    return num_calls++, 0;
}

static int cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    (void)stream, (void)graph;
    return num_calls++, 0;
}

static int cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, int flags)
{
    (void)executable, (void)graph, (void)flags;
    return num_calls++, 0;
}

static int cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    (void)executable, (void)stream;
    return num_calls++, 0;
}

// The CPU has no such graph, and says so.
static braid_status make_graph(braid_exec *exec, cudaGraph_t *graph)
{
    void *made = NULL;
    (void)graph;
    return braid_exec_make_cuda_graph(exec, &made) == BRAID_UNSUPPORTED ? BRAID_OK : BRAID_INTERNAL;
}

#define CHECK_CUDA(call) ((call) ? exit(1) : (void)0)
#define cudaMemcpyAsync copied
#define braid_exec_make_cuda_graph make_graph

int main(void)
{
    static float in[4], out[4], host[4];
    const size_t bytes = sizeof(in);
    cudaStream_t stream = NULL;
    cudaGraph_t captured = NULL, plan = NULL;
    cudaGraphExec_t executable = NULL, own = NULL;
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    braid_stream *theirs;
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_stream_create(device, NULL, &theirs));
    CHECK(braid_graph_create(&graph));
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    // here
    CHECK(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_stream_destroy(theirs);
    braid_device_close(device);
    return num_calls == 8 ? 0 : 1;
}
