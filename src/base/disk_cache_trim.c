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

// Lists what is kept, and removes what was left half-written.
static bool list(DIR *folder, struct listing *listing)
{
    int at = dirfd(folder);
    time_t now = time(NULL);
    struct dirent *found;
    while ((found = readdir(folder))) {
        bool unfinished =
            strncmp(found->d_name, DISK_CACHE_UNFINISHED, strlen(DISK_CACHE_UNFINISHED)) == 0;
        struct stat status;
        if ((!unfinished && !is_kept_name(found->d_name)) ||
            fstatat(at, found->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        if (unfinished && now - status.st_mtime > DISK_CACHE_UNFINISHED_SECONDS)
            (void)unlinkat(at, found->d_name, 0); // another process may have been first
        else if (!unfinished && !add_entry(listing, found->d_name, &status))
            return false;
    }
    return true;
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
    if (list(folder, &listing) &&
        (listing.bytes > cache->most_bytes || listing.num > cache->most_files))
        remove_oldest(dirfd(folder), cache, &listing);
    free(listing.entries);
    closedir(folder);
}
