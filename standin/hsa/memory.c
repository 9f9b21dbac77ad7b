// SPDX-License-Identifier: Apache-2.0
// Memory pools. All of them are host memory; what differs is what the runtime is told about them.
#include "hsa_standin.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

struct allocation {
    struct allocation *next;
    char *base;
    size_t num_bytes;
    uint64_t pool;
};

// Both guarded by standin_lock.
static struct allocation *first_allocation;
static size_t num_bytes_in_use;

hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t num_bytes,
                                          uint32_t flags, void **out_pointer)
{
    (void)flags;
    hsa_status_t status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    struct allocation *allocation = calloc(1, sizeof(*allocation));
    if (!allocation)
        return status;
    pthread_mutex_lock(&standin_lock);
    size_t limit = standin_memory_limit();
    if (num_bytes <= limit && num_bytes_in_use <= limit - num_bytes) {
        size_t num_pages = (num_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
        allocation->base = aligned_alloc(PAGE_BYTES, num_pages * PAGE_BYTES);
    }
    if (allocation->base) {
        allocation->num_bytes = num_bytes;
        allocation->pool = pool.handle;
        allocation->next = first_allocation;
        first_allocation = allocation;
        num_bytes_in_use += num_bytes;
        *out_pointer = allocation->base;
        allocation = NULL;
        status = HSA_STATUS_SUCCESS;
    }
    pthread_mutex_unlock(&standin_lock);
    free(allocation);
    return status;
}

// Takes the allocation that begins at `base` off the list, or returns NULL.
static struct allocation *take_allocation(void *base)
{
    struct allocation *allocation = NULL;
    pthread_mutex_lock(&standin_lock);
    for (struct allocation **link = &first_allocation; *link; link = &(*link)->next) {
        if ((*link)->base != base)
            continue;
        allocation = *link;
        *link = allocation->next;
        num_bytes_in_use -= allocation->num_bytes;
        break;
    }
    pthread_mutex_unlock(&standin_lock);
    return allocation;
}

hsa_status_t hsa_amd_memory_pool_free(void *pointer)
{
    struct allocation *allocation = take_allocation(pointer);
    if (!allocation)
        return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    // Work that is still to read this memory shall not find the right values by luck.
    memset(allocation->base, 0xdd, allocation->num_bytes);
    free(allocation->base);
    free(allocation);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t pool,
                                          hsa_amd_memory_pool_info_t attribute, void *out_value)
{
    switch (attribute) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
        *(hsa_amd_segment_t *)out_value =
            pool.handle == STANDIN_POOL_GROUP ? HSA_AMD_SEGMENT_GROUP : HSA_AMD_SEGMENT_GLOBAL;
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
        *(uint32_t *)out_value = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
        if (pool.handle == STANDIN_POOL_HOST_FINE)
            *(uint32_t *)out_value = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
        if (pool.handle == STANDIN_POOL_HOST_KERNARG)
            *(uint32_t *)out_value = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED |
                                     HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT;
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_SIZE:
        *(size_t *)out_value =
            pool.handle == STANDIN_POOL_GROUP ? (size_t)64 * 1024 : standin_memory_limit();
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
        *(size_t *)out_value = PAGE_BYTES;
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED:
        *(bool *)out_value = pool.handle != STANDIN_POOL_GROUP;
        return HSA_STATUS_SUCCESS;
    default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
}

hsa_status_t hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                                hsa_amd_agent_memory_pool_info_t attribute,
                                                void *out_value)
{
    bool host_to_gpu = agent.handle == STANDIN_AGENT_HOST && pool.handle >= STANDIN_POOL_GPU;
    switch (attribute) {
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS:
        // "Never" keeps the runtime from writing GPU memory directly, as on most real machines.
        *(hsa_amd_memory_pool_access_t *)out_value =
            host_to_gpu ? HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED
                        : HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT;
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS:
        *(uint32_t *)out_value = 1;
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO:
        *(hsa_amd_memory_pool_link_info_t *)out_value =
            (hsa_amd_memory_pool_link_info_t){ .link_type = HSA_AMD_LINK_INFO_TYPE_PCIE };
        return HSA_STATUS_SUCCESS;
    default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
}

hsa_status_t hsa_amd_agents_allow_access(uint32_t num_agents, const hsa_agent_t *agents,
                                         const uint32_t *flags, const void *pointer)
{
    (void)num_agents;
    (void)agents;
    (void)flags;
    (void)pointer;
    return HSA_STATUS_SUCCESS;
}

// Host and GPU share one address space here, so memory is its own pinned address.
hsa_status_t hsa_amd_memory_lock_to_pool(void *host_pointer, size_t num_bytes, hsa_agent_t *agents,
                                         int num_agents, hsa_amd_memory_pool_t pool, uint32_t flags,
                                         void **out_agent_pointer)
{
    (void)num_bytes;
    (void)agents;
    (void)num_agents;
    (void)pool;
    (void)flags;
    *out_agent_pointer = host_pointer;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_unlock(void *host_pointer)
{
    (void)host_pointer;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_memory_copy(void *target, const void *source, size_t num_bytes)
{
    memmove(target, source, num_bytes);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_memory_register(void *pointer, size_t num_bytes)
{
    (void)pointer;
    (void)num_bytes;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_memory_deregister(void *pointer, size_t num_bytes)
{
    (void)pointer;
    (void)num_bytes;
    return HSA_STATUS_SUCCESS;
}

static void describe(const struct allocation *allocation, hsa_amd_pointer_info_t *out_info)
{
    bool on_gpu = allocation->pool == STANDIN_POOL_GPU;
    out_info->type = HSA_EXT_POINTER_TYPE_HSA;
    out_info->agentBaseAddress = allocation->base;
    out_info->hostBaseAddress = allocation->base;
    out_info->sizeInBytes = allocation->num_bytes;
    out_info->agentOwner.handle = on_gpu ? STANDIN_AGENT_GPU : STANDIN_AGENT_HOST;
    out_info->global_flags = on_gpu ? HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED
                                    : HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
}

hsa_status_t hsa_amd_pointer_info(const void *pointer, hsa_amd_pointer_info_t *out_info,
                                  void *(*allocate)(size_t), uint32_t *out_num_accessible,
                                  hsa_agent_t **out_accessible)
{
    (void)allocate;
    if (out_num_accessible)
        *out_num_accessible = 0;
    if (out_accessible)
        *out_accessible = NULL;
    out_info->type = HSA_EXT_POINTER_TYPE_UNKNOWN;
    uintptr_t address = (uintptr_t)pointer;
    pthread_mutex_lock(&standin_lock);
    for (struct allocation *each = first_allocation; each; each = each->next) {
        uintptr_t base = (uintptr_t)each->base;
        if (address >= base && address - base < each->num_bytes)
            describe(each, out_info);
    }
    pthread_mutex_unlock(&standin_lock);
    return HSA_STATUS_SUCCESS;
}
