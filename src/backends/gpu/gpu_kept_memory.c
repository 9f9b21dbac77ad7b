// SPDX-License-Identifier: Apache-2.0
// Memory of islands, loops and frames' times, which is used again and freed late.
#include "backends/gpu/gpu_kept_memory.h"

#include "base/error.h"
#include "base/host_memory.h"

// All of a device, used or not, in a list under gpu_backend.lock.
struct gpu_left_memory {
    struct gpu_left_memory *next;
    braid_memory_kind kind;
    size_t bytes;
    void *memory;
    bool used;
};

enum { LEAST_BYTES = 256, MOST_DOUBLED = 1 << 20 };

// Sizes are rounded up to a power of two, large ones to whole MiB, so that graphs a little larger
// find memory again.
static size_t round_up(size_t bytes)
{
    size_t size = LEAST_BYTES;
    if (bytes > SIZE_MAX - MOST_DOUBLED)
        return bytes;
    if (bytes > MOST_DOUBLED)
        return (bytes + MOST_DOUBLED - 1) / MOST_DOUBLED * MOST_DOUBLED;
    while (size < bytes)
        size *= 2;
    return size;
}

static void *find_unused(struct gpu_backend *gpu, braid_memory_kind kind, size_t bytes)
{
    void *found = NULL;
    pthread_mutex_lock(&gpu->lock);
    for (struct gpu_left_memory *left = gpu->island_memory; left && !found; left = left->next) {
        if (!left->used && left->kind == kind && left->bytes == bytes) {
            left->used = true;
            found = left->memory;
        }
    }
    pthread_mutex_unlock(&gpu->lock);
    return found;
}

// Takes unused memory out of the list.
static struct gpu_left_memory *take_out_unused(struct gpu_backend *gpu)
{
    struct gpu_left_memory *unused = NULL, **link = &gpu->island_memory;
    pthread_mutex_lock(&gpu->lock);
    while (*link) {
        struct gpu_left_memory *left = *link;
        if (left->used) {
            link = &left->next;
            continue;
        }
        *link = left->next;
        left->next = unused;
        unused = left;
    }
    pthread_mutex_unlock(&gpu->lock);
    return unused;
}

// Whether there was any.
static bool free_unused(struct gpu_backend *gpu, bool current)
{
    struct gpu_left_memory *left = take_out_unused(gpu);
    bool found = left;
    while (left) {
        struct gpu_left_memory *next = left->next;
        if (current)
            braid_gpu_release(&gpu->base, left->kind, left->memory);
        braid_free(left);
        left = next;
    }
    return found;
}

// Memory kept for others, of other sizes, may be the missing memory. To free it, the driver may
// wait for the device's work; so it is the last resort.
static braid_status allocate(struct gpu_backend *gpu, braid_memory_kind kind, size_t bytes,
                             void **out_memory)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_gpu_allocate(&gpu->base, kind, bytes, out_memory);
    if (status == BRAID_NO_MEMORY && free_unused(gpu, true))
        status = braid_gpu_allocate(&gpu->base, kind, bytes, out_memory);
    braid_error_end_attempt(&attempt, status);
    return status;
}

braid_status braid_gpu_kept_memory_take(struct gpu_backend *gpu, braid_memory_kind kind,
                                        size_t bytes, void **out_memory)
{
    size_t size = round_up(bytes);
    void *found = find_unused(gpu, kind, size);
    if (found) {
        *out_memory = found;
        return BRAID_OK;
    }
    struct gpu_left_memory *made = braid_allocate(sizeof(*made));
    if (!made)
        return braid_error_no_memory("the memory of an island");
    *made = (struct gpu_left_memory){ .kind = kind, .bytes = size, .used = true };
    braid_status status = allocate(gpu, kind, size, &made->memory);
    if (status) {
        braid_free(made);
        return status;
    }
    pthread_mutex_lock(&gpu->lock);
    made->next = gpu->island_memory;
    gpu->island_memory = made;
    pthread_mutex_unlock(&gpu->lock);
    *out_memory = made->memory;
    return BRAID_OK;
}

void braid_gpu_kept_memory_leave(struct gpu_backend *gpu, void *memory)
{
    pthread_mutex_lock(&gpu->lock);
    for (struct gpu_left_memory *left = gpu->island_memory; left && memory; left = left->next) {
        if (left->memory == memory)
            left->used = false;
    }
    pthread_mutex_unlock(&gpu->lock);
}

void braid_gpu_kept_memory_free(struct gpu_backend *gpu, bool current)
{
    free_unused(gpu, current);
}
