// SPDX-License-Identifier: Apache-2.0
// The kernel that stands before the many roots of a native graph.
#include "backends/gpu/gpu_module.h"

// An old version and target: the driver compiles it for whatever device there is.
static const char image[] = ".version 6.0\n"
                            ".target sm_52\n"
                            ".address_size 64\n"
                            ".visible .entry braid_root()\n"
                            "{\n"
                            "    ret;\n"
                            "}\n";

static braid_status load(struct gpu_backend *gpu)
{
    static const char what[] = "loading the kernel before the roots of a graph";
    gpu_module module = NULL;
    gpu_function function = NULL;
    const void *slot = &gpu->api->module_load;
    gpu_result result = gpu->api->module_load(&module, image);
    if (result == GPU_SUCCESS) {
        slot = &gpu->api->module_function;
        result = gpu->api->module_function(&function, module, "braid_root");
        if (result)
            braid_gpu_check_freed(gpu, gpu->api->module_unload(module), &gpu->api->module_unload,
                                  what);
    }
    // A driver that cannot have the kernel goes without it, which only takes time.
    gpu->root_tried =
        result == GPU_SUCCESS || result == GPU_NOT_FOUND || braid_gpu_refuses_text(result);
    if (result)
        return gpu->root_tried ? BRAID_OK : braid_gpu_check(gpu, result, slot, what);
    gpu->root_module = module;
    gpu->root_function = function;
    return BRAID_OK;
}

// HIP has no text that its runtime compiles, and its graphs no such cost.
braid_status braid_gpu_root_kernel(struct gpu_backend *gpu, gpu_function *out_function)
{
    braid_status status = BRAID_OK;
    *out_function = NULL;
    if (gpu->vendor->index != GPU_CUDA)
        return BRAID_OK;
    pthread_mutex_lock(&gpu->load_lock);
    if (!gpu->root_tried)
        status = load(gpu);
    *out_function = gpu->root_function;
    pthread_mutex_unlock(&gpu->load_lock);
    return status;
}
