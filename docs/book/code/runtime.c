// SPDX-License-Identifier: Apache-2.0
// A part of a program that has kernels, memory and a stream from cudart or HIP: it is compiled, and
// runs on the CPU with calls that only count.
#include "book.h"

typedef struct CUfunc_st *cudaFunction_t, *hipFunction_t;
typedef struct CUstream_st *cudaStream_t, *hipStream_t;
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };

static int num_calls;
static const char scale;

static int found(cudaFunction_t *out_function, const void *symbol)
{
    *out_function = NULL;
    return num_calls++, symbol ? 0 : 1;
}

static int copied(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream)
{
    (void)to, (void)from, (void)bytes, (void)kind, (void)stream;
    return num_calls++, 0;
}

#define CHECK_CUDA(call) ((call) ? exit(1) : (void)0)
#define CHECK_HIP(call) CHECK_CUDA(call)
#define cudaGetFuncBySymbol(out, symbol) found(out, &symbol)
#define hipGetFuncBySymbol(out, symbol) found(out, &symbol)
#define cudaMemcpyAsync copied
#define hipMemcpyAsync copied
#define braid_device_open(options, out)                                                            \
    braid_device_open(&(braid_device_options){ .backend = (options)->backend ? "cpu" : NULL }, out)
#define braid_stream_wrap(device, stream, out)                                                     \
    ((void)(stream), braid_stream_create(device, NULL, out))

int main(void)
{
    static float in[1024], out[1024], host[1024];
    const size_t bytes = sizeof(in);
    cudaStream_t stream = NULL;
    // here
    CHECK(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_stream_destroy(theirs);
    braid_device_close(device);
    return num_calls == 3 ? 0 : 1;
}
