// SPDX-License-Identifier: Apache-2.0
// The copy engine: one thread that does each copy once the signals it depends on are zero.
#include "hsa_standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One end of a copy: where its first byte lies, and how far apart rows and slices are.
struct corner {
    char *bytes;
    size_t row_pitch;
    size_t slice_pitch;
};

struct copy {
    struct copy *next;
    struct corner target;
    struct corner source;
    size_t row_bytes;
    size_t num_rows;
    size_t num_slices;
    hsa_signal_t completion;
    uint32_t num_dependencies;
    hsa_signal_t dependencies[];
};

// Guarded by standin_lock, in the order of submission.
static struct copy *first_copy;

static bool copy_ready(const struct copy *copy)
{
    for (uint32_t i = 0; i < copy->num_dependencies; i++)
        if (standin_signal_value(copy->dependencies[i]) != 0)
            return false;
    return true;
}

// Takes the first copy that may start off the list, or returns NULL. The lock must be held.
static struct copy *take_ready_copy(void)
{
    for (struct copy **link = &first_copy; *link; link = &(*link)->next) {
        struct copy *copy = *link;
        if (copy_ready(copy)) {
            *link = copy->next;
            return copy;
        }
    }
    return NULL;
}

static void run_copy(const struct copy *copy)
{
    if (standin_tracing())
        fprintf(stderr, "standin hsa: copy of %zu bytes, %zu rows, %zu slices\n", copy->row_bytes,
                copy->num_rows, copy->num_slices);
    for (size_t z = 0; z < copy->num_slices; z++) {
        for (size_t y = 0; y < copy->num_rows; y++)
            memmove(copy->target.bytes + z * copy->target.slice_pitch + y * copy->target.row_pitch,
                    copy->source.bytes + z * copy->source.slice_pitch + y * copy->source.row_pitch,
                    copy->row_bytes);
    }
}

void *standin_run_copies(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&standin_lock);
    for (;;) {
        struct copy *copy = take_ready_copy();
        if (!copy) {
            pthread_cond_wait(&standin_changed, &standin_lock);
            continue;
        }
        pthread_mutex_unlock(&standin_lock);
        uint64_t started = standin_now();
        run_copy(copy);
        standin_signal_finish(copy->completion, started);
        free(copy);
        pthread_mutex_lock(&standin_lock);
    }
    return NULL;
}

static hsa_status_t submit(const struct copy *description, uint32_t num_dependencies,
                           const hsa_signal_t *dependencies)
{
    size_t list_bytes = num_dependencies * sizeof(*dependencies);
    struct copy *copy = malloc(sizeof(*copy) + list_bytes);
    if (!copy)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *copy = *description;
    copy->num_dependencies = num_dependencies;
    if (num_dependencies)
        memcpy(copy->dependencies, dependencies, list_bytes);
    pthread_mutex_lock(&standin_lock);
    struct copy **end = &first_copy;
    while (*end)
        end = &(*end)->next;
    *end = copy;
    pthread_cond_broadcast(&standin_changed);
    pthread_mutex_unlock(&standin_lock);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_async_copy(void *target, hsa_agent_t target_agent, const void *source,
                                       hsa_agent_t source_agent, size_t num_bytes,
                                       uint32_t num_dependencies, const hsa_signal_t *dependencies,
                                       hsa_signal_t completion)
{
    (void)target_agent;
    (void)source_agent;
    struct copy copy = {
        .target.bytes = target,
        .source.bytes = (char *)(uintptr_t)source,
        .row_bytes = num_bytes,
        .num_rows = 1,
        .num_slices = 1,
        .completion = completion,
    };
    return submit(&copy, num_dependencies, dependencies);
}

static struct corner corner_at(const hsa_pitched_ptr_t *memory, const hsa_dim3_t *offset)
{
    char *bytes = memory->base;
    bytes += offset->x + offset->y * memory->pitch + offset->z * memory->slice;
    return (struct corner){ bytes, memory->pitch, memory->slice };
}

hsa_status_t
hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t *target, const hsa_dim3_t *target_offset,
                               const hsa_pitched_ptr_t *source, const hsa_dim3_t *source_offset,
                               const hsa_dim3_t *range, hsa_agent_t agent,
                               hsa_amd_copy_direction_t direction, uint32_t num_dependencies,
                               const hsa_signal_t *dependencies, hsa_signal_t completion)
{
    (void)agent;
    (void)direction;
    struct copy copy = {
        .target = corner_at(target, target_offset),
        .source = corner_at(source, source_offset),
        .row_bytes = range->x,
        .num_rows = range->y,
        .num_slices = range->z,
        .completion = completion,
    };
    return submit(&copy, num_dependencies, dependencies);
}

hsa_status_t hsa_amd_profiling_async_copy_enable(bool enable)
{
    (void)enable;
    return HSA_STATUS_SUCCESS;
}
