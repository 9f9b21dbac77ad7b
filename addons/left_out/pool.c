// SPDX-License-Identifier: Apache-2.0
// Pools: its public functions where the add-on 'pool' is left out.
#include <braid/pool.h>

#include "base/error.h"
#include "base/sized.h"

braid_status braid_memory_pool_create_sized(braid_device *device,
                                            const braid_memory_pool_options *options,
                                            braid_memory_pool **out_pool, size_t size)
{
    (void)device;
    (void)options;
    (void)out_pool;
    (void)size;
    return braid_error_left_out("braid_memory_pool_create", "pool");
}

void braid_memory_pool_destroy(braid_memory_pool *pool)
{
    (void)pool;
}

void braid_memory_pool_get_info_sized(const braid_memory_pool *pool,
                                      braid_memory_pool_info *out_info, size_t size)
{
    const braid_memory_pool_info info = { 0 };
    (void)pool;
    braid_sized_give(&info, sizeof(info), out_info, size);
}
