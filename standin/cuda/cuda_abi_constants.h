// SPDX-License-Identifier: Apache-2.0
// The CUDA driver's numbers that the stand-in uses, as lists, so that one list makes the enums,
// the table of error names, and the test that compares every row with the vendor's header.
#ifndef BRAID_STANDIN_CUDA_ABI_CONSTANTS_H
#define BRAID_STANDIN_CUDA_ABI_CONSTANTS_H

#define CUDA_ABI_RESULTS(X)                                                                        \
    X(CUDA_SUCCESS, 0)                                                                             \
    X(CUDA_ERROR_INVALID_VALUE, 1)                                                                 \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                 \
    X(CUDA_ERROR_NOT_INITIALIZED, 3)                                                               \
    X(CUDA_ERROR_DEINITIALIZED, 4)                                                                 \
    X(CUDA_ERROR_STUB_LIBRARY, 34)                                                                 \
    X(CUDA_ERROR_NO_DEVICE, 100)                                                                   \
    X(CUDA_ERROR_INVALID_DEVICE, 101)                                                              \
    X(CUDA_ERROR_INVALID_IMAGE, 200)                                                               \
    X(CUDA_ERROR_INVALID_CONTEXT, 201)                                                             \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                                           \
    X(CUDA_ERROR_INVALID_PTX, 218)                                                                 \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                                                     \
    X(CUDA_ERROR_FILE_NOT_FOUND, 301)                                                              \
    X(CUDA_ERROR_INVALID_HANDLE, 400)                                                              \
    X(CUDA_ERROR_ILLEGAL_STATE, 401)                                                               \
    X(CUDA_ERROR_LOSSY_QUERY, 402)                                                                 \
    X(CUDA_ERROR_NOT_FOUND, 500)                                                                   \
    X(CUDA_ERROR_NOT_READY, 600)                                                                   \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                             \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                                                     \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                                              \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217)                                                     \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704)                                                 \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705)                                                     \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                                                        \
    X(CUDA_ERROR_ASSERT, 710)                                                                      \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712)                                              \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713)                                                  \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                                          \
    X(CUDA_ERROR_LAUNCH_FAILED, 719)                                                               \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720)                                                \
    X(CUDA_ERROR_NOT_PERMITTED, 800)                                                               \
    X(CUDA_ERROR_NOT_SUPPORTED, 801)                                                               \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)                                                  \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)                                                  \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902)                                                        \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903)                                                    \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904)                                                     \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905)                                                    \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906)                                                     \
    X(CUDA_ERROR_CAPTURED_EVENT, 907)                                                              \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)                                                 \
    X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910)                                                   \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912)                                                        \
    X(CUDA_ERROR_UNKNOWN, 999)

enum { STANDIN_MULTIPROCESSORS = 4 };

// name, number in the driver, value the stand-in answers
#define CUDA_ABI_ATTRIBUTES(X)                                                                     \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1, 1024)                                          \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2, 1024)                                                \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 3, 1024)                                                \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 4, 64)                                                  \
    X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5, 2147483647)                                           \
    X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 6, 65535)                                                \
    X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 7, 65535)                                                \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8, 49152)                                   \
    X(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 9, 65536)                                         \
    X(CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10, 32)                                                       \
    X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 12, 65536)                                      \
    X(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13, 1000000)                                                 \
    X(CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 15, 1)                                                      \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16, STANDIN_MULTIPROCESSORS)                       \
    X(CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 17, 0)                                              \
    X(CU_DEVICE_ATTRIBUTE_INTEGRATED, 18, 0)                                                       \
    X(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 19, 1)                                              \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20, 0)                                                     \
    X(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 31, 1)                                               \
    X(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33, 0)                                                       \
    X(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 34, 0)                                                    \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36, 1000000)                                          \
    X(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37, 256)                                        \
    X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38, 1048576)                                              \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39, 2048)                                \
    X(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 40, 2)                                               \
    X(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41, 1)                                               \
    X(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 50, 0)                                                    \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75, 9)                                         \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76, 0)                                         \
    X(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 78, 1)                                      \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81, 233472)                        \
    X(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 83, 1)                                                   \
    X(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 89, 1)                                        \
    X(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95, 1)                                               \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97, 232448)                           \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106, 32)                                  \
    X(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 111, 1024)                             \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115, 1)                                          \
    X(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 120, 1)                                                  \
    X(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 122, 0)

#define CUDA_ABI_FUNCTION_ATTRIBUTES(X)                                                            \
    X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                                                  \
    X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                                      \
    X(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 2)                                                       \
    X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                                       \
    X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                                               \
    X(CU_FUNC_ATTRIBUTE_PTX_VERSION, 5)                                                            \
    X(CU_FUNC_ATTRIBUTE_BINARY_VERSION, 6)                                                         \
    X(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, 7)                                                          \
    X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                          \
    X(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9)                                       \
    X(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14)

#define CUDA_ABI_NODE_TYPES(X)                                                                     \
    X(CU_GRAPH_NODE_TYPE_KERNEL, 0)                                                                \
    X(CU_GRAPH_NODE_TYPE_MEMCPY, 1)                                                                \
    X(CU_GRAPH_NODE_TYPE_MEMSET, 2)                                                                \
    X(CU_GRAPH_NODE_TYPE_HOST, 3)                                                                  \
    X(CU_GRAPH_NODE_TYPE_GRAPH, 4)                                                                 \
    X(CU_GRAPH_NODE_TYPE_EMPTY, 5)                                                                 \
    X(CU_GRAPH_NODE_TYPE_WAIT_EVENT, 6)                                                            \
    X(CU_GRAPH_NODE_TYPE_EVENT_RECORD, 7)                                                          \
    X(CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, 8)                                                      \
    X(CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, 9)                                                        \
    X(CU_GRAPH_NODE_TYPE_MEM_ALLOC, 10)                                                            \
    X(CU_GRAPH_NODE_TYPE_MEM_FREE, 11)                                                             \
    X(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, 12)                                                         \
    X(CU_GRAPH_NODE_TYPE_CONDITIONAL, 13)

#define CUDA_ABI_CONDITIONAL_TYPES(X)                                                              \
    X(CU_GRAPH_COND_TYPE_IF, 0)                                                                    \
    X(CU_GRAPH_COND_TYPE_WHILE, 1)

#define CUDA_ABI_UPDATE_RESULTS(X)                                                                 \
    X(CU_GRAPH_EXEC_UPDATE_SUCCESS, 0)                                                             \
    X(CU_GRAPH_EXEC_UPDATE_ERROR, 1)                                                               \
    X(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 2)                                              \
    X(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, 3)

#define CUDA_ABI_INSTANTIATE_RESULTS(X)                                                            \
    X(CUDA_GRAPH_INSTANTIATE_SUCCESS, 0)                                                           \
    X(CUDA_GRAPH_INSTANTIATE_ERROR, 1)                                                             \
    X(CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, 2)

#define CUDA_ABI_LAUNCH_ATTRIBUTES(X)                                                              \
    X(CU_LAUNCH_ATTRIBUTE_IGNORE, 0)                                                               \
    X(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, 1)                                                 \
    X(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2)                                                          \
    X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                                                    \
    X(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 5)                                 \
    X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)                                    \
    X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, 7)                                                   \
    X(CU_LAUNCH_ATTRIBUTE_PRIORITY, 8)                                                             \
    X(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, 9)                                                  \
    X(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 10)                                                     \
    X(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, 12)                                             \
    X(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, 13)                                        \
    X(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 14)

#define CUDA_ABI_CAPTURE_MODES(X)                                                                  \
    X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0)                                                            \
    X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)                                                      \
    X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)

#define CUDA_ABI_CAPTURE_STATUSES(X)                                                               \
    X(CU_STREAM_CAPTURE_STATUS_NONE, 0)                                                            \
    X(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1)                                                          \
    X(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2)

#define CUDA_ABI_MEMORY_TYPES(X)                                                                   \
    X(CU_MEMORYTYPE_HOST, 1)                                                                       \
    X(CU_MEMORYTYPE_DEVICE, 2)                                                                     \
    X(CU_MEMORYTYPE_ARRAY, 3)                                                                      \
    X(CU_MEMORYTYPE_UNIFIED, 4)

#define CUDA_ABI_POINTER_ATTRIBUTES(X)                                                             \
    X(CU_POINTER_ATTRIBUTE_CONTEXT, 1)                                                             \
    X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                                                         \
    X(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 3)                                                      \
    X(CU_POINTER_ATTRIBUTE_HOST_POINTER, 4)                                                        \
    X(CU_POINTER_ATTRIBUTE_BUFFER_ID, 7)                                                           \
    X(CU_POINTER_ATTRIBUTE_IS_MANAGED, 8)                                                          \
    X(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                                                      \
    X(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 10)                                         \
    X(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11)                                                   \
    X(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12)                                                         \
    X(CU_POINTER_ATTRIBUTE_MAPPED, 13)                                                             \
    X(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 14)

#define CUDA_ABI_POOL_ATTRIBUTES(X)                                                                \
    X(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1)                                          \
    X(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 2)                                                \
    X(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 3)                                        \
    X(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 4)                                                        \
    X(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 5)                                                     \
    X(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 6)                                                        \
    X(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 7)                                                         \
    X(CU_MEMPOOL_ATTR_USED_MEM_HIGH, 8)

#define CUDA_ABI_JIT_OPTIONS(X)                                                                    \
    X(CU_JIT_INFO_LOG_BUFFER, 3)                                                                   \
    X(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 4)                                                        \
    X(CU_JIT_ERROR_LOG_BUFFER, 5)                                                                  \
    X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)

#define CUDA_ABI_PROC_RESULTS(X)                                                                   \
    X(CU_GET_PROC_ADDRESS_SUCCESS, 0)                                                              \
    X(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 1)                                                     \
    X(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, 2)

// Flags that the driver passes as plain integers.
#define CUDA_ABI_FLAGS(X)                                                                          \
    X(CU_CTX_MAP_HOST, 8)                                                                          \
    X(CU_STREAM_DEFAULT, 0)                                                                        \
    X(CU_STREAM_NON_BLOCKING, 1)                                                                   \
    X(CU_EVENT_DEFAULT, 0)                                                                         \
    X(CU_EVENT_BLOCKING_SYNC, 1)                                                                   \
    X(CU_EVENT_DISABLE_TIMING, 2)                                                                  \
    X(CU_EVENT_INTERPROCESS, 4)                                                                    \
    X(CU_EVENT_RECORD_EXTERNAL, 1)                                                                 \
    X(CU_EVENT_WAIT_EXTERNAL, 1)                                                                   \
    X(CU_STREAM_ADD_CAPTURE_DEPENDENCIES, 0)                                                       \
    X(CU_STREAM_SET_CAPTURE_DEPENDENCIES, 1)                                                       \
    X(CU_GRAPH_COND_ASSIGN_DEFAULT, 1)                                                             \
    X(CU_MEM_ALLOCATION_TYPE_PINNED, 1)                                                            \
    X(CU_MEM_LOCATION_TYPE_DEVICE, 1)                                                              \
    X(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 3)                                                       \
    X(CU_STREAM_MEM_OP_WAIT_VALUE_32, 1)                                                           \
    X(CU_STREAM_MEM_OP_WRITE_VALUE_32, 2)                                                          \
    X(CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, 1)                                              \
    X(CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, 9)                                  \
    X(CU_STREAM_WAIT_VALUE_GEQ, 0)                                                                 \
    X(CU_STREAM_WAIT_VALUE_EQ, 1)                                                                  \
    X(CU_STREAM_WAIT_VALUE_AND, 2)                                                                 \
    X(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, 1)                                          \
    X(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, 2)                                                       \
    X(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, 4)                                                \
    X(CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, 8)

#endif
