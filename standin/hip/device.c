// SPDX-License-Identifier: Apache-2.0
// Starting up, versions and devices.
#include "cuda_driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the stand-in says its version is, unless BRAID_STANDIN_HIP_VERSION says otherwise.
enum { DEFAULT_VERSION = 60300000 };

hipError_t hipInit(unsigned flags)
{
    if (flags)
        return hip_fail(hipErrorInvalidValue);
    return hip_finish(cuda_open());
}

static int version(void)
{
    const char *text = getenv("BRAID_STANDIN_HIP_VERSION");
    int number = text ? atoi(text) : 0;
    return number > 0 ? number : DEFAULT_VERSION;
}

hipError_t hipRuntimeGetVersion(int *out_version)
{
    if (!out_version)
        return hip_fail(hipErrorInvalidValue);
    *out_version = version();
    return hipSuccess;
}

// AMD's library gives the same number for both.
hipError_t hipDriverGetVersion(int *out_version)
{
    return hipRuntimeGetVersion(out_version);
}

hipError_t hipGetDeviceCount(int *out_count)
{
    if (!out_count)
        return hip_fail(hipErrorInvalidValue);
    *out_count = 0;
    if (cuda_open() != CUDA_SUCCESS)
        return hip_fail(hipErrorNoDevice);
    return hip_finish(cuda.cuDeviceGetCount(out_count));
}

hipError_t hipGetDevice(int *out_device)
{
    if (!out_device)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_open();
    if (result == CUDA_SUCCESS)
        *out_device = cuda_current_device();
    return hip_finish(result);
}

hipError_t hipSetDevice(int device)
{
    return hip_finish(cuda_set_current_device(device));
}

hipError_t hipDeviceGet(hipDevice_t *out_device, int ordinal)
{
    if (!out_device)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_open();
    return hip_finish(result ? result : cuda.cuDeviceGet(out_device, ordinal));
}

hipError_t hipDeviceGetName(char *name, int num_bytes, hipDevice_t device)
{
    if (!name || num_bytes < 1)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_open();
    return hip_finish(result ? result : cuda.cuDeviceGetName(name, num_bytes, device));
}

hipError_t hipDeviceTotalMem(size_t *out_num_bytes, hipDevice_t device)
{
    if (!out_num_bytes)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_open();
    return hip_finish(result ? result : cuda.cuDeviceTotalMem_v2(out_num_bytes, device));
}

hipError_t hipDeviceGetPCIBusId(char *id, int num_bytes, int device)
{
    if (!id)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_open();
    return hip_finish(result ? result : cuda.cuDeviceGetPCIBusId(id, num_bytes, device));
}

hipError_t hipDeviceGetUuid(hipUUID *out_uuid, hipDevice_t device)
{
    if (!out_uuid)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_open();
    return hip_finish(result ? result : cuda.cuDeviceGetUuid((CUuuid *)out_uuid, device));
}

struct attribute {
    hipDeviceAttribute_t hip;
    CUdevice_attribute cuda;
};

#define ROW(name, value, cuda_name) { name, cuda_name },
static const struct attribute attributes[] = { HIP_ABI_DEVICE_ATTRIBUTES(ROW) };
#undef ROW

hipError_t hipDeviceGetAttribute(int *out_value, hipDeviceAttribute_t attribute, int device)
{
    if (!out_value)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_open();
    if (result != CUDA_SUCCESS)
        return hip_finish(result);
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        if (attributes[i].hip == attribute)
            return hip_finish(cuda.cuDeviceGetAttribute(out_value, attributes[i].cuda, device));
    return hip_fail(hipErrorInvalidValue);
}

// ROCm 6's properties. Of their 1472 bytes only the two names are given: the device's, and where
// AMD has "gfx90a", the CUDA architecture, such as "sm_90".
struct hipDeviceProp_tR0600 {
    char name[256];
    char not_given[904];
    char architecture[256];
    char not_given_either[56];
};
_Static_assert(sizeof(struct hipDeviceProp_tR0600) == 1472, "ROCm 6's hipDeviceProp_t");

hipError_t hipGetDevicePropertiesR0600(struct hipDeviceProp_tR0600 *out_properties, int device)
{
    struct hipDeviceProp_tR0600 properties = { .name = "" };
    int major = 0;
    int minor = 0;
    if (!out_properties)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_open();
    if (result == CUDA_SUCCESS)
        result = cuda.cuDeviceGetName(properties.name, sizeof(properties.name), device);
    if (result == CUDA_SUCCESS)
        result =
            cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (result == CUDA_SUCCESS)
        result =
            cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    snprintf(properties.architecture, sizeof(properties.architecture), "sm_%d%d", major, minor);
    if (result == CUDA_SUCCESS)
        *out_properties = properties;
    return hip_finish(result);
}

hipError_t hipDeviceGetStreamPriorityRange(int *out_least, int *out_greatest)
{
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuCtxGetStreamPriorityRange(out_least, out_greatest));
}

hipError_t hipDeviceSynchronize(void)
{
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuCtxSynchronize());
}

hipError_t hipMemGetInfo(size_t *out_free, size_t *out_total)
{
    CUresult result = cuda_enter();
    return hip_finish(result ? result : cuda.cuMemGetInfo_v2(out_free, out_total));
}

hipError_t hipDeviceCanAccessPeer(int *out_can, int device, int peer)
{
    if (!out_can)
        return hip_fail(hipErrorInvalidValue);
    CUresult result = cuda_open();
    return hip_finish(result ? result : cuda.cuDeviceCanAccessPeer(out_can, device, peer));
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    CUcontext context;
    CUresult result = cuda_context_of(peer, &context);
    if (result == CUDA_SUCCESS)
        result = cuda_enter();
    return hip_finish(result ? result : cuda.cuCtxEnablePeerAccess(context, flags));
}
