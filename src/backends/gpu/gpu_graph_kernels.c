// SPDX-License-Identifier: Apache-2.0
// The kernels of Braid's own that stand in driver graphs.
#include <string.h>

#include "backends/gpu/gpu_assemble.h"
#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_claim.h"
#include "backends/gpu/gpu_edit.h"
#include "base/error.h"
#include "base/host_memory.h"

extern const char braid_gpu_graph_stamp_ptx[], braid_gpu_graph_keep_ptx[],
    braid_gpu_graph_tally_ptx[], braid_gpu_graph_loop_begin_ptx[], braid_gpu_graph_loop_next_ptx[],
    braid_gpu_graph_cancel_ptx[], braid_gpu_graph_branch_ptx[];

static const char root[] = ".version 6.0\n.target sm_52\n.address_size 64\n"
                           ".visible .entry braid_root()\n{\n    ret;\n}\n";
static const char wait[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                           ".visible .entry braid_wait()\n{\n"
                           "    griddepcontrol.wait;\n    ret;\n}\n";

// Old versions and targets: the driver compiles them for any device. HIP's runtime compiles no
// text, so HIP goes without these kernels.
static const struct {
    const char *what, *entry, *text;
    bool early;   // it waits for its predecessors first
    bool cancels; // it looks whether the host cancels the loop
} kernels[GPU_NUM_OWN] = {
    [GPU_OWN_ROOT] = { "loading the kernel before the roots of a graph", "braid_root", root },
    [GPU_OWN_STAMP] = { "loading the kernel that stamps times", "braid_stamp",
                        braid_gpu_graph_stamp_ptx },
    [GPU_OWN_KEEP] = { "loading the kernel that keeps times", "braid_keep",
                       braid_gpu_graph_keep_ptx },
    [GPU_OWN_TALLY] = { "loading the kernel that adds up times", "braid_tally",
                        braid_gpu_graph_tally_ptx },
    [GPU_OWN_WAIT] = { "loading the kernel that stands in for a disabled one", "braid_wait", wait },
    [GPU_OWN_LOOP_BEGIN] = { "loading the kernel that begins a loop", "braid_loop_begin",
                             braid_gpu_graph_loop_begin_ptx, .cancels = true },
#define NEXT                                                                                       \
    "loading the kernel that ends an iteration", "braid_loop_next", braid_gpu_graph_loop_next_ptx
    [GPU_OWN_LOOP_NEXT] = { NEXT },
    [GPU_OWN_LOOP_NEXT_EARLY] = { NEXT, .early = true },
    [GPU_OWN_LOOP_CANCEL] = { NEXT, .cancels = true },
    [GPU_OWN_LOOP_CANCEL_EARLY] = { NEXT, .early = true, .cancels = true },
#undef NEXT
    [GPU_OWN_BRANCH] = { "loading the kernel that chooses an arm", "braid_branch",
                         braid_gpu_graph_branch_ptx },
};

static void put(struct gpu_edits *edits, const char *text, const char *mark, const char *with)
{
    const char *at = strstr(text, mark);
    braid_gpu_edit(edits, at, at + strlen(mark), with);
}

// For the caller to free. NULL: memory ran out.
static char *make_text(enum gpu_graph_kernel_index index)
{
    struct gpu_edits edits = { 0 };
    const char *text = kernels[index].text;
    if (kernels[index].early) {
        put(&edits, text, "6.0\n.target sm_52", "7.8\n.target sm_90");
        put(&edits, text, "// early\n", "    griddepcontrol.wait;\n");
    }
    if (kernels[index].cancels)
        put(&edits, text, "// cancel\n", braid_gpu_graph_cancel_ptx);
    char *made = braid_gpu_apply_edits(&edits, text);
    braid_gpu_edits_finish(&edits);
    return made;
}

static braid_status load(struct gpu_backend *gpu, enum gpu_graph_kernel_index index)
{
    const char *what = kernels[index].what;
    gpu_module module = NULL;
    gpu_function function = NULL;
    const void *slot = &gpu->api->module_load;
    char *text = make_text(index);
    if (!text)
        return braid_error_no_memory("a kernel of Braid's own");
    gpu_result result = braid_gpu_load_text(gpu, kernels[index].entry, text, &module);
    braid_free(text);
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

braid_status braid_gpu_find_graph_kernel(struct gpu_backend *gpu, enum gpu_graph_kernel_index index,
                                         gpu_function *out_function)
{
    struct gpu_claim claim;
    braid_status status = BRAID_OK;
    *out_function = NULL;
    braid_gpu_claim(gpu, &claim, (uintptr_t)&gpu->own[index]);
    if (!gpu->own[index].tried && gpu->vendor->index == GPU_CUDA)
        status = load(gpu, index);
    *out_function = gpu->own[index].function;
    braid_gpu_end_claim(gpu, &claim);
    return status;
}
