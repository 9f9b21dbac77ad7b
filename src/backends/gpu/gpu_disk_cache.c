// SPDX-License-Identifier: Apache-2.0
// Where files are kept between processes, and reading and writing one.
#include "backends/gpu/gpu_disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/host_memory.h"
#include "base/whole_file.h"

enum { OWNER_MAY = 0600 };

#define MARK UINT64_C(0x6272616964303032) // "braid002"; another byte order has another

// A file: this, the key, the content.
struct file_head {
    uint64_t mark, sum; // the latter of the content
    uint64_t key_bytes, content_bytes;
};

static char *join(const char *folder, const char *name)
{
    return braid_print_text("%s/%s", folder, name);
}

// A name that is relative stands for the same folder after the program has changed its own.
static char *make_absolute(const char *folder)
{
    if (folder[0] == '/')
        return braid_copy_text(folder);
    char *here = getcwd(NULL, 0);
    char *path = here ? join(here, folder) : NULL;
    free(here); // getcwd has allocated it
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
    struct disk_cache *cache = folder ? braid_allocate_zeroed(1, sizeof(*cache)) : NULL;
    if (cache)
        cache->folder = folder;
    else
        braid_free(folder);
    return cache;
}

void braid_disk_cache_close(struct disk_cache *cache)
{
    if (!cache)
        return;
    braid_free(cache->folder);
    braid_free(cache);
}

// The path of a key's file, for the caller to free; NULL: memory ran out. Two keys of one hash
// take turns in one file, which holds the key.
static char *find_path(const struct disk_cache *cache, const void *key, size_t key_bytes)
{
    char digits[17];
    snprintf(digits, sizeof(digits), "%016" PRIx64, hash_bytes(key, key_bytes));
    return join(cache->folder, digits);
}

// A file that others may change is not trusted: it would run with this user's rights.
static bool may_trust(const struct stat *status)
{
    return S_ISREG(status->st_mode) && (status->st_uid == geteuid() || status->st_uid == 0) &&
           (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The whole file, for the caller to free.
static unsigned char *load(const char *path, size_t *out_bytes)
{
    int number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    FILE *file = number < 0 ? NULL : fdopen(number, "r");
    struct stat status;
    unsigned char *data = NULL;
    if (number >= 0 && !file)
        (void)close(number);
    if (!file)
        return NULL;
    if (fstat(number, &status) == 0 && may_trust(&status) &&
        (data = braid_allocate((size_t)status.st_size + 1))) {
        *out_bytes = (size_t)status.st_size;
        if (fread(data, 1, *out_bytes, file) != *out_bytes) {
            braid_free(data);
            data = NULL;
        }
    }
    (void)fclose(file);
    return data;
}

// Leaves the content alone in `data`. False: it is not that of the key, or not whole.
static bool take_content(unsigned char *data, size_t bytes, const void *key, size_t key_bytes,
                         size_t *out_bytes)
{
    struct file_head head = { 0 };
    if (bytes >= sizeof(head))
        memcpy(&head, data, sizeof(head));
    if (head.mark != MARK || head.key_bytes != key_bytes || bytes - sizeof(head) < key_bytes ||
        head.content_bytes != bytes - sizeof(head) - key_bytes ||
        memcmp(data + sizeof(head), key, key_bytes) != 0)
        return false;
    memmove(data, data + sizeof(head) + key_bytes, (size_t)head.content_bytes);
    data[head.content_bytes] = '\0';
    *out_bytes = (size_t)head.content_bytes;
    return hash_bytes(data, *out_bytes) == head.sum;
}

void *braid_disk_cache_read(struct disk_cache *cache, const void *key, size_t key_bytes,
                            size_t *out_bytes)
{
    char *path = cache ? find_path(cache, key, key_bytes) : NULL;
    size_t bytes = 0;
    unsigned char *data = path ? load(path, &bytes) : NULL;
    braid_free(path);
    if (data && take_content(data, bytes, key, key_bytes, out_bytes))
        return data;
    braid_free(data);
    return NULL;
}

// Makes the folder of a file and those above it, for this user alone. A failure shows when the file
// is written.
static void make_folders(char *path)
{
    for (char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        (void)mkdir(path, 0700);
        *end = '/';
    }
}

// False, with errno: it could not be written whole.
static bool save(char *path, const struct file_head *head, const void *key, const void *content)
{
    struct whole_file file;
    make_folders(path);
    if (!braid_whole_file_beside(path, OWNER_MAY, &file))
        return false;
    bool written = fwrite(head, sizeof(*head), 1, file.stream) == 1 &&
                   fwrite(key, 1, head->key_bytes, file.stream) == head->key_bytes &&
                   fwrite(content, 1, head->content_bytes, file.stream) == head->content_bytes;
    return braid_whole_file_close(&file, written);
}

static void tell(struct disk_cache *cache, int reason)
{
    if (atomic_exchange(&cache->told, true))
        return;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt,
                          braid_error(BRAID_IO_ERROR, "compiled code is not kept in '%s': %s",
                                      cache->folder, reason ? strerror(reason) : "a write failed"));
}

void braid_disk_cache_write(struct disk_cache *cache, const void *key, size_t key_bytes,
                            const void *content, size_t bytes)
{
    char *path = cache ? find_path(cache, key, key_bytes) : NULL;
    const struct file_head head = { MARK, hash_bytes(content, bytes), key_bytes, bytes };
    if (cache && !(path && save(path, &head, key, content)))
        tell(cache, path ? errno : ENOMEM);
    braid_free(path);
}
