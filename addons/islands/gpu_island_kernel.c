// SPDX-License-Identifier: Apache-2.0
// The needs of a loaded kernel inside an island, read from its PTX once.
#include "islands/gpu_island_kernel.h"

#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "islands/gpu_ptx_callable.h"

enum { WARP = 32 };

// False: memory ran out.
static bool read_needs(struct gpu_callable *callable)
{
    struct ptx ptx;
    struct ptx_symbols symbols;
    struct ptx_reason reason = { 0 };
    bool found = false;
    if (braid_ptx_read(callable->text, &ptx, &reason)) {
        if (braid_ptx_find_symbols(&ptx, &symbols, &reason)) {
            found = braid_ptx_read_callable(&symbols, callable->entry, &callable->needs, &reason);
            braid_ptx_symbols_finish(&symbols);
        }
        braid_ptx_finish(&ptx);
    }
    if (found)
        return true;
    memcpy(callable->reason, reason.text, sizeof(callable->reason));
    callable->why_not = callable->reason;
    return *reason.text;
}

static braid_status create(struct gpu_backend *gpu, struct gpu_kernel *kernel,
                           struct gpu_callable **out_callable)
{
    const bool is_own = !kernel->module && !kernel->code.function; // Braid's: it stays
    HOST_SCOPE = { is_own, is_own ? host_allocator_use(NULL) : NULL };
    struct gpu_callable *made = braid_allocate_zeroed(1, sizeof(*made));
    if (!made)
        return braid_error_no_memory("a kernel of an island");
    made->entry = braid_gpu_entry_of(kernel);
    braid_status status = braid_gpu_find_text(gpu, kernel, &made->text, &made->why_not);
    if (!status && !made->why_not && !read_needs(made))
        status = braid_error_no_memory("a kernel of an island");
    if (status)
        braid_free(made);
    else
        *out_callable = made;
    return status;
}

// Two threads may read it at once; the first one's is kept. Kernels of Braid's own serve all
// vendors, so the kept result must not come from another vendor.
braid_status braid_gpu_find_callable(struct gpu_backend *gpu, struct gpu_kernel *kernel,
                                     const struct gpu_callable **out_callable)
{
    static const struct gpu_callable foreign = { .why_not = "its code is not for CUDA" };
    if (gpu->vendor->index != GPU_CUDA) {
        *out_callable = &foreign;
        return BRAID_OK;
    }
    struct gpu_callable *made = NULL,
                        *known = atomic_load_explicit(&kernel->callable, memory_order_acquire);
    braid_status status = known ? BRAID_OK : create(gpu, kernel, &made);
    if (status)
        return status;
    if (made && !atomic_compare_exchange_strong(&kernel->callable, &known, made))
        braid_free(made);
    else if (made)
        known = made;
    *out_callable = known;
    return BRAID_OK;
}

const char *braid_gpu_blocks_refuse(bool fences, uint64_t num_blocks)
{
    return fences && num_blocks > 1 ? "its blocks may wait for each other" : NULL;
}

static bool has_other_args(const struct ptx_callable *needs, const struct backend_launch *launch)
{
    for (uint32_t i = 0; i < launch->num_args && launch->num_args == needs->num_args; i++) {
        if (launch->arg_bytes[i] != needs->arg_bytes[i])
            return true;
    }
    return launch->num_args != needs->num_args;
}

const char *braid_gpu_callable_refuse(const struct gpu_callable *callable,
                                      const struct backend_launch *launch)
{
    const struct ptx_callable *needs = &callable->needs;
    const braid_dim3 grid = launch->grid, block = launch->block;
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    if (callable->why_not)
        return callable->why_not;
    if (has_other_args(needs, launch))
        return "its arguments have other sizes than its parameters";
    if ((needs->barriers || needs->warps) && threads % WARP != 0)
        return "its blocks are not whole warps";
    if (needs->counts && threads <= WARP)
        return "it counts at a barrier of one warp";
    return braid_gpu_blocks_refuse(needs->fences, (uint64_t)grid.x * grid.y * grid.z);
}

uint32_t braid_gpu_callable_shared(const struct gpu_callable *callable,
                                   const struct backend_launch *launch)
{
    const uint32_t align = PTX_MOST_SHARED_ALIGN;
    uint32_t bytes = callable->needs.shared_bytes;
    if (callable->needs.is_open)
        bytes += launch->shared_bytes;
    return (bytes + align - 1) / align * align;
}
