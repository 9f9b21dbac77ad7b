// SPDX-License-Identifier: Apache-2.0
// Limits of launches: raising the limit of dynamic shared memory, and saying why a launch was
// refused. Limits are looked at only after the driver refused, so that they cost nothing.
#include <stdio.h>

#include "backends/gpu/gpu_backend.h"

// Several devices and the program may launch one function. A new limit may be lower than the old
// one. So only the higher of the two is set, by one thread at a time.
static pthread_mutex_t limit_lock = PTHREAD_MUTEX_INITIALIZER;

gpu_result braid_gpu_read_shared_limit(const struct gpu_backend *gpu, gpu_function function,
                                       int *limit)
{
    int value = 0;
    if (!gpu->api->function_get)
        return GPU_SUCCESS;
    gpu_result result = gpu->api->function_get(&value, GPU_FUNCTION_MAX_DYNAMIC_SHARED, function);
    if (result == GPU_SUCCESS)
        *limit = value;
    return result == GPU_INVALID_VALUE || result == GPU_NOT_SUPPORTED ? GPU_SUCCESS : result;
}

static gpu_result raise_limit(const struct gpu_backend *gpu, struct gpu_kernel *kernel, int wanted,
                              const void **out_slot)
{
    int limit = atomic_load_explicit(&kernel->max_dynamic_shared, memory_order_relaxed);
    pthread_mutex_lock(&limit_lock);
    *out_slot = &gpu->api->function_get;
    gpu_result result = braid_gpu_read_shared_limit(gpu, kernel->function, &limit);
    if (result == GPU_SUCCESS && wanted > limit) {
        *out_slot = &gpu->api->function_set;
        result = gpu->api->function_set(kernel->function, GPU_FUNCTION_MAX_DYNAMIC_SHARED, wanted);
        limit = wanted;
    }
    if (result == GPU_SUCCESS)
        atomic_store_explicit(&kernel->max_dynamic_shared, limit, memory_order_relaxed);
    pthread_mutex_unlock(&limit_lock);
    return result;
}

gpu_result braid_gpu_allow_shared(const struct gpu_backend *gpu,
                                  const struct backend_launch *launch, const void **out_slot)
{
    struct gpu_kernel *kernel = gpu_kernel_from(launch->kernel);
    int wanted = (int)launch->shared_bytes;
    if (wanted <= atomic_load_explicit(&kernel->max_dynamic_shared, memory_order_relaxed) ||
        !gpu->api->function_set)
        return GPU_SUCCESS;
    return raise_limit(gpu, kernel, wanted, out_slot);
}

// ---- attributes that programs set ----

// An attribute that the driver does not know is set by nobody.
static bool is_unknown(gpu_result result)
{
    return result == GPU_INVALID_VALUE || result == GPU_NOT_SUPPORTED;
}

static braid_status read_attribute(const struct gpu_backend *gpu, int attribute,
                                   gpu_function function, bool *is_known, int *out_value)
{
    gpu_result result = gpu->api->function_get(out_value, attribute, function);
    if (is_unknown(result)) {
        *is_known = false;
        return BRAID_OK;
    }
    return braid_gpu_check(gpu, result, &gpu->api->function_get, "reading a function's attributes");
}

static braid_status copy_attribute(const struct gpu_backend *gpu, int attribute, gpu_function own,
                                   gpu_function loaded)
{
    int wanted = 0, has = 0;
    bool is_known = true;
    braid_status status = read_attribute(gpu, attribute, own, &is_known, &wanted);
    if (!status && is_known)
        status = read_attribute(gpu, attribute, loaded, &is_known, &has);
    if (status || !is_known || wanted == has)
        return status;
    return braid_gpu_check(gpu, gpu->api->function_set(loaded, attribute, wanted),
                           &gpu->api->function_set, "setting a function's attributes");
}

braid_status braid_gpu_copy_attributes(const struct gpu_backend *gpu, gpu_function own,
                                       gpu_function loaded, bool may_take_fewer_threads,
                                       bool *out_can_replace)
{
    static const int all[] = { GPU_FUNCTION_MAX_DYNAMIC_SHARED, GPU_FUNCTION_CARVEOUT,
                               GPU_FUNCTION_LARGE_CLUSTER };
    int most = 0, most_loaded = 0;
    bool is_known = gpu->api->function_get && gpu->api->function_set;
    braid_status status = BRAID_OK;
    if (is_known)
        status = read_attribute(gpu, GPU_FUNCTION_MAX_THREADS, own, &is_known, &most);
    if (!status && is_known)
        status = read_attribute(gpu, GPU_FUNCTION_MAX_THREADS, loaded, &is_known, &most_loaded);
    *out_can_replace = is_known && (may_take_fewer_threads || most_loaded >= most);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all) && *out_can_replace && !status; i++)
        status = copy_attribute(gpu, all[i], own, loaded);
    return status;
}

// One number of a launch and the most it may be.
struct limit {
    const char *name;
    uint64_t value;
    int most; // 0: not known
};

static bool explain_threads(const struct gpu_backend *gpu, braid_dim3 block, char *text,
                            size_t size)
{
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    int most = gpu->attributes[GPU_MAX_THREADS];
    if (most <= 0 || threads <= (uint64_t)most)
        return false;
    snprintf(text, size, "block %ux%ux%u exceeds %d threads", block.x, block.y, block.z, most);
    return true;
}

static bool explain_sides(const struct gpu_backend *gpu, const struct backend_launch *launch,
                          char *text, size_t size)
{
    const int *most = gpu->attributes;
    const struct limit limits[] = {
        { "block width", launch->block.x, most[GPU_MAX_BLOCK_X] },
        { "block height", launch->block.y, most[GPU_MAX_BLOCK_Y] },
        { "block depth", launch->block.z, most[GPU_MAX_BLOCK_Z] },
        { "grid width", launch->grid.x, most[GPU_MAX_GRID_X] },
        { "grid height", launch->grid.y, most[GPU_MAX_GRID_Y] },
        { "grid depth", launch->grid.z, most[GPU_MAX_GRID_Z] },
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (limits[i].most > 0 && limits[i].value > (uint64_t)limits[i].most) {
            snprintf(text, size, "%s %llu exceeds %d", limits[i].name,
                     (unsigned long long)limits[i].value, limits[i].most);
            return true;
        }
    }
    return false;
}

// Where the driver does not tell a number it stays 0: the launch has failed already, and only its
// message says less.
static bool explain_shared(const struct gpu_backend *gpu, const struct backend_launch *launch,
                           char *text, size_t size)
{
    int fixed = 0, most = gpu->attributes[GPU_MAX_SHARED_OPTIN];
    if (most <= 0)
        most = gpu->attributes[GPU_MAX_SHARED];
    if (gpu->api->function_get)
        (void)gpu->api->function_get(&fixed, GPU_FUNCTION_SHARED_BYTES,
                                     gpu_kernel_from(launch->kernel)->function);
    if (most <= 0 || (uint64_t)launch->shared_bytes + (uint64_t)fixed <= (uint64_t)most)
        return false;
    snprintf(text, size, "%u bytes of dynamic and %d of static shared memory exceed %d",
             launch->shared_bytes, fixed, most);
    return true;
}

static bool explain_cluster(const struct gpu_backend *gpu, const struct backend_launch *launch,
                            char *text, size_t size)
{
    braid_dim3 cluster = launch->cluster, grid = launch->grid;
    if (cluster.x == 0)
        return false;
    if (!gpu->attributes[GPU_CLUSTERS])
        snprintf(text, size, "the device has no clusters");
    else if (grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
        snprintf(text, size, "grid %ux%ux%u is no multiple of cluster %ux%ux%u", grid.x, grid.y,
                 grid.z, cluster.x, cluster.y, cluster.z);
    else
        return false;
    return true;
}

// A kernel that needs many registers allows fewer threads than the device.
static bool explain_kernel(const struct gpu_backend *gpu, const struct backend_launch *launch,
                           char *text, size_t size)
{
    int most = 0;
    uint64_t threads = (uint64_t)launch->block.x * launch->block.y * launch->block.z;
    if (gpu->api->function_get)
        (void)gpu->api->function_get(&most, GPU_FUNCTION_MAX_THREADS,
                                     gpu_kernel_from(launch->kernel)->function);
    if (most <= 0 || threads <= (uint64_t)most)
        return false;
    snprintf(text, size, "a block of %llu threads exceeds the %d that this kernel can have",
             (unsigned long long)threads, most);
    return true;
}

void braid_gpu_explain_launch(const struct gpu_backend *gpu, const struct backend_launch *launch,
                              gpu_result result, char *text, size_t size)
{
    *text = '\0';
    if (result != GPU_INVALID_VALUE && result != GPU_OUT_OF_RESOURCES &&
        result != GPU_INVALID_CLUSTER)
        return;
    if (explain_threads(gpu, launch->block, text, size) || explain_sides(gpu, launch, text, size) ||
        explain_shared(gpu, launch, text, size) || explain_cluster(gpu, launch, text, size) ||
        explain_kernel(gpu, launch, text, size))
        return;
}

// ---- how many blocks of a launch the device runs at once ----

static gpu_result ask_driver(const struct gpu_backend *gpu, const struct backend_launch *launch,
                             int *out_blocks, const void **out_slot)
{
    const braid_dim3 *block = &launch->block;
    gpu_result result = braid_gpu_allow_shared(gpu, launch, out_slot);
    if (result)
        return result;
    *out_slot = &gpu->api->function_occupancy;
    return gpu->api->function_occupancy(out_blocks, gpu_kernel_from(launch->kernel)->function,
                                        (int)(block->x * block->y * block->z),
                                        launch->shared_bytes);
}

braid_status braid_gpu_count_blocks(struct backend *backend, const struct backend_launch *launch,
                                    uint64_t *out_num)
{
    struct gpu_backend *gpu = gpu_from(backend);
    struct gpu_scope scope;
    const void *slot = NULL;
    int blocks = 0;
    *out_num = 0;
    if (!gpu->api->function_occupancy)
        return BRAID_OK;
    braid_status status = braid_gpu_enter(gpu, &scope, "asking for a kernel's occupancy");
    if (status)
        return status;
    gpu_result result = ask_driver(gpu, launch, &blocks, &slot);
    braid_gpu_leave(gpu, &scope);
    if (result == GPU_INVALID_VALUE) // a launch that the driver will refuse, with a reason
        return BRAID_OK;
    if (result)
        return braid_gpu_check(gpu, result, slot, "asking for a kernel's occupancy");
    *out_num = (uint64_t)blocks * (uint64_t)gpu->attributes[GPU_NUM_UNITS];
    return BRAID_OK;
}
