// SPDX-License-Identifier: Apache-2.0
// Keeping a folder of files within its limits: those not used for longest go.
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/disk_cache.h"

struct entry {
    char name[DISK_CACHE_NAME_BYTES];
    struct timespec used; // reading a file touches it
    uint64_t bytes;
};

struct listing {
    struct entry *entries;
    size_t num, room;
    uint64_t bytes;
};

static bool is_kept_name(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    return digits == DISK_CACHE_NAME_BYTES - 1 && name[digits] == '\0';
}

// As mkostemp makes it.
static bool is_unfinished_name(const char *name)
{
    size_t begin = strlen(DISK_CACHE_UNFINISHED);
    return strncmp(name, DISK_CACHE_UNFINISHED, begin) == 0 && strlen(name) == begin + 6;
}

// Whether Braid wrote the file, in this version or in another: "braid" and three digits. The folder
// may be shared with other programs, whose files may have any name and be of any kind.
static bool has_mark(int at, const char *name)
{
    int file = openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    uint64_t mark = 0;
    if (file < 0)
        return false;
    bool is_read = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                   read(file, &mark, sizeof(mark)) == sizeof(mark);
    close(file);
    return is_read && mark >> 24 == DISK_CACHE_MARK >> 24;
}

// False: memory ran out.
static bool add_entry(struct listing *listing, const char *name, const struct stat *status)
{
    if (listing->num == listing->room) {
        size_t room = 2 * listing->room + 64;
        struct entry *entries = realloc(listing->entries, room * sizeof(*entries));
        if (!entries)
            return false;
        listing->entries = entries;
        listing->room = room;
    }
    struct entry *entry = &listing->entries[listing->num++];
    memcpy(entry->name, name, sizeof(entry->name));
    entry->used = status->st_mtim;
    entry->bytes = (uint64_t)status->st_size;
    listing->bytes += entry->bytes;
    return true;
}

// Lists what is kept by its name, and removes what was left half-written.
static bool list(DIR *folder, struct listing *listing)
{
    int at = dirfd(folder);
    time_t now = time(NULL);
    struct dirent *found;
    while ((found = readdir(folder))) {
        bool unfinished = is_unfinished_name(found->d_name);
        struct stat status;
        if ((!unfinished && !is_kept_name(found->d_name)) ||
            fstatat(at, found->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        bool is_old = now - status.st_mtime > DISK_CACHE_UNFINISHED_SECONDS;
        if (unfinished && is_old && has_mark(at, found->d_name))
            (void)unlinkat(at, found->d_name, 0); // another process may have been first
        else if (!unfinished && !add_entry(listing, found->d_name, &status))
            return false;
    }
    return true;
}

// Files are opened only if the folder seems too large, since this takes longer than their names.
static void forget_foreign(int at, struct listing *listing)
{
    size_t num = 0;
    listing->bytes = 0;
    for (size_t i = 0; i < listing->num; i++) {
        if (!has_mark(at, listing->entries[i].name))
            continue;
        listing->entries[num++] = listing->entries[i];
        listing->bytes += listing->entries[i].bytes;
    }
    listing->num = num;
}

static bool is_too_large(const struct disk_cache *cache, const struct listing *listing)
{
    return listing->bytes > cache->most_bytes || listing->num > cache->most_files;
}

static int compare_used(const void *a, const void *b)
{
    const struct timespec *x = &((const struct entry *)a)->used;
    const struct timespec *y = &((const struct entry *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

// Down to three quarters, so that not every file that comes makes one go.
static void remove_oldest(int at, const struct disk_cache *cache, struct listing *listing)
{
    uint64_t bytes = listing->bytes, files = listing->num;
    qsort(listing->entries, listing->num, sizeof(*listing->entries), compare_used);
    for (size_t i = 0; i < listing->num; i++) {
        if (bytes <= cache->most_bytes / 4 * 3 && files <= cache->most_files / 4 * 3)
            return;
        (void)unlinkat(at, listing->entries[i].name, 0); // counts as gone: whoever removed it
        bytes -= listing->entries[i].bytes;
        files--;
    }
}

void braid_disk_cache_trim(const struct disk_cache *cache)
{
    DIR *folder = opendir(cache->folder);
    if (!folder)
        return;
    struct listing listing = { 0 };
    if (list(folder, &listing) && is_too_large(cache, &listing)) {
        forget_foreign(dirfd(folder), &listing);
        if (is_too_large(cache, &listing))
            remove_oldest(dirfd(folder), cache, &listing);
    }
    free(listing.entries);
    closedir(folder);
}
