// SPDX-License-Identifier: Apache-2.0
// Errors: HIP's numbers are the CUDA driver's wherever both name the same failure.
#include "cuda_driver.h"

static _Thread_local hipError_t last_error;

// The name of an error that HIP has, else NULL.
static const char *name_of(int error)
{
    switch (error) {
#define NAME(name, value)                                                                          \
    case value:                                                                                    \
        return #name;
        HIP_ABI_ERRORS(NAME)
#undef NAME
    default:
        return NULL;
    }
}

hipError_t hip_error_from(CUresult result)
{
    switch ((int)result) {
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_NO_DEVICE:
        // AMD's library gives 101 where there is no device; only hipGetDeviceCount gives 100.
        return hipErrorInvalidDevice;
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return hipErrorNoBinaryForGpu;
    case 714: // CUDA_ERROR_HARDWARE_STACK_ERROR and its neighbours, which HIP does not tell apart
    case 715:
    case 716:
    case 717:
    case 718:
        return hipErrorLaunchFailure;
    default:
        return name_of((int)result) ? (hipError_t)(int)result : hipErrorUnknown;
    }
}

// AMD's runtime keeps no hipErrorNotReady, and since version 7 a call that succeeds changes
// nothing.
hipError_t hip_fail(hipError_t error)
{
    if (error != hipSuccess && error != hipErrorNotReady)
        last_error = error;
    return error;
}

hipError_t hip_finish(CUresult result)
{
    return hip_fail(hip_error_from(result));
}

hipError_t hipGetLastError(void)
{
    hipError_t error = last_error;
    last_error = hipSuccess;
    return error;
}

hipError_t hipPeekAtLastError(void)
{
    return last_error;
}

const char *hipGetErrorName(hipError_t error)
{
    const char *name = name_of((int)error);
    return name ? name : "hipErrorUnknown";
}

const char *hipGetErrorString(hipError_t error)
{
    const char *text = NULL;
    if (cuda_open() != CUDA_SUCCESS ||
        cuda.cuGetErrorString((CUresult)(int)error, &text) != CUDA_SUCCESS || !text)
        return hipGetErrorName(error);
    return text;
}
