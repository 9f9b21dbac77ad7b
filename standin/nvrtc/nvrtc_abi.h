// SPDX-License-Identifier: Apache-2.0
// The run-time compiler's entry points that the stand-in exports, with the vendor's own names.
// After <nvrtc.h> this header only re-declares them, so that the compiler compares.
#ifndef BRAID_STANDIN_NVRTC_ABI_H
#define BRAID_STANDIN_NVRTC_ABI_H

#include <stddef.h>

#define NVRTC_ABI_RESULTS(X)                                                                       \
    X(NVRTC_SUCCESS, 0)                                                                            \
    X(NVRTC_ERROR_OUT_OF_MEMORY, 1)                                                                \
    X(NVRTC_ERROR_PROGRAM_CREATION_FAILURE, 2)                                                     \
    X(NVRTC_ERROR_INVALID_INPUT, 3)                                                                \
    X(NVRTC_ERROR_INVALID_PROGRAM, 4)                                                              \
    X(NVRTC_ERROR_INVALID_OPTION, 5)                                                               \
    X(NVRTC_ERROR_COMPILATION, 6)                                                                  \
    X(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, 7)                                                    \
    X(NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION, 8)                                        \
    X(NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION, 9)                                          \
    X(NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID, 10)                                                   \
    X(NVRTC_ERROR_INTERNAL_ERROR, 11)

#ifndef __NVRTC_H__
#define ENUMERATOR(name, value) name = value,
typedef enum nvrtcResult { NVRTC_ABI_RESULTS(ENUMERATOR) } nvrtcResult;
#undef ENUMERATOR
typedef struct _nvrtcProgram *nvrtcProgram;
#endif

#pragma GCC visibility push(default)

const char *nvrtcGetErrorString(nvrtcResult result);
nvrtcResult nvrtcVersion(int *out_major, int *out_minor);
nvrtcResult nvrtcGetNumSupportedArchs(int *out_count);
nvrtcResult nvrtcGetSupportedArchs(int *architectures);
nvrtcResult nvrtcCreateProgram(nvrtcProgram *out_program, const char *source, const char *name,
                               int num_headers, const char *const *headers,
                               const char *const *include_names);
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program);
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int num_options, const char *const *options);
nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char *expression);
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char *expression,
                                const char **out_name);
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *out_bytes);
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx);
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *out_bytes);
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin);
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *out_bytes);
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log);

#pragma GCC visibility pop

#endif
