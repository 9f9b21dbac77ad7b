// SPDX-License-Identifier: Apache-2.0
// Kernels of a driver's graph that fetch inputs of the next kernel.
#include "backends/driver_graph/driver_graph_prefetch.h"

#include <string.h>

#include "backends/gpu/gpu_ptx_prefetch.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"

enum {
    LINE_BYTES = 128,
    LEAST_SHARE = 2 << 10, // a block's: fewer blocks fetch more
    MOST_SHARE = 512 << 10,
};

struct graph_prefetches {
    struct gpu_backend *gpu;
    const struct tasks *tasks;
    struct gpu_kernel **kernels; // by task, those that fetch; NULL: not loaded
    void **args;             // the launch's own, GPU_STAMP_PARAMETERS and GPU_PREFETCH_PARAMETERS
    struct gpu_prefetch now; // what that launch fetches
};

braid_status braid_driver_graph_prefetches_create(const struct stage *stage,
                                                  struct graph_prefetches **out_prefetches)
{
    const struct tasks *tasks = stage->program->tasks;
    if (!tasks->prefetches)
        return BRAID_OK;
    struct graph_prefetches *prefetches = braid_allocate_zeroed(1, sizeof(*prefetches));
    if (!prefetches)
        return braid_error_no_memory("a program");
    prefetches->gpu = gpu_from(stage->device->backend);
    prefetches->tasks = tasks;
    prefetches->kernels = braid_allocate_zeroed(tasks->num, sizeof(*prefetches->kernels));
    prefetches->args = braid_allocate_zeroed((size_t)tasks->max_args + GPU_STAMP_PARAMETERS +
                                                 GPU_PREFETCH_PARAMETERS,
                                             sizeof(*prefetches->args));
    *out_prefetches = prefetches;
    return prefetches->kernels && prefetches->args ? BRAID_OK : braid_error_no_memory("a program");
}

void braid_driver_graph_prefetches_destroy(struct graph_prefetches *prefetches)
{
    if (!prefetches)
        return;
    for (uint32_t i = 0; prefetches->kernels && i < prefetches->tasks->num; i++) {
        if (prefetches->kernels[i])
            braid_gpu_kernel_unload(&prefetches->gpu->base, &prefetches->kernels[i]->base);
    }
    braid_free(prefetches->kernels);
    braid_free(prefetches->args);
    braid_free(prefetches);
}

// Whole lines, none of them beyond the bytes.
static struct gpu_prefetch share_out(const struct backend_launch *launch)
{
    const uintptr_t next = (uintptr_t)launch->next;
    const uintptr_t from = (next + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    const uint64_t skipped = from - next;
    const uint64_t bytes = launch->next_bytes > skipped ? launch->next_bytes - skipped : 0;
    const uint64_t blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    uint64_t share = bytes / blocks / LINE_BYTES * LINE_BYTES;
    share = share < LEAST_SHARE ? LEAST_SHARE : share > MOST_SHARE ? MOST_SHARE : share;
    return (struct gpu_prefetch){ (const void *)from, (uint32_t)share, (uint32_t)(bytes / share) };
}

braid_status braid_driver_graph_prefetch(struct graph_prefetches *prefetches,
                                         const struct backend_task *task,
                                         struct backend_launch *launch)
{
    if (!prefetches || !prefetches->tasks->prefetches[task->node].bytes)
        return BRAID_OK;
    struct gpu_kernel **kernel = &prefetches->kernels[task->node];
    braid_status status = BRAID_OK;
    if (!*kernel)
        status = braid_gpu_kernel_load_changed(prefetches->gpu, gpu_kernel_from(launch->kernel),
                                               KERNEL_PREFETCHES, kernel);
    if (status || !*kernel)
        return status;
    void **more = prefetches->args + launch->num_args;
    if (launch->num_args)
        memcpy(prefetches->args, launch->args, launch->num_args * sizeof(*prefetches->args));
    prefetches->now = share_out(launch);
    more[0] = &prefetches->now.from;
    more[1] = &prefetches->now.share;
    more[2] = &prefetches->now.num_blocks;
    launch->kernel = &(*kernel)->base;
    launch->args = prefetches->args;
    launch->num_args += GPU_PREFETCH_PARAMETERS;
    return BRAID_OK;
}

uint32_t braid_driver_graph_prefetches_count(const struct graph_prefetches *prefetches)
{
    uint32_t num = 0;
    for (uint32_t i = 0; prefetches && i < prefetches->tasks->num; i++)
        num += prefetches->kernels[i] != NULL;
    return num;
}
