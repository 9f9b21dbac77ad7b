// SPDX-License-Identifier: Apache-2.0
// The parameter structs of CUDA's graph nodes, as the driver reads them.
#ifndef BRAID_BACKENDS_CUDA_CUDA_LAYOUTS_H
#define BRAID_BACKENDS_CUDA_CUDA_LAYOUTS_H

#include "backends/gpu/gpu_api.h"

// CUDA_KERNEL_NODE_PARAMS_v2; drivers before 12.0 read it up to `extra`.
struct cuda_kernel_parameters {
    gpu_function function;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    void **args;
    void **extra;
    void *kernel;
    gpu_context context;
};

// CUDA_MEMSET_NODE_PARAMS.
struct cuda_fill_parameters {
    uint64_t to;
    size_t pitch;
    uint32_t value;
    uint32_t value_bytes;
    size_t width; // in values
    size_t height;
};

// CUstreamBatchMemOpParams, all of which begin with an operation: a wait for a value of 32 bits.
struct cuda_wait_value {
    uint32_t operation;
    uint64_t word;
    uint64_t value;
    uint32_t flags;
    uint64_t alias;
    uint64_t unused;
};

enum { CUDA_WAIT_VALUE_32 = 1, CUDA_WAIT_VALUE_64 = 4 }; // operations

// CUDA_BATCH_MEM_OP_NODE_PARAMS.
struct cuda_operation_parameters {
    gpu_context context;
    uint32_t num;
    struct cuda_wait_value *operations;
    uint32_t flags;
};

// CUDA_EXT_SEM_SIGNAL_NODE_PARAMS and CUDA_EXT_SEM_WAIT_NODE_PARAMS.
struct cuda_semaphore_parameters {
    void **semaphores;
    struct gpu_semaphore_value *values;
    uint32_t num;
};

// CUgraphNodeParams of a conditional node.
struct cuda_loop_parameters {
    int type;
    int reserved[3];
    uint64_t condition;
    int condition_type;
    uint32_t num_bodies;
    gpu_graph *bodies; // the driver's
    gpu_context context;
    uint64_t unused[26];
};

// CUDA_MEM_ALLOC_NODE_PARAMS.
struct cuda_allocation_parameters {
    int allocation_type, handle_types, location_type, location;
    void *security;
    size_t max_bytes;
    uint16_t usage;
    uint8_t reserved[54];
    const void *accesses;
    size_t num_accesses;
    size_t bytes;
    uint64_t memory;
};

// CUmemAllocationProp.
struct cuda_mapping_properties {
    int allocation_type, handle_types, location_type, location;
    void *security;
    uint8_t flags[8];
};

// CUmemAccessDesc.
struct cuda_mapping_access {
    int location_type, location, flags;
};

enum {
    CUDA_MAPPING_PINNED = 1, // allocation_type
    CUDA_ON_DEVICE = 1,      // location_type
    CUDA_READ_AND_WRITE = 3, // flags of an access
};

// One side of CUDA_MEMCPY3D.
struct cuda_copy_side {
    size_t x, y, z, lod;
    int memory_type;
    const void *host;
    uint64_t device;
    void *array;
    void *reserved;
    size_t pitch, height;
};

// CUDA_MEMCPY3D.
struct cuda_copy_parameters {
    struct cuda_copy_side from, to;
    size_t width, height, depth;
};

#endif
