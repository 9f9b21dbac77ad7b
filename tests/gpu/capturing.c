// SPDX-License-Identifier: Apache-2.0
// Captures of a program's stream, by the CUDA driver's functions, and what is launched into them.
#include "gpu/capturing.h"

#include "support/check.h"

static void begin(struct capture *capture, braid_device *device, unsigned flags, int mode)
{
    void *context = NULL;
    *capture = (struct capture){ 0 };
    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), 0);
    assert_int_equal(cuCtxSetCurrent(context), 0);
    assert_int_equal(cuStreamCreate(&capture->handle, flags), 0);
    assert_int_equal(cuStreamBeginCapture_v2(capture->handle, mode), 0);
    check_ok(braid_stream_wrap(device, capture->handle, &capture->stream));
}

void begin_capture(struct capture *capture, braid_device *device, int mode)
{
    begin(capture, device, 1, mode);
}

void begin_blocking_capture(struct capture *capture, braid_device *device)
{
    begin(capture, device, 0, CAPTURE_RELAXED);
}

void begin_again(struct capture *capture)
{
    assert_int_equal(cuStreamBeginCapture_v2(capture->handle, CAPTURE_RELAXED), 0);
}

void end_capture(struct capture *capture)
{
    assert_int_equal(cuStreamEndCapture(capture->handle, &capture->graph), 0);
    assert_non_null(capture->graph);
    assert_int_equal(cuGraphInstantiateWithFlags(&capture->executable, capture->graph, 0), 0);
}

size_t count_nodes(const struct capture *capture)
{
    size_t num = 0;
    assert_int_equal(cuGraphGetNodes(capture->graph, NULL, &num), 0);
    return num;
}

void replay(const struct capture *capture)
{
    assert_int_equal(cuGraphLaunch(capture->executable, capture->handle), 0);
    assert_int_equal(cuStreamSynchronize(capture->handle), 0);
}

void finish_capture(struct capture *capture)
{
    assert_int_equal(cuGraphExecDestroy(capture->executable), 0);
    assert_int_equal(cuGraphDestroy(capture->graph), 0);
    braid_stream_destroy(capture->stream);
    assert_int_equal(cuStreamDestroy_v2(capture->handle), 0);
    assert_int_equal(cuCtxSetCurrent(NULL), 0);
    assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), 0);
}
