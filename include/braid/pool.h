// SPDX-License-Identifier: Apache-2.0
// Pools of memory: execs that never run at once share their transient memory.
#ifndef BRAID_POOL_H
#define BRAID_POOL_H

#include <stdint.h>

#include <braid/device.h>
#include <braid/exec.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// Options of braid_memory_pool_create.
typedef struct braid_memory_pool_options {
    uint64_t bytes; // allocated at once, on each device of a group; 0: as execs need it
} braid_memory_pool_options;

// Makes a pool for execs of this device or group (braid_exec_options.pool, docs/book/buffers.md).
// Errors: BRAID_NO_MEMORY. BRAID_UNSUPPORTED (this Braid was built without pools).
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_memory_pool_create(
    braid_device *device, const braid_memory_pool_options *options, braid_memory_pool **out_pool);

// Ends the pool once no exec uses it. Until then it counts as an allocation of the device.
BRAID_API void braid_memory_pool_destroy(braid_memory_pool *pool);

// The memory of a pool.
typedef struct braid_memory_pool_info {
    uint64_t bytes;          // the memory that the pool has allocated on its devices
    uint64_t unshared_bytes; // the memory that its execs would have without a pool
    uint64_t num_execs;
    // Allocations: 1 for each device, unless a later exec needed more than those before.
    uint64_t num_blocks;
} braid_memory_pool_info;

// Writes the info of a pool.
BRAID_INLINE void braid_memory_pool_get_info(const braid_memory_pool *pool,
                                             braid_memory_pool_info *out_info);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status
braid_memory_pool_create_sized(braid_device *device, const braid_memory_pool_options *options,
                               braid_memory_pool **out_pool, size_t size);
BRAID_INLINE braid_status braid_memory_pool_create(braid_device *device,
                                                   const braid_memory_pool_options *options,
                                                   braid_memory_pool **out_pool)
{
    return braid_memory_pool_create_sized(device, options, out_pool,
                                          sizeof(braid_memory_pool_options));
}
BRAID_API void braid_memory_pool_get_info_sized(const braid_memory_pool *pool,
                                                braid_memory_pool_info *out_info, size_t size);
BRAID_INLINE void braid_memory_pool_get_info(const braid_memory_pool *pool,
                                             braid_memory_pool_info *out_info)
{
    braid_memory_pool_get_info_sized(pool, out_info, sizeof(braid_memory_pool_info));
}

#ifdef __cplusplus
}
#endif

#endif
