// SPDX-License-Identifier: Apache-2.0
// Captures of a program's stream, by the CUDA driver's functions, and what is launched into them.
#ifndef BRAID_TESTS_GPU_CAPTURING_H
#define BRAID_TESTS_GPU_CAPTURING_H

#include <stdbool.h>
#include <stddef.h>

#include <braid/braid.h>

int cuCtxSetCurrent(void *context);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags);
int cuGraphLaunch(void *executable, void *stream);
int cuGraphExecDestroy(void *executable);
int cuGraphDestroy(void *graph);
int cuGraphGetNodes(void *graph, void **nodes, size_t *num_nodes);
int cuMemsetD32Async(void *to, unsigned value, size_t num, void *stream);
int cuMemcpyAsync(void *to, const void *from, size_t bytes, void *stream);

enum { CAPTURE_GLOBAL, CAPTURE_THREAD_LOCAL, CAPTURE_RELAXED };

// A stream of the program's that captures, as Braid and the driver name it; then its graph.
struct capture {
    void *handle;
    braid_stream *stream;
    void *graph, *executable; // NULL: it has not ended
};

// Each asserts that the driver does it.
void begin_capture(struct capture *capture, braid_device *device, int mode);
void begin_blocking_capture(struct capture *capture, braid_device *device); // relaxed
void begin_again(struct capture *capture); // on the same stream, relaxed
void end_capture(struct capture *capture); // and instantiates the graph
size_t count_nodes(const struct capture *capture);
void replay(const struct capture *capture); // and waits
void finish_capture(struct capture *capture);

#endif
