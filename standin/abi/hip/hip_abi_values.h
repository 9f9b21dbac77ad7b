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
SIZE(hipMemPoolProps, 88)
PLACE(hipMemPoolProps, handleTypes, 4)
PLACE(hipMemPoolProps, location, 8)
PLACE(hipMemPoolProps, win32SecurityAttributes, 16)
#undef SIZE
#undef PLACE

#endif
