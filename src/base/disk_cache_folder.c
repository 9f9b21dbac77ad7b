// SPDX-License-Identifier: Apache-2.0
// Where files are kept between processes, and with what limits.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/disk_cache.h"

static const uint64_t most_bytes = UINT64_C(256) << 20;
static const uint64_t most_files = 4096;

static char *join(const char *folder, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

// A name that is relative stands for the same folder after the program has changed its own.
static char *make_absolute(const char *folder)
{
    if (folder[0] == '/')
        return strdup(folder);
    char *here = getcwd(NULL, 0);
    char *path = here ? join(here, folder) : NULL;
    free(here);
    return path;
}

static const char *read_environment(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

char *braid_disk_cache_folder(const char *wish)
{
    const char *named = read_environment("BRAID_CACHE");
    if (getauxval(AT_SECURE))
        return NULL;
    if ((wish && strcmp(wish, "off") == 0) || (named && strcmp(named, "off") == 0))
        return NULL;
    if (wish && *wish)
        return make_absolute(wish);
    if (named)
        return make_absolute(named);
    // The XDG Base Directory Specification: a relative one is not valid, and passed over.
    const char *caches = read_environment("XDG_CACHE_HOME");
    if (caches && caches[0] == '/')
        return join(caches, "braid");
    const char *home = read_environment("HOME");
    return home && home[0] == '/' ? join(home, ".cache/braid") : NULL;
}

struct disk_cache *braid_disk_cache_open(const char *wish)
{
    char *folder = braid_disk_cache_folder(wish);
    struct disk_cache *cache = folder ? calloc(1, sizeof(*cache)) : NULL;
    if (!cache) {
        free(folder);
        return NULL;
    }
    cache->folder = folder;
    cache->most_bytes = most_bytes;
    cache->most_files = most_files;
    atomic_init(&cache->told, false);
    return cache;
}

void braid_disk_cache_close(struct disk_cache *cache)
{
    if (!cache)
        return;
    free(cache->folder);
    free(cache);
}
