// SPDX-License-Identifier: Apache-2.0
// In place of the disk cache where Braid is built without xxhash.h: it keeps nothing.
#include "base/disk_cache.h"

struct disk_cache *braid_disk_cache_open(const char *wish)
{
    (void)wish;
    return NULL;
}

void braid_disk_cache_close(struct disk_cache *cache)
{
    (void)cache;
}

void *braid_disk_cache_read(struct disk_cache *cache, const void *key, size_t key_bytes,
                            size_t *out_bytes)
{
    (void)cache, (void)key, (void)key_bytes, (void)out_bytes;
    return NULL;
}

void braid_disk_cache_write(struct disk_cache *cache, const void *key, size_t key_bytes,
                            const void *content, size_t bytes)
{
    (void)cache, (void)key, (void)key_bytes, (void)content, (void)bytes;
}
