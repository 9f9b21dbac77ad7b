// SPDX-License-Identifier: Apache-2.0
// Readings of the clock of kernels, with the host's clock at the same moment.
#include "backends/gpu/gpu_clock.h"

#include "base/error.h"

// One may meet a busy host or device: the best of them counts.
enum { READINGS = 9 };

braid_status braid_gpu_clock_check(struct gpu_backend *gpu)
{
    gpu_function stamp = NULL;
    braid_status status = braid_gpu_find_graph_kernel(gpu, GPU_OWN_STAMP, &stamp);
    if (status || stamp)
        return status;
    return braid_error(
        BRAID_UNSUPPORTED,
        "%s: kernels keep no times: its driver does not take the text of one that does",
        gpu->label);
}

static braid_status read_once(struct gpu_backend *gpu, struct backend_stream *stream,
                              const struct backend_task *task, void *memory,
                              struct clock_pair *best)
{
    uint64_t before_ns = clock_now_ns(), device_ns = 0;
    braid_status status = braid_gpu_submit(&gpu->base, stream, task);
    if (!status)
        status = braid_gpu_stream_synchronize(&gpu->base, stream);
    uint64_t after_ns = clock_now_ns();
    if (!status)
        status = braid_gpu_copy_now(gpu, &device_ns, memory, sizeof(device_ns), task->name);
    if (!status)
        clock_pair_take(best, before_ns, after_ns, device_ns);
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
        status = braid_gpu_find_graph_kernel(gpu, GPU_OWN_STAMP, &stamp.function);
    if (!status)
        status = read_often(gpu, &stamp, stream, memory, out_pair);
    braid_gpu_leave(gpu, &scope);
    return status;
}
