// SPDX-License-Identifier: Apache-2.0
// Stream capture, whose graph can only be destroyed. Modes and statuses have the same numbers in
// both.
#include "cuda_driver.h"

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuStreamBeginCapture_v2((CUstream)stream, (CUstreamCaptureMode)(int)mode);
    return hip_finish(result);
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *out_graph)
{
    if (!out_graph)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result
                             : cuda.cuStreamEndCapture((CUstream)stream, (CUgraph *)out_graph));
}

hipError_t hipGraphDestroy(hipGraph_t graph)
{
    if (!graph)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuGraphDestroy((CUgraph)graph));
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *out_status)
{
    if (!out_status)
        return hip_fail(hipErrorInvalidValue);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuStreamIsCapturing((CUstream)stream, &status);
    *out_status = (hipStreamCaptureStatus)(int)status;
    return hip_finish(result);
}

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus *out_status,
                                      unsigned long long *out_id, hipGraph_t *out_graph,
                                      const hipGraphNode_t **out_after, size_t *out_num_after)
{
    if (!out_status)
        return hip_fail(hipErrorInvalidValue);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result =
            cuda.cuStreamGetCaptureInfo_v2((CUstream)stream, &status, &id, (CUgraph *)out_graph,
                                           (const CUgraphNode **)out_after, out_num_after);
    *out_status = (hipStreamCaptureStatus)(int)status;
    if (out_id)
        *out_id = id;
    return hip_finish(result);
}

hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *out_status,
                                   unsigned long long *out_id)
{
    return hipStreamGetCaptureInfo_v2(stream, out_status, out_id, NULL, NULL, NULL);
}

hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t *after,
                                              size_t num_after, unsigned flags)
{
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuStreamUpdateCaptureDependencies((CUstream)stream, (CUgraphNode *)after,
                                                        num_after, flags);
    return hip_finish(result);
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode)
{
    if (!mode)
        return hip_fail(hipErrorInvalidValue);
    CUstreamCaptureMode exchanged = (CUstreamCaptureMode)(int)*mode;
    CUresult result = cuda_enter();
    if (result == CUDA_SUCCESS)
        result = cuda.cuThreadExchangeStreamCaptureMode(&exchanged);
    *mode = (hipStreamCaptureMode)(int)exchanged;
    return hip_finish(result);
}
