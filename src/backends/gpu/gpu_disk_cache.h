// SPDX-License-Identifier: Apache-2.0
// A folder of files that keeps costly results for later processes.
//
// Any number of processes may share a folder, without locks. A file is written under another name
// and then renamed, and only read after that. Each holds its whole key and a checksum, so a read
// never takes a damaged file or another key with the same hash. Nothing fails: a file that cannot
// be read is not there, and one that cannot be written is not kept. The log is told of the latter
// once for each cache.
#ifndef BRAID_BACKENDS_GPU_GPU_DISK_CACHE_H
#define BRAID_BACKENDS_GPU_GPU_DISK_CACHE_H

#include <stdatomic.h>
#include <stddef.h>

// Thread-safety: any thread, once opened.
struct disk_cache {
    char *folder;     // need not exist before something is written
    atomic_bool told; // that nothing can be kept
};

// Where a program and the environment want it; NULL: nowhere, or memory ran out. `wish`: "off", or
// a folder; NULL and "": no wish.
struct disk_cache *braid_disk_cache_open(const char *wish);
void braid_disk_cache_close(struct disk_cache *cache);

// The folder alone, for the caller to free. See braid_device_options.cache for the rules; it is
// NULL in a process with more rights than who started it.
char *braid_disk_cache_folder(const char *wish);

// A copy of the bytes that were written under the key; NULL: there are none. A zero byte that does
// not count follows them. The caller frees the copy. A NULL cache has nothing.
void *braid_disk_cache_read(struct disk_cache *cache, const void *key, size_t key_bytes,
                            size_t *out_bytes);

// Keeps the content in place of older content under the key. A NULL cache keeps nothing.
void braid_disk_cache_write(struct disk_cache *cache, const void *key, size_t key_bytes,
                            const void *content, size_t bytes);

#endif
