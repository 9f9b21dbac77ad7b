// SPDX-License-Identifier: Apache-2.0
// Unsuffixed names that the driver still exports with the 32-bit shapes of CUDA 2 and 3.
#include "old_abi.h"

#include "report.h"

static CUresult refuse(const char *function)
{
    complain("%s has a 32-bit shape; the entry point of today is %s_v2", function, function);
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDeviceTotalMem(unsigned *out_bytes, CUdevice device)
{
    (void)out_bytes, (void)device;
    return refuse(__func__);
}

CUresult cuMemAlloc(CUdeviceptr_v1 *out_memory, unsigned bytes)
{
    (void)out_memory, (void)bytes;
    return refuse(__func__);
}

CUresult cuMemFree(CUdeviceptr_v1 memory)
{
    (void)memory;
    return refuse(__func__);
}

CUresult cuMemAllocHost(void **out_memory, unsigned bytes)
{
    (void)out_memory, (void)bytes;
    return refuse(__func__);
}

CUresult cuMemGetInfo(unsigned *out_free, unsigned *out_total)
{
    (void)out_free, (void)out_total;
    return refuse(__func__);
}

CUresult cuMemGetAddressRange(CUdeviceptr_v1 *out_start, unsigned *out_bytes, CUdeviceptr_v1 memory)
{
    (void)out_start, (void)out_bytes, (void)memory;
    return refuse(__func__);
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr_v1 *out_memory, void *host, unsigned flags)
{
    (void)out_memory, (void)host, (void)flags;
    return refuse(__func__);
}

CUresult cuMemcpyHtoD(CUdeviceptr_v1 to, const void *from, unsigned bytes)
{
    (void)to, (void)from, (void)bytes;
    return refuse(__func__);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr_v1 to, const void *from, unsigned bytes, CUstream stream)
{
    (void)to, (void)from, (void)bytes, (void)stream;
    return refuse(__func__);
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr_v1 from, unsigned bytes)
{
    (void)to, (void)from, (void)bytes;
    return refuse(__func__);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr_v1 from, unsigned bytes, CUstream stream)
{
    (void)to, (void)from, (void)bytes, (void)stream;
    return refuse(__func__);
}

CUresult cuMemcpyDtoD(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned bytes)
{
    (void)to, (void)from, (void)bytes;
    return refuse(__func__);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned bytes, CUstream stream)
{
    (void)to, (void)from, (void)bytes, (void)stream;
    return refuse(__func__);
}

CUresult cuMemsetD8(CUdeviceptr_v1 to, unsigned char value, unsigned count)
{
    (void)to, (void)value, (void)count;
    return refuse(__func__);
}

CUresult cuMemsetD16(CUdeviceptr_v1 to, unsigned short value, unsigned count)
{
    (void)to, (void)value, (void)count;
    return refuse(__func__);
}

CUresult cuMemsetD32(CUdeviceptr_v1 to, unsigned value, unsigned count)
{
    (void)to, (void)value, (void)count;
    return refuse(__func__);
}

CUresult cuMemsetD2D8(CUdeviceptr_v1 to, unsigned pitch, unsigned char value, unsigned width,
                      unsigned height)
{
    (void)to, (void)pitch, (void)value, (void)width, (void)height;
    return refuse(__func__);
}

CUresult cuMemsetD2D16(CUdeviceptr_v1 to, unsigned pitch, unsigned short value, unsigned width,
                       unsigned height)
{
    (void)to, (void)pitch, (void)value, (void)width, (void)height;
    return refuse(__func__);
}

CUresult cuMemsetD2D32(CUdeviceptr_v1 to, unsigned pitch, unsigned value, unsigned width,
                       unsigned height)
{
    (void)to, (void)pitch, (void)value, (void)width, (void)height;
    return refuse(__func__);
}

CUresult cuModuleGetGlobal(CUdeviceptr_v1 *out_memory, unsigned *out_bytes, CUmodule module,
                           const char *name)
{
    (void)out_memory, (void)out_bytes, (void)module, (void)name;
    return refuse(__func__);
}
