// SPDX-License-Identifier: Apache-2.0
// The kernel that stands before the many roots of a native graph.
#include "backends/gpu/gpu_backend.h"

// An old version and target: the driver compiles it for whatever device there is.
static const char image[] = ".version 6.0\n"
                            ".target sm_52\n"
                            ".address_size 64\n"
                            ".visible .entry braid_root()\n"
                            "{\n"
                            "    ret;\n"
                            "}\n";

static void load(struct gpu_backend *gpu)
{
    gpu_module module = NULL;
    gpu_function function = NULL;
    if (gpu->api->module_load(&module, image))
        return;
    if (gpu->api->module_function(&function, module, "braid_root")) {
        gpu->api->module_unload(module);
        return;
    }
    gpu->root_module = module;
    gpu->root_function = function;
}

// It only saves time, so that a driver which cannot load it goes without. HIP has no text that its
// runtime compiles, and its graphs no such cost.
gpu_function braid_gpu_root_kernel(struct gpu_backend *gpu)
{
    if (gpu->vendor->index != GPU_CUDA)
        return NULL;
    pthread_mutex_lock(&gpu->load_lock);
    if (!gpu->root_tried)
        load(gpu);
    gpu->root_tried = true;
    gpu_function function = gpu->root_function;
    pthread_mutex_unlock(&gpu->load_lock);
    return function;
}
