// SPDX-License-Identifier: Apache-2.0
// What the HIP probes share: a HIP library opened by name as a backend would, and kernels for it.
//
// A probe is one program that runs over any library with AMD's interface: AMD's own on the stand-in
// HSA runtime, or the stand-in over the CUDA driver, real or stand-in. Kernels are given twice: as
// HIP source, and as a host function braid_standin_NAME for where there is no GPU.
#ifndef BRAID_STANDIN_HIP_PROBE_H
#define BRAID_STANDIN_HIP_PROBE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs the four above.
#include <cmocka.h>

#include "hip_abi.h"

#define PROBE_REQUIRED_FUNCTIONS(X)                                                                \
    X(hipInit)                                                                                     \
    X(hipRuntimeGetVersion)                                                                        \
    X(hipGetErrorName)                                                                             \
    X(hipGetDeviceCount)                                                                           \
    X(hipGetDevice)                                                                                \
    X(hipSetDevice)                                                                                \
    X(hipDeviceGetName)                                                                            \
    X(hipDeviceTotalMem)                                                                           \
    X(hipDeviceGetAttribute)                                                                       \
    X(hipStreamCreateWithFlags)                                                                    \
    X(hipStreamCreateWithPriority)                                                                 \
    X(hipStreamDestroy)                                                                            \
    X(hipStreamQuery)                                                                              \
    X(hipStreamSynchronize)                                                                        \
    X(hipStreamWaitEvent)                                                                          \
    X(hipStreamAddCallback)                                                                        \
    X(hipEventCreateWithFlags)                                                                     \
    X(hipEventDestroy)                                                                             \
    X(hipEventRecord)                                                                              \
    X(hipEventQuery)                                                                               \
    X(hipEventSynchronize)                                                                         \
    X(hipEventElapsedTime)                                                                         \
    X(hipMalloc)                                                                                   \
    X(hipFree)                                                                                     \
    X(hipHostMalloc)                                                                               \
    X(hipHostFree)                                                                                 \
    X(hipMemcpyAsync)                                                                              \
    X(hipMemcpy2DAsync)                                                                            \
    X(hipMemsetD8Async)                                                                            \
    X(hipMemsetD16Async)                                                                           \
    X(hipMemsetD32Async)                                                                           \
    X(hipModuleLoadData)                                                                           \
    X(hipModuleUnload)                                                                             \
    X(hipModuleGetFunction)                                                                        \
    X(hipModuleLaunchKernel)                                                                       \
    X(hipStreamBeginCapture)                                                                       \
    X(hipStreamEndCapture)                                                                         \
    X(hipStreamIsCapturing)                                                                        \
    X(hiprtcCreateProgram)                                                                         \
    X(hiprtcDestroyProgram)                                                                        \
    X(hiprtcCompileProgram)                                                                        \
    X(hiprtcGetProgramLogSize)                                                                     \
    X(hiprtcGetProgramLog)                                                                         \
    X(hiprtcGetCodeSize)                                                                           \
    X(hiprtcGetCode)

// NULL in the table if the library does not have it.
#define PROBE_OPTIONAL_FUNCTIONS(X)                                                                \
    X(hipLaunchHostFunc)                                                                           \
    X(hipMallocAsync)                                                                              \
    X(hipFreeAsync)

#define FIELD(name) __typeof__(name) *name;
struct probe_functions {
    PROBE_REQUIRED_FUNCTIONS(FIELD)
    PROBE_OPTIONAL_FUNCTIONS(FIELD)
};
#undef FIELD

// The open library.
extern struct probe_functions hip;

// ROCm's version, as 5.2.3 = 50203. AMD's runtime packs it as 5022xxxx.
enum { ROCM_5_3 = 503, ROCM_5_4 = 504 };
extern int probe_rocm_version;

// Opens the library named by BRAID_PROBE_LIBRARY. Returns 0, or what the program must return: 77
// with the reason printed if there is no such library or BRAID_PROBE_SKIP gives a reason, 1 if the
// library is of no use.
int probe_open(void);

// Opens the library and runs a group of tests. Returns what the program must return.
#define probe_run(tests) probe_run_tests(#tests, tests, sizeof(tests) / sizeof((tests)[0]))
int probe_run_tests(const char *name, const struct CMUnitTest *tests, size_t num_tests);

// Fails the test if `error` is not hipSuccess, and says which call it was.
#define check(call) probe_check(call, #call, __FILE__, __LINE__)
void probe_check(hipError_t error, const char *call, const char *file, int line);

// Compiles HIP C++ source and loads it. Fails the test, with the compiler's words, if it cannot.
hipModule_t probe_compile(const char *source);
hipFunction_t probe_function(hipModule_t module, const char *name);

hipStream_t probe_stream(void); // non-blocking
hipEvent_t probe_event(void);   // without timing

// Launches one block of one thread.
void probe_launch(hipFunction_t function, hipStream_t stream, void **arguments);

// The first eight bytes of a kernel's argument, for the host versions of kernels.
void *probe_pointer_argument(void **arguments, unsigned index);

// A gate is a kernel that ends when the host opens it, so that a test decides when a stream goes
// on. Its flag lies in pinned host memory.
struct probe_gate {
    hipModule_t module;
    hipFunction_t function;
    unsigned *flag;
};
struct probe_gate probe_gate_create(void);
void probe_gate_close(struct probe_gate *gate, hipStream_t stream);
void probe_gate_open(struct probe_gate *gate);
void probe_gate_destroy(struct probe_gate *gate);

#endif
