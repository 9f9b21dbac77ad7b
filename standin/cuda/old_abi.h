// SPDX-License-Identifier: Apache-2.0
// Unsuffixed names that the driver still exports with the 32-bit shapes of CUDA 2 and 3.
//
// A program that resolves cuMemAlloc instead of cuMemAlloc_v2 gets a function that writes a 32-bit
// address. The stand-in's versions refuse with a line that says so.
#ifndef BRAID_STANDIN_OLD_ABI_H
#define BRAID_STANDIN_OLD_ABI_H

#include "cuda_abi.h"

#pragma GCC visibility push(default)

CUresult cuDeviceTotalMem(unsigned *out_bytes, CUdevice device);
CUresult cuMemAlloc(CUdeviceptr_v1 *out_memory, unsigned bytes);
CUresult cuMemFree(CUdeviceptr_v1 memory);
CUresult cuMemAllocHost(void **out_memory, unsigned bytes);
CUresult cuMemGetInfo(unsigned *out_free, unsigned *out_total);
CUresult cuMemGetAddressRange(CUdeviceptr_v1 *out_start, unsigned *out_bytes,
                              CUdeviceptr_v1 memory);
CUresult cuMemHostGetDevicePointer(CUdeviceptr_v1 *out_memory, void *host, unsigned flags);
CUresult cuMemcpyHtoD(CUdeviceptr_v1 to, const void *from, unsigned bytes);
CUresult cuMemcpyHtoDAsync(CUdeviceptr_v1 to, const void *from, unsigned bytes, CUstream stream);
CUresult cuMemcpyDtoH(void *to, CUdeviceptr_v1 from, unsigned bytes);
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr_v1 from, unsigned bytes, CUstream stream);
CUresult cuMemcpyDtoD(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned bytes);
CUresult cuMemcpyDtoDAsync(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned bytes, CUstream stream);
CUresult cuMemsetD8(CUdeviceptr_v1 to, unsigned char value, unsigned count);
CUresult cuMemsetD16(CUdeviceptr_v1 to, unsigned short value, unsigned count);
CUresult cuMemsetD32(CUdeviceptr_v1 to, unsigned value, unsigned count);
CUresult cuMemsetD2D8(CUdeviceptr_v1 to, unsigned pitch, unsigned char value, unsigned width,
                      unsigned height);
CUresult cuMemsetD2D16(CUdeviceptr_v1 to, unsigned pitch, unsigned short value, unsigned width,
                       unsigned height);
CUresult cuMemsetD2D32(CUdeviceptr_v1 to, unsigned pitch, unsigned value, unsigned width,
                       unsigned height);
CUresult cuModuleGetGlobal(CUdeviceptr_v1 *out_memory, unsigned *out_bytes, CUmodule module,
                           const char *name);

#pragma GCC visibility pop

#endif
