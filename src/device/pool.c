// SPDX-License-Identifier: Apache-2.0
// A bounded pool of objects that are costly to make.
#include "device/pool.h"

void *braid_pool_take(struct pool *pool)
{
    if (pool->idle.num == 0)
        return NULL;
    pool->leased++;
    return ((void **)pool->idle.items)[--pool->idle.num];
}

bool braid_pool_add_leased(struct pool *pool)
{
    if (!braid_array_reserve(&pool->idle, (size_t)pool->leased + 1, sizeof(void *)))
        return false;
    pool->leased++;
    return true;
}

bool braid_pool_put(struct pool *pool, void *object)
{
    pool->leased--;
    if (pool->idle.num >= pool->max_idle)
        return false;
    ((void **)pool->idle.items)[pool->idle.num++] = object;
    return true;
}
