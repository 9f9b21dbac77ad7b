// SPDX-License-Identifier: Apache-2.0
// The entry points of nvJitLink that the stand-in exports, with the vendor's own names.
// After <nvJitLink.h> this header only compares.
#ifndef BRAID_STANDIN_NVJITLINK_ABI_H
#define BRAID_STANDIN_NVJITLINK_ABI_H

#include <stddef.h>
#include <stdint.h>

#define NVJITLINK_ABI_NUMBERS(X)                                                                   \
    X(NVJITLINK_SUCCESS, 0)                                                                        \
    X(NVJITLINK_ERROR_MISSING_ARCH, 2)                                                             \
    X(NVJITLINK_ERROR_INVALID_INPUT, 3)                                                            \
    X(NVJITLINK_ERROR_PTX_COMPILE, 4)                                                              \
    X(NVJITLINK_ERROR_INTERNAL, 6)

#define NVJITLINK_ABI_INPUT_PTX 2

#ifndef nvJitLink_INCLUDED
#define ENUMERATOR(name, value) name = value,
typedef enum nvJitLinkResult { NVJITLINK_ABI_NUMBERS(ENUMERATOR) } nvJitLinkResult;
#undef ENUMERATOR
typedef struct nvJitLink *nvJitLinkHandle;

#pragma GCC visibility push(default)

nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *out_handle, uint32_t num_options,
                                const char **options);
nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle);
nvJitLinkResult nvJitLinkAddData(nvJitLinkHandle handle, int type, const void *data, size_t size,
                                 const char *name);
nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle handle);
nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle handle, size_t *out_size);
nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle handle, void *cubin);
nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle handle, size_t *out_size);
nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle handle, char *log);
nvJitLinkResult nvJitLinkVersion(unsigned *out_major, unsigned *out_minor);

#pragma GCC visibility pop
#endif

#endif
