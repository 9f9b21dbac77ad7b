// SPDX-License-Identifier: Apache-2.0
// What could not be destroyed because the device could not be made current: whoever next destroys
// something, and the closing of the device, destroy it too.
#include <stdlib.h>

#include "backends/gpu/gpu_backend.h"

struct gpu_left {
    struct gpu_left *next;
    enum gpu_left_kind kind;
    void *handle;
};

void braid_gpu_leave_for_later(struct gpu_backend *gpu, enum gpu_left_kind kind, void *handle)
{
    struct gpu_left *left = handle ? malloc(sizeof(*left)) : NULL;
    if (!left)
        return; // without memory for a note the driver keeps it, as the log says
    pthread_mutex_lock(&gpu->lock);
    *left = (struct gpu_left){ .next = gpu->left, .kind = kind, .handle = handle };
    gpu->left = left;
    pthread_mutex_unlock(&gpu->lock);
}

static gpu_result destroy(const struct gpu_api *api, const struct gpu_left *left,
                          const void **out_slot)
{
    switch (left->kind) {
    case GPU_LEFT_EVENT:
        *out_slot = &api->event_destroy;
        return api->event_destroy(left->handle);
    case GPU_LEFT_MEMORY:
        *out_slot = &api->memory_free;
        return api->memory_free(left->handle);
    case GPU_LEFT_HOST_MEMORY:
        *out_slot = &api->host_free;
        return api->host_free(left->handle);
    case GPU_LEFT_EXECUTABLE:
        *out_slot = &api->executable_destroy;
        return api->executable_destroy(left->handle);
    case GPU_LEFT_GRAPH:
        break;
    }
    *out_slot = &api->graph_destroy;
    return api->graph_destroy(left->handle);
}

void braid_gpu_free_left(struct gpu_backend *gpu, bool current)
{
    pthread_mutex_lock(&gpu->lock);
    struct gpu_left *left = gpu->left;
    gpu->left = NULL;
    pthread_mutex_unlock(&gpu->lock);
    while (left) {
        struct gpu_left *next = left->next;
        const void *slot = NULL;
        if (current) {
            gpu_result result = destroy(gpu->api, left, &slot);
            braid_gpu_check_freed(gpu, result, slot,
                                  "destruction of what could not be destroyed before");
        }
        free(left);
        left = next;
    }
}
