// SPDX-License-Identifier: Apache-2.0
// HIP's numbers that the stand-in and its tests use, as lists, so that one list makes the enum, the
// names of errors, and the test that compares every row with AMD's header.
#ifndef BRAID_STANDIN_HIP_ABI_CONSTANTS_H
#define BRAID_STANDIN_HIP_ABI_CONSTANTS_H

// Every error here has the number of the CUDA driver's error for the same failure, where it has
// one.
#define HIP_ABI_ERRORS(X)                                                                          \
    X(hipSuccess, 0)                                                                               \
    X(hipErrorInvalidValue, 1)                                                                     \
    X(hipErrorOutOfMemory, 2)                                                                      \
    X(hipErrorNotInitialized, 3)                                                                   \
    X(hipErrorDeinitialized, 4)                                                                    \
    X(hipErrorInvalidDevicePointer, 17)                                                            \
    X(hipErrorInvalidMemcpyDirection, 21)                                                          \
    X(hipErrorNoDevice, 100)                                                                       \
    X(hipErrorInvalidDevice, 101)                                                                  \
    X(hipErrorInvalidImage, 200)                                                                   \
    X(hipErrorInvalidContext, 201)                                                                 \
    X(hipErrorMapFailed, 205)                                                                      \
    X(hipErrorUnmapFailed, 206)                                                                    \
    X(hipErrorAlreadyMapped, 208)                                                                  \
    X(hipErrorNoBinaryForGpu, 209)                                                                 \
    X(hipErrorNotMapped, 211)                                                                      \
    X(hipErrorECCNotCorrectable, 214)                                                              \
    X(hipErrorUnsupportedLimit, 215)                                                               \
    X(hipErrorContextAlreadyInUse, 216)                                                            \
    X(hipErrorPeerAccessUnsupported, 217)                                                          \
    X(hipErrorInvalidKernelFile, 218)                                                              \
    X(hipErrorInvalidSource, 300)                                                                  \
    X(hipErrorFileNotFound, 301)                                                                   \
    X(hipErrorSharedObjectSymbolNotFound, 302)                                                     \
    X(hipErrorSharedObjectInitFailed, 303)                                                         \
    X(hipErrorOperatingSystem, 304)                                                                \
    X(hipErrorInvalidHandle, 400)                                                                  \
    X(hipErrorIllegalState, 401)                                                                   \
    X(hipErrorNotFound, 500)                                                                       \
    X(hipErrorNotReady, 600)                                                                       \
    X(hipErrorIllegalAddress, 700)                                                                 \
    X(hipErrorLaunchOutOfResources, 701)                                                           \
    X(hipErrorLaunchTimeOut, 702)                                                                  \
    X(hipErrorPeerAccessAlreadyEnabled, 704)                                                       \
    X(hipErrorPeerAccessNotEnabled, 705)                                                           \
    X(hipErrorSetOnActiveProcess, 708)                                                             \
    X(hipErrorContextIsDestroyed, 709)                                                             \
    X(hipErrorAssert, 710)                                                                         \
    X(hipErrorHostMemoryAlreadyRegistered, 712)                                                    \
    X(hipErrorHostMemoryNotRegistered, 713)                                                        \
    X(hipErrorLaunchFailure, 719)                                                                  \
    X(hipErrorCooperativeLaunchTooLarge, 720)                                                      \
    X(hipErrorNotSupported, 801)                                                                   \
    X(hipErrorStreamCaptureUnsupported, 900)                                                       \
    X(hipErrorStreamCaptureInvalidated, 901)                                                       \
    X(hipErrorStreamCaptureMerge, 902)                                                             \
    X(hipErrorStreamCaptureUnmatched, 903)                                                         \
    X(hipErrorStreamCaptureUnjoined, 904)                                                          \
    X(hipErrorStreamCaptureIsolation, 905)                                                         \
    X(hipErrorStreamCaptureImplicit, 906)                                                          \
    X(hipErrorCapturedEvent, 907)                                                                  \
    X(hipErrorStreamCaptureWrongThread, 908)                                                       \
    X(hipErrorGraphExecUpdateFailure, 910)                                                         \
    X(hipErrorUnknown, 999)

// name, number in HIP, the same attribute of the CUDA driver
#define HIP_ABI_DEVICE_ATTRIBUTES(X)                                                               \
    X(hipDeviceAttributeAsyncEngineCount, 2, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT)               \
    X(hipDeviceAttributeCanMapHostMemory, 3, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY)              \
    X(hipDeviceAttributeClockRate, 5, CU_DEVICE_ATTRIBUTE_CLOCK_RATE)                              \
    X(hipDeviceAttributeConcurrentKernels, 8, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS)              \
    X(hipDeviceAttributeCooperativeLaunch, 10, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)             \
    X(hipDeviceAttributeIntegrated, 16, CU_DEVICE_ATTRIBUTE_INTEGRATED)                            \
    X(hipDeviceAttributeL2CacheSize, 19, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)                        \
    X(hipDeviceAttributeComputeCapabilityMajor, 23, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)  \
    X(hipDeviceAttributeManagedMemory, 24, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)                     \
    X(hipDeviceAttributeMaxBlockDimX, 26, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)                     \
    X(hipDeviceAttributeMaxBlockDimY, 27, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)                     \
    X(hipDeviceAttributeMaxBlockDimZ, 28, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)                     \
    X(hipDeviceAttributeMaxGridDimX, 29, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)                       \
    X(hipDeviceAttributeMaxGridDimY, 30, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)                       \
    X(hipDeviceAttributeMaxGridDimZ, 31, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)                       \
    X(hipDeviceAttributeMaxThreadsPerBlock, 56, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)         \
    X(hipDeviceAttributeMaxThreadsPerMultiProcessor, 57,                                           \
      CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)                                          \
    X(hipDeviceAttributeMemoryClockRate, 60, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)                \
    X(hipDeviceAttributeComputeCapabilityMinor, 61, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)  \
    X(hipDeviceAttributeMultiprocessorCount, 63, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)         \
    X(hipDeviceAttributePciBusId, 67, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)                              \
    X(hipDeviceAttributePciDeviceId, 68, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)                        \
    X(hipDeviceAttributePciDomainID, 69, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)                        \
    X(hipDeviceAttributeMaxRegistersPerBlock, 71, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)     \
    X(hipDeviceAttributeMaxSharedMemoryPerBlock, 74,                                               \
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)                                             \
    X(hipDeviceAttributeStreamPrioritiesSupported, 78,                                             \
      CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED)                                             \
    X(hipDeviceAttributeTotalConstantMemory, 83, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)        \
    X(hipDeviceAttributeUnifiedAddressing, 85, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)             \
    X(hipDeviceAttributeWarpSize, 87, CU_DEVICE_ATTRIBUTE_WARP_SIZE)                               \
    X(hipDeviceAttributeMemoryPoolsSupported, 88, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)      \
    X(hipDeviceAttributeCanUseStreamWaitValue, 10013, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)

// The numbers are the CUDA driver's too.
#define HIP_ABI_FUNCTION_ATTRIBUTES(X)                                                             \
    X(HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                                                 \
    X(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                                     \
    X(HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 2)                                                      \
    X(HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                                      \
    X(HIP_FUNC_ATTRIBUTE_NUM_REGS, 4)

#define HIP_ABI_MEMCPY_KINDS(X)                                                                    \
    X(hipMemcpyHostToHost, 0)                                                                      \
    X(hipMemcpyHostToDevice, 1)                                                                    \
    X(hipMemcpyDeviceToHost, 2)                                                                    \
    X(hipMemcpyDeviceToDevice, 3)                                                                  \
    X(hipMemcpyDefault, 4)

#define HIP_ABI_POINTER_ATTRIBUTES(X)                                                              \
    X(HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                                                        \
    X(HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)

#define HIP_ABI_CAPTURE_MODES(X)                                                                   \
    X(hipStreamCaptureModeGlobal, 0)                                                               \
    X(hipStreamCaptureModeThreadLocal, 1)                                                          \
    X(hipStreamCaptureModeRelaxed, 2)

#define HIP_ABI_CAPTURE_STATUSES(X)                                                                \
    X(hipStreamCaptureStatusNone, 0)                                                               \
    X(hipStreamCaptureStatusActive, 1)                                                             \
    X(hipStreamCaptureStatusInvalidated, 2)

#define HIP_ABI_POOL_ATTRIBUTES(X)                                                                 \
    X(hipMemPoolReuseFollowEventDependencies, 1)                                                   \
    X(hipMemPoolReuseAllowOpportunistic, 2)                                                        \
    X(hipMemPoolReuseAllowInternalDependencies, 3)                                                 \
    X(hipMemPoolAttrReleaseThreshold, 4)                                                           \
    X(hipMemPoolAttrReservedMemCurrent, 5)                                                         \
    X(hipMemPoolAttrReservedMemHigh, 6)                                                            \
    X(hipMemPoolAttrUsedMemCurrent, 7)                                                             \
    X(hipMemPoolAttrUsedMemHigh, 8)

// Flags that AMD's header has as macros.
#define HIP_ABI_FLAGS(X)                                                                           \
    X(hipStreamDefault, 0)                                                                         \
    X(hipStreamNonBlocking, 1)                                                                     \
    X(hipEventDefault, 0)                                                                          \
    X(hipEventBlockingSync, 1)                                                                     \
    X(hipEventDisableTiming, 2)                                                                    \
    X(hipEventInterprocess, 4)                                                                     \
    X(hipHostMallocDefault, 0)                                                                     \
    X(hipHostMallocPortable, 1)                                                                    \
    X(hipHostMallocMapped, 2)                                                                      \
    X(hipHostMallocWriteCombined, 4)                                                               \
    X(hipHostRegisterDefault, 0)                                                                   \
    X(hipHostRegisterPortable, 1)                                                                  \
    X(hipHostRegisterMapped, 2)

#define HIP_ABI_RTC_RESULTS(X)                                                                     \
    X(HIPRTC_SUCCESS, 0)                                                                           \
    X(HIPRTC_ERROR_OUT_OF_MEMORY, 1)                                                               \
    X(HIPRTC_ERROR_PROGRAM_CREATION_FAILURE, 2)                                                    \
    X(HIPRTC_ERROR_INVALID_INPUT, 3)                                                               \
    X(HIPRTC_ERROR_INVALID_PROGRAM, 4)                                                             \
    X(HIPRTC_ERROR_INVALID_OPTION, 5)                                                              \
    X(HIPRTC_ERROR_COMPILATION, 6)                                                                 \
    X(HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE, 7)                                                   \
    X(HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION, 8)                                       \
    X(HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION, 9)                                         \
    X(HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID, 10)                                                  \
    X(HIPRTC_ERROR_INTERNAL_ERROR, 11)

#endif
