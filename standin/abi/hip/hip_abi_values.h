// SPDX-License-Identifier: Apache-2.0
// What the stand-in's declarations say about numbers and layouts, as assertions that hold for AMD's
// own declarations too. Include one of the two first.
#ifndef BRAID_STANDIN_HIP_ABI_VALUES_H
#define BRAID_STANDIN_HIP_ABI_VALUES_H

#include "hip_abi_constants.h"

#include <stddef.h>

#define SAME(name, value) _Static_assert((int)(name) == (value), #name);
#define SAME_ATTRIBUTE(name, value, cuda) _Static_assert((int)(name) == (value), #name);
HIP_ABI_ERRORS(SAME)
HIP_ABI_DEVICE_ATTRIBUTES(SAME_ATTRIBUTE)
HIP_ABI_FUNCTION_ATTRIBUTES(SAME)
HIP_ABI_MEMCPY_KINDS(SAME)
HIP_ABI_POINTER_ATTRIBUTES(SAME)
HIP_ABI_CAPTURE_MODES(SAME)
HIP_ABI_CAPTURE_STATUSES(SAME)
HIP_ABI_UPDATE_RESULTS(SAME)
HIP_ABI_POOL_ATTRIBUTES(SAME)
HIP_ABI_FLAGS(SAME)
HIP_ABI_RTC_RESULTS(SAME)
SAME(hipMemLocationTypeDevice, 1)
SAME(hipMemAllocationTypePinned, 1)
SAME(hipMemHandleTypeNone, 0)
SAME(hipMemHandleTypePosixFileDescriptor, 1)
#undef SAME
#undef SAME_ATTRIBUTE

#define SIZE(type, num_bytes) _Static_assert(sizeof(type) == (num_bytes), #type);
#define PLACE(type, member, offset)                                                                \
    _Static_assert(offsetof(type, member) == (offset), #type "." #member);
SIZE(hipUUID, 16)
SIZE(dim3, 12)
SIZE(hipKernelNodeParams, 64)
PLACE(hipKernelNodeParams, blockDim, 0)
PLACE(hipKernelNodeParams, extra, 16)
PLACE(hipKernelNodeParams, func, 24)
PLACE(hipKernelNodeParams, gridDim, 32)
PLACE(hipKernelNodeParams, kernelParams, 48)
PLACE(hipKernelNodeParams, sharedMemBytes, 56)
SIZE(hipMemsetParams, 48)
PLACE(hipMemsetParams, dst, 0)
PLACE(hipMemsetParams, elementSize, 8)
PLACE(hipMemsetParams, height, 16)
PLACE(hipMemsetParams, pitch, 24)
PLACE(hipMemsetParams, value, 32)
PLACE(hipMemsetParams, width, 40)
SIZE(hipHostNodeParams, 16)
PLACE(hipHostNodeParams, userData, 8)
SIZE(hipPos, 24)
SIZE(hipExtent, 24)
PLACE(hipExtent, height, 8)
PLACE(hipExtent, depth, 16)
SIZE(hipPitchedPtr, 32)
PLACE(hipPitchedPtr, pitch, 8)
PLACE(hipPitchedPtr, xsize, 16)
PLACE(hipPitchedPtr, ysize, 24)
SIZE(hipMemcpy3DParms, 160)
PLACE(hipMemcpy3DParms, srcPos, 8)
PLACE(hipMemcpy3DParms, srcPtr, 32)
PLACE(hipMemcpy3DParms, dstArray, 64)
PLACE(hipMemcpy3DParms, dstPos, 72)
PLACE(hipMemcpy3DParms, dstPtr, 96)
PLACE(hipMemcpy3DParms, extent, 128)
PLACE(hipMemcpy3DParms, kind, 152)
SIZE(hipMemPoolProps, 88)
PLACE(hipMemPoolProps, handleTypes, 4)
PLACE(hipMemPoolProps, location, 8)
PLACE(hipMemPoolProps, win32SecurityAttributes, 16)
#undef SIZE
#undef PLACE

#endif
