// SPDX-License-Identifier: Apache-2.0
// What the clock that kernels read says, and the host's at the same moment.
#include "backends/gpu/gpu_clock.h"

#include "base/error.h"

// One may meet a busy host or device: the best of them counts.
enum { READINGS = 9 };

braid_status braid_gpu_clock_check(struct gpu_backend *gpu)
{
    gpu_function stamp = NULL;
    if (gpu->vendor->index == GPU_HIP && gpu->attributes[GPU_CLOCK_KHZ] <= 0)
        return braid_error(BRAID_UNSUPPORTED,
                           "%s: kernels keep no times: this runtime (%d) does not tell the rate of "
                           "the clock that they read",
                           gpu->label, gpu->version);
    braid_status status = braid_gpu_find_own(gpu, GPU_OWN_STAMP, &stamp);
    if (status || stamp)
        return status;
    return braid_error(
        BRAID_UNSUPPORTED,
        "%s: kernels keep no times: neither its driver nor a run-time compiler takes "
        "the text of one that does",
        gpu->label);
}

uint64_t braid_gpu_clock_ns(const struct gpu_backend *gpu, uint64_t ticks)
{
    const uint64_t khz = (uint64_t)gpu->attributes[GPU_CLOCK_KHZ];
    if (gpu->vendor->index != GPU_HIP || khz == 0)
        return ticks;
    return ticks / khz * 1000000 + ticks % khz * 1000000 / khz;
}

static braid_status read_once(struct gpu_backend *gpu, struct backend_stream *stream,
                              const struct backend_task *task, void *memory,
                              struct clock_pair *best)
{
    uint64_t before_ns = clock_now_ns(), ticks = 0;
    braid_status status = braid_gpu_submit(&gpu->base, stream, task);
    if (!status)
        status = braid_gpu_stream_synchronize(&gpu->base, stream);
    uint64_t after_ns = clock_now_ns();
    if (!status)
        status = braid_gpu_copy_now(gpu, &ticks, memory, sizeof(ticks), task->name);
    if (!status)
        clock_pair_take(best, before_ns, after_ns, braid_gpu_clock_ns(gpu, ticks));
    return status;
}

static braid_status read_often(struct gpu_backend *gpu, struct gpu_kernel *stamp,
                               struct backend_stream *stream, void *memory,
                               struct clock_pair *out_pair)
{
    uint64_t mask = 0;
    void *args[] = { &memory, &mask };
    static const uint32_t arg_bytes[] = { sizeof(void *), sizeof(uint64_t) };
    const struct backend_task task = {
        .kind = WORK_KERNEL,
        .name = "reading the device's clock",
        .node = BACKEND_NO_NODE,
        .launch = { .kernel = &stamp->base,
                    .grid = { 1, 1, 1 },
                    .block = { 1, 1, 1 },
                    .num_args = 2,
                    .args = args,
                    .arg_bytes = arg_bytes },
    };
    struct clock_pair best = { 0 };
    braid_status status = BRAID_OK;
    for (int i = 0; i < READINGS && !status; i++)
        status = read_once(gpu, stream, &task, memory, &best);
    if (!status)
        *out_pair = best;
    return status;
}

braid_status braid_gpu_read_clock(struct gpu_backend *gpu, struct backend_stream *stream,
                                  void *memory, struct clock_pair *out_pair)
{
    struct gpu_kernel stamp = { 0 };
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "reading the device's clock");
    if (status)
        return status;
    status = braid_gpu_clock_check(gpu);
    if (!status)
        status = braid_gpu_find_own(gpu, GPU_OWN_STAMP, &stamp.function);
    if (!status)
        status = read_often(gpu, &stamp, stream, memory, out_pair);
    braid_gpu_leave(gpu, &scope);
    return status;
}
