// SPDX-License-Identifier: Apache-2.0
// Start and stop, and what the runtime says of itself: one host agent, and one GPU called gfx90a.
#include "hsa_standin.h"

#include <errno.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The name that code objects for this GPU carry. It must be one that AMD's 5.2.3 runtime knows.
static const char isa_name[] = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";

static bool threads_started; // guarded by standin_lock

uint64_t standin_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool standin_tracing(void)
{
    return getenv("BRAID_STANDIN_HSA_TRACE") != NULL;
}

size_t standin_memory_limit(void)
{
    const size_t default_limit = (size_t)4 << 30;
    const char *text = getenv("BRAID_STANDIN_HSA_MEMORY");
    if (!text)
        return default_limit;
    errno = 0;
    char *end = NULL;
    unsigned long long limit = strtoull(text, &end, 10);
    return errno || end == text || *end ? default_limit : (size_t)limit;
}

bool standin_start_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

// AMD's header declares these two without saying that they have no parameters.
hsa_status_t hsa_init(void);
hsa_status_t hsa_shut_down(void);

hsa_status_t hsa_init(void)
{
    pthread_mutex_lock(&standin_lock);
    if (!threads_started)
        threads_started = standin_start_thread(standin_run_copies, NULL) &&
                          standin_start_thread(standin_run_handlers, NULL);
    bool started = threads_started;
    pthread_mutex_unlock(&standin_lock);
    return started ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

// The two threads stay: AMD's 5.2.3 never calls this, and another user may still be there.
hsa_status_t hsa_shut_down(void)
{
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_status_string(hsa_status_t status, const char **out_text)
{
    *out_text = status == HSA_STATUS_SUCCESS ? "success" : "stand-in HSA runtime: failure";
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_get_info(hsa_system_info_t attribute, void *out_value)
{
    switch ((int)attribute) {
    case HSA_SYSTEM_INFO_VERSION_MAJOR:
    case HSA_SYSTEM_INFO_VERSION_MINOR:
        *(uint16_t *)out_value = 1;
        return HSA_STATUS_SUCCESS;
    case HSA_SYSTEM_INFO_TIMESTAMP:
        *(uint64_t *)out_value = standin_now();
        return HSA_STATUS_SUCCESS;
    case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY:
        *(uint64_t *)out_value = 1000000000u;
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED:
    case HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT:
        *(bool *)out_value = false;
        return HSA_STATUS_SUCCESS;
    default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
}

static hsa_status_t query_host_address(const void *device_address, const void **out_host_address)
{
    *out_host_address = device_address;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_get_major_extension_table(uint16_t extension, uint16_t version,
                                                  size_t table_bytes, void *out_table)
{
    (void)version;
    hsa_ven_amd_loader_1_00_pfn_t loader = { .hsa_ven_amd_loader_query_host_address =
                                                 query_host_address };
    memset(out_table, 0, table_bytes);
    if (extension == HSA_EXTENSION_AMD_LOADER)
        memcpy(out_table, &loader, table_bytes < sizeof(loader) ? table_bytes : sizeof(loader));
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_extension_supported(uint16_t extension, uint16_t major, uint16_t minor,
                                            bool *out_supported)
{
    (void)extension;
    (void)major;
    (void)minor;
    *out_supported = false;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_extension_supported(uint16_t extension, hsa_agent_t agent, uint16_t major,
                                           uint16_t minor, bool *out_supported)
{
    (void)agent;
    return hsa_system_extension_supported(extension, major, minor, out_supported);
}

hsa_status_t hsa_iterate_agents(hsa_status_t (*visit)(hsa_agent_t, void *), void *data)
{
    for (uint64_t handle = STANDIN_AGENT_HOST; handle <= STANDIN_AGENT_GPU; handle++) {
        hsa_status_t status = visit((hsa_agent_t){ handle }, data);
        if (status != HSA_STATUS_SUCCESS)
            return status;
    }
    return HSA_STATUS_SUCCESS;
}

hsa_status_t
hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent,
                                   hsa_status_t (*visit)(hsa_amd_memory_pool_t, void *), void *data)
{
    bool on_gpu = agent.handle == STANDIN_AGENT_GPU;
    uint64_t first = on_gpu ? STANDIN_POOL_GPU : STANDIN_POOL_HOST_FINE;
    uint64_t last = on_gpu ? STANDIN_POOL_GROUP : STANDIN_POOL_HOST_COARSE;
    for (uint64_t handle = first; handle <= last; handle++) {
        hsa_status_t status = visit((hsa_amd_memory_pool_t){ handle }, data);
        if (status != HSA_STATUS_SUCCESS)
            return status;
    }
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_iterate_isas(hsa_agent_t agent, hsa_status_t (*visit)(hsa_isa_t, void *),
                                    void *data)
{
    (void)agent;
    return visit((hsa_isa_t){ 1 }, data);
}

hsa_status_t hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute, void *out_value)
{
    (void)isa;
    switch (attribute) {
    case HSA_ISA_INFO_NAME_LENGTH:
        *(uint32_t *)out_value = sizeof(isa_name);
        return HSA_STATUS_SUCCESS;
    case HSA_ISA_INFO_NAME:
        memcpy(out_value, isa_name, sizeof(isa_name));
        return HSA_STATUS_SUCCESS;
    default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
}

// The attributes that are one 32-bit number.
struct number {
    int attribute;
    uint32_t value;
};

static const struct number gpu_numbers[] = {
    { HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, 1024 },
    { HSA_AGENT_INFO_WAVEFRONT_SIZE, 64 },
    { HSA_AGENT_INFO_QUEUE_MAX_SIZE, 16384 },
    { HSA_AMD_AGENT_INFO_CHIP_ID, 0x740c },
    { HSA_AMD_AGENT_INFO_CACHELINE_SIZE, 64 },
    { HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, 4 },
    { HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY, 1700 },
    { HSA_AMD_AGENT_INFO_BDFID, 0x300 },
    { HSA_AMD_AGENT_INFO_MEMORY_WIDTH, 4096 },
    { HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY, 1600 },
    { HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, 32 },
    { HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, 4 },
    { HSA_AMD_AGENT_INFO_DOMAIN, 0 },
    { HSA_AMD_AGENT_INFO_ASIC_REVISION, 0 },
    { HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT, 4 },
};

static hsa_status_t get_number(int attribute, void *out_value)
{
    for (size_t i = 0; i < sizeof(gpu_numbers) / sizeof(gpu_numbers[0]); i++) {
        if (gpu_numbers[i].attribute == attribute) {
            *(uint32_t *)out_value = gpu_numbers[i].value;
            return HSA_STATUS_SUCCESS;
        }
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void *out_value)
{
    bool on_gpu = agent.handle == STANDIN_AGENT_GPU;
    switch ((int)attribute) {
    case HSA_AGENT_INFO_NAME:
        strcpy(out_value, on_gpu ? "gfx90a" : "host");
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_AGENT_INFO_PRODUCT_NAME:
        strcpy(out_value, on_gpu ? "Stand-in AMD GPU (CPU threads)" : "Stand-in host");
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_AGENT_INFO_UUID:
        strcpy(out_value, "GPU-0123456789abcdef");
        return HSA_STATUS_SUCCESS;
    case HSA_AGENT_INFO_DEVICE:
        *(hsa_device_type_t *)out_value = on_gpu ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU;
        return HSA_STATUS_SUCCESS;
    case HSA_AGENT_INFO_PROFILE:
        *(hsa_profile_t *)out_value = HSA_PROFILE_BASE;
        return HSA_STATUS_SUCCESS;
    case HSA_AGENT_INFO_EXTENSIONS:
        memset(out_value, 0, 128);
        return HSA_STATUS_SUCCESS;
    case HSA_AGENT_INFO_VERSION_MAJOR:
    case HSA_AGENT_INFO_VERSION_MINOR:
        *(uint16_t *)out_value = 1;
        return HSA_STATUS_SUCCESS;
    case HSA_AGENT_INFO_CACHE_SIZE:
        memcpy(out_value, (uint32_t[4]){ 16 << 10, 8 << 20, 0, 0 }, 4 * sizeof(uint32_t));
        return HSA_STATUS_SUCCESS;
    case HSA_AGENT_INFO_WORKGROUP_MAX_DIM:
        memcpy(out_value, (uint16_t[3]){ 1024, 1024, 1024 }, 3 * sizeof(uint16_t));
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_AGENT_INFO_HDP_FLUSH:
        memset(out_value, 0, sizeof(hsa_amd_hdp_flush_t));
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES:
    case HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS:
        *(bool *)out_value = false;
        return HSA_STATUS_SUCCESS;
    default:
        return get_number((int)attribute, out_value);
    }
}

hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t agent, hsa_amd_coherency_type_t type)
{
    (void)agent;
    (void)type;
    return HSA_STATUS_SUCCESS;
}
