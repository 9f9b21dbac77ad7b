// SPDX-License-Identifier: Apache-2.0
// The kernels of Braid's own that stand in native graphs.
#include "backends/gpu/gpu_module.h"

// Old versions and targets: the driver compiles them for whatever device there is.
static const struct {
    const char *what, *entry, *text;
} kernels[GPU_NUM_OWN] = {
    [GPU_OWN_ROOT] = { "loading the kernel before the roots of a graph", "braid_root",
                       ".version 6.0\n"
                       ".target sm_52\n"
                       ".address_size 64\n"
                       ".visible .entry braid_root()\n"
                       "{\n"
                       "    ret;\n"
                       "}\n" },
    [GPU_OWN_STAMP] = { "loading the kernel that stamps times", "braid_stamp",
                        ".version 6.0\n"
                        ".target sm_52\n"
                        ".address_size 64\n"
                        ".visible .entry braid_stamp(.param .u64 at, .param .u64 mask)\n"
                        "{\n"
                        "    .reg .b64 %t<3>;\n"
                        "    ld.param.u64 %t0, [at];\n"
                        "    ld.param.u64 %t1, [mask];\n"
                        "    mov.u64 %t2, %globaltimer;\n"
                        "    xor.b64 %t2, %t2, %t1;\n"
                        "    st.global.u64 [%t0], %t2;\n"
                        "    ret;\n"
                        "}\n" },
};

static braid_status load(struct gpu_backend *gpu, enum gpu_own_index index)
{
    const char *what = kernels[index].what;
    gpu_module module = NULL;
    gpu_function function = NULL;
    const void *slot = &gpu->api->module_load;
    gpu_result result = gpu->api->module_load(&module, kernels[index].text);
    if (result == GPU_SUCCESS) {
        slot = &gpu->api->module_function;
        result = gpu->api->module_function(&function, module, kernels[index].entry);
        if (result)
            braid_gpu_check_freed(gpu, gpu->api->module_unload(module), &gpu->api->module_unload,
                                  what);
    }
    // A driver that cannot have the kernel goes without it.
    struct gpu_own_kernel *own = &gpu->own[index];
    own->tried = result == GPU_SUCCESS || result == GPU_NOT_FOUND || braid_gpu_refuses_text(result);
    if (result)
        return own->tried ? BRAID_OK : braid_gpu_check(gpu, result, slot, what);
    own->module = module;
    own->function = function;
    return BRAID_OK;
}

// HIP has no text that its runtime compiles.
braid_status braid_gpu_find_own(struct gpu_backend *gpu, enum gpu_own_index index,
                                gpu_function *out_function)
{
    braid_status status = BRAID_OK;
    *out_function = NULL;
    if (gpu->vendor->index != GPU_CUDA)
        return BRAID_OK;
    pthread_mutex_lock(&gpu->load_lock);
    if (!gpu->own[index].tried)
        status = load(gpu, index);
    *out_function = gpu->own[index].function;
    pthread_mutex_unlock(&gpu->load_lock);
    return status;
}
