// SPDX-License-Identifier: Apache-2.0
// Kernels as they were read, kept for the next graph with the same text.
#include "accesses/shared_kernel.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/host_memory.h"

// The oldest unused kernels go beyond this number, or if all texts have more than these bytes.
enum { MOST_UNUSED = 64, MOST_BYTES = 8 << 20 };

struct shared_kernel {
    struct shared_kernel *next; // an older one
    uint64_t hash;
    char *text, *entry;
    size_t bytes;
    uint32_t num_users;
    struct accesses_kernel read;
};

// Guarded by the lock.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared_kernel *newest;

const struct accesses_kernel *braid_shared_kernel_read(const struct shared_kernel *kernel)
{
    return &kernel->read;
}

static void free_kernel(struct shared_kernel *kernel)
{
    braid_accesses_finish(&kernel->read);
    braid_free(kernel->text);
    braid_free(kernel->entry);
    braid_free(kernel);
}

// The last in the list that nobody uses. Counts the unused ones, and all bytes.
static struct shared_kernel **find_oldest_unused(uint32_t *out_num, size_t *out_bytes)
{
    struct shared_kernel **oldest = NULL;
    *out_num = 0;
    *out_bytes = 0;
    for (struct shared_kernel **link = &newest; *link; link = &(*link)->next) {
        *out_bytes += (*link)->bytes;
        *out_num += !(*link)->num_users;
        oldest = (*link)->num_users ? oldest : link;
    }
    return oldest;
}

static void drop_unused(void)
{
    uint32_t num;
    size_t bytes;
    for (;;) {
        struct shared_kernel **link = find_oldest_unused(&num, &bytes);
        if (!link || (num <= MOST_UNUSED && bytes <= MOST_BYTES))
            return;
        struct shared_kernel *dropped = *link;
        *link = dropped->next;
        free_kernel(dropped);
    }
}

static struct shared_kernel *find(uint64_t hash, const char *text, size_t bytes, const char *entry)
{
    for (struct shared_kernel **link = &newest; *link; link = &(*link)->next) {
        struct shared_kernel *kernel = *link;
        if (kernel->hash != hash || kernel->bytes != bytes ||
            memcmp(kernel->text, text, bytes) != 0 || strcmp(kernel->entry, entry) != 0)
            continue;
        *link = kernel->next;
        kernel->next = newest;
        newest = kernel;
        return kernel;
    }
    return NULL;
}

static braid_status read_kernel(uint64_t hash, const char *text, size_t bytes, const char *entry,
                                struct shared_kernel **out_kernel)
{
    struct shared_kernel *kernel = braid_allocate_zeroed(1, sizeof(*kernel));
    if (!kernel)
        return braid_error_no_memory("a kernel's code");
    kernel->hash = hash;
    kernel->bytes = bytes;
    kernel->text = braid_copy_text(text);
    kernel->entry = braid_copy_text(entry);
    braid_status status =
        kernel->text && kernel->entry ? BRAID_OK : braid_error_no_memory("a kernel's code");
    if (!status)
        status = braid_accesses_read(kernel->text, kernel->entry, &kernel->read);
    if (status) {
        free_kernel(kernel);
        return status;
    }
    kernel->next = newest;
    newest = kernel;
    *out_kernel = kernel;
    return BRAID_OK;
}

braid_status braid_shared_kernel_find(const char *text, const char *entry,
                                      struct shared_kernel **out_kernel)
{
    PLAIN_MEMORY; // it may outlive every device
    const size_t bytes = strlen(text);
    const uint64_t hash = hash_bytes(text, bytes);
    braid_status status = BRAID_OK;
    pthread_mutex_lock(&lock);
    struct shared_kernel *kernel = find(hash, text, bytes, entry);
    if (!kernel)
        status = read_kernel(hash, text, bytes, entry, &kernel);
    if (!status) {
        kernel->num_users++;
        *out_kernel = kernel;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void braid_shared_kernel_release(struct shared_kernel *kernel)
{
    if (!kernel)
        return;
    pthread_mutex_lock(&lock);
    if (--kernel->num_users == 0)
        drop_unused();
    pthread_mutex_unlock(&lock);
}
