// SPDX-License-Identifier: Apache-2.0
// Reading and writing one file of a disk cache.
#include "base/disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

enum { TOUCH_SECONDS = 3600 }; // a file used again within that time is not touched again

// A file: this, the key, the content. Files of machines with another byte order, and of versions of
// Braid that lay them out in another way, have another mark.
struct file_head {
    uint64_t mark;
    XXH128_canonical_t sum; // of all that follows
    uint64_t key_bytes, content_bytes;
};

static const size_t summed_from = offsetof(struct file_head, key_bytes);

// It is no secret what is hashed, and whoever can write to the folder need not forge a hash: a
// fast one that spreads well does.
static XXH128_canonical_t hash(const void *data, size_t bytes)
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, bytes));
    return canonical;
}

// The path of a key's file, for the caller to free; NULL: memory ran out.
static char *find_path(const struct disk_cache *cache, const void *key, size_t key_bytes)
{
    XXH128_canonical_t name = hash(key, key_bytes);
    char digits[DISK_CACHE_NAME_BYTES];
    for (size_t i = 0; i < sizeof(name.digest); i++)
        snprintf(digits + 2 * i, 3, "%02x", name.digest[i]);
    char *path = NULL;
    return asprintf(&path, "%s/%s", cache->folder, digits) < 0 ? NULL : path;
}

static bool read_all(int file, unsigned char *to, size_t bytes)
{
    while (bytes > 0) {
        ssize_t num = read(file, to, bytes);
        if (num < 0 && errno == EINTR)
            continue;
        if (num <= 0)
            return false;
        to += num;
        bytes -= (size_t)num;
    }
    return true;
}

static bool write_all(int file, const unsigned char *from, size_t bytes)
{
    while (bytes > 0) {
        ssize_t num = write(file, from, bytes);
        if (num < 0 && errno == EINTR)
            continue;
        if (num <= 0)
            return false;
        from += num;
        bytes -= (size_t)num;
    }
    return true;
}

// What others may change is not trusted: it would run with this user's rights.
static bool may_trust(const struct stat *status)
{
    return S_ISREG(status->st_mode) && (status->st_uid == geteuid() || status->st_uid == 0) &&
           (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// What is not used for longest goes first. A folder that cannot be written to stays as it is.
static void touch(int file, const struct stat *status)
{
    if (time(NULL) - status->st_mtime > TOUCH_SECONDS)
        (void)futimens(file, NULL);
}

// The whole file, for the caller to free.
static unsigned char *load(const struct disk_cache *cache, const char *path, size_t *out_bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    unsigned char *data = NULL;
    if (file < 0)
        return NULL;
    if (fstat(file, &status) == 0 && may_trust(&status) &&
        (uint64_t)status.st_size >= sizeof(struct file_head) &&
        (uint64_t)status.st_size <= cache->most_bytes)
        data = malloc((size_t)status.st_size);
    if (data && !read_all(file, data, (size_t)status.st_size)) {
        free(data);
        data = NULL;
    }
    if (data) {
        *out_bytes = (size_t)status.st_size;
        touch(file, &status);
    }
    close(file);
    return data;
}

static bool is_whole(const unsigned char *data, size_t bytes, const struct file_head *head)
{
    size_t left = bytes - sizeof(*head);
    if (head->mark != DISK_CACHE_MARK || head->key_bytes > left ||
        head->content_bytes != left - head->key_bytes)
        return false;
    XXH128_canonical_t sum = hash(data + summed_from, bytes - summed_from);
    return memcmp(&sum, &head->sum, sizeof(sum)) == 0;
}

static void *take_content(const unsigned char *data, size_t bytes, const void *key,
                          size_t key_bytes, size_t *out_bytes)
{
    struct file_head head;
    memcpy(&head, data, sizeof(head));
    if (!is_whole(data, bytes, &head) || head.key_bytes != key_bytes ||
        memcmp(data + sizeof(head), key, key_bytes) != 0)
        return NULL;
    unsigned char *content = malloc((size_t)head.content_bytes + 1);
    if (!content)
        return NULL;
    memcpy(content, data + sizeof(head) + key_bytes, (size_t)head.content_bytes);
    content[head.content_bytes] = '\0';
    *out_bytes = (size_t)head.content_bytes;
    return content;
}

void *braid_disk_cache_read(struct disk_cache *cache, const void *key, size_t key_bytes,
                            size_t *out_bytes)
{
    char *path = cache ? find_path(cache, key, key_bytes) : NULL;
    size_t bytes = 0;
    unsigned char *data = path ? load(cache, path, &bytes) : NULL;
    void *content = data ? take_content(data, bytes, key, key_bytes, out_bytes) : NULL;
    free(data);
    free(path);
    return content;
}

// Makes the folder and those above it, for this user alone. What fails shows when it is written to.
static void make_folder(const char *folder)
{
    char *path = strdup(folder);
    for (char *end = path ? strchr(path + 1, '/') : NULL; end; end = strchr(end + 1, '/')) {
        *end = '\0';
        (void)mkdir(path, 0700);
        *end = '/';
    }
    if (path)
        (void)mkdir(path, 0700);
    free(path);
}

// False, with errno: it could not be written whole.
static bool save(const struct disk_cache *cache, const char *path, const unsigned char *data,
                 size_t bytes)
{
    char *unfinished = NULL;
    if (asprintf(&unfinished, "%s/" DISK_CACHE_UNFINISHED "XXXXXX", cache->folder) < 0) {
        errno = ENOMEM;
        return false;
    }
    int file = mkostemp(unfinished, O_CLOEXEC);
    if (file < 0 && errno == ENOENT) {
        make_folder(cache->folder);
        memcpy(unfinished + strlen(unfinished) - 6, "XXXXXX", 6);
        file = mkostemp(unfinished, O_CLOEXEC);
    }
    bool saved = file >= 0 && write_all(file, data, bytes);
    int reason = errno;
    if (file >= 0 && close(file) != 0 && saved) {
        saved = false;
        reason = errno;
    }
    if (saved && rename(unfinished, path) != 0) {
        saved = false;
        reason = errno;
    }
    if (file >= 0 && !saved)
        (void)unlink(unfinished);
    free(unfinished);
    errno = reason;
    return saved;
}

static unsigned char *compose(const void *key, size_t key_bytes, const void *content, size_t bytes,
                              size_t total)
{
    unsigned char *data = malloc(total);
    if (!data)
        return NULL;
    struct file_head head = { .mark = DISK_CACHE_MARK,
                              .key_bytes = key_bytes,
                              .content_bytes = bytes };
    memcpy(data, &head, sizeof(head));
    memcpy(data + sizeof(head), key, key_bytes);
    memcpy(data + sizeof(head) + key_bytes, content, bytes);
    head.sum = hash(data + summed_from, total - summed_from);
    memcpy(data, &head, sizeof(head));
    return data;
}

static void tell(struct disk_cache *cache, int reason)
{
    if (atomic_exchange(&cache->told, true))
        return;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt,
                          braid_error(BRAID_IO_ERROR, "compiled code is not kept in '%s': %s",
                                      cache->folder, strerror(reason)));
}

void braid_disk_cache_write(struct disk_cache *cache, const void *key, size_t key_bytes,
                            const void *content, size_t bytes)
{
    size_t total = sizeof(struct file_head) + key_bytes + bytes;
    if (!cache || total > cache->most_bytes)
        return;
    char *path = find_path(cache, key, key_bytes);
    unsigned char *data = path ? compose(key, key_bytes, content, bytes, total) : NULL;
    if (data && save(cache, path, data, total))
        braid_disk_cache_trim(cache);
    else
        tell(cache, data ? errno : ENOMEM);
    free(data);
    free(path);
}
