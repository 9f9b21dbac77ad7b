// SPDX-License-Identifier: Apache-2.0
// Copies and fills within the device as kernels that an island can call.
//
// A kernel of Braid's own stands for each, in PTX like the program's. Its blocks have the threads
// of a group, so no island grows by them. It has no more blocks than groups can run side by side,
// and each thread goes on with further bytes.
#include "islands/gpu_island_move.h"

enum { MOST_THREADS = 1024, THREAD_BYTES = 64, WARP = 32 };

extern const char braid_gpu_island_move_ptx[];

static struct gpu_kernel copy_kernel = { .entry = "braid_island_copy",
                                         .code = { .entry = "braid_island_copy",
                                                   .image = braid_gpu_island_move_ptx } };
static struct gpu_kernel fill_kernel = { .entry = "braid_island_fill",
                                         .code = { .entry = "braid_island_fill",
                                                   .image = braid_gpu_island_move_ptx } };
static const uint32_t copy_bytes[] = { 8, 8, 8 }, fill_bytes[] = { 8, 8, 4, 4 };

static uint64_t count_blocks(const struct backend_task *task, uint32_t threads)
{
    const uint64_t bytes =
        task->kind == WORK_COPY ? task->copy.bytes : task->fill.num_values * task->fill.value_bytes;
    const uint64_t each = (uint64_t)threads * THREAD_BYTES;
    return bytes ? bytes / each + (bytes % each != 0) : 1;
}

uint64_t braid_island_move_warps(const struct backend_task *task)
{
    return count_blocks(task, WARP);
}

// Memory that the driver does not know is the host's.
static braid_status is_here(const struct gpu_backend *gpu, const void *memory, bool *out_here)
{
    static const char what[] = "a look at the memory of a copy or fill";
    const void *slot = NULL;
    enum gpu_memory_kind kind = GPU_ELSEWHERE;
    int device = -1;
    *out_here = true;
    if (!memory)
        return BRAID_OK;
    gpu_result result = gpu->vendor->find_memory(gpu, memory, &kind, &slot);
    if (!result && kind == GPU_ELSEWHERE && gpu->api->pointer_attribute) {
        slot = &gpu->api->pointer_attribute;
        result =
            gpu->api->pointer_attribute(&device, GPU_POINTER_DEVICE, (void *)(uintptr_t)memory);
    }
    *out_here = device == gpu->device;
    return braid_gpu_check(gpu, result, slot, what);
}

braid_status braid_island_move_refuse(struct gpu_backend *gpu, const struct backend_task *task,
                                      const char **out_reason)
{
    bool copies = task->kind == WORK_COPY, to = false, from = true;
    struct gpu_scope scope;
    *out_reason = NULL;
    braid_status status = braid_gpu_enter(gpu, &scope, "a look at the memory of a copy or fill");
    if (status)
        return status;
    status = is_here(gpu, copies ? task->copy.to : task->fill.to, &to);
    if (!status && copies)
        status = is_here(gpu, task->copy.from, &from);
    braid_gpu_leave(gpu, &scope);
    if (task->detour || !to || !from)
        *out_reason = "it is not within the device";
    else if (copies ? task->copy.rows.num : task->fill.rows.num)
        *out_reason = "it has several rows";
    return status;
}

const struct backend_launch *braid_island_launch_of(const struct backend_task *task,
                                                    uint32_t threads, struct island_move *move)
{
    if (task->kind == WORK_KERNEL)
        return &task->launch;
    bool copies = task->kind == WORK_COPY;
    const uint64_t blocks = count_blocks(task, threads), most = MOST_THREADS / threads;
    const void *const args[2][4] = {
        { &task->copy.to, &task->copy.from, &task->copy.bytes },
        { &task->fill.to, &task->fill.num_values, &task->fill.value, &task->fill.value_bytes },
    };
    for (int i = 0; i < 4; i++)
        move->args[i] = (void *)(uintptr_t)args[!copies][i];
    move->launch = (struct backend_launch){
        .kernel = copies ? &copy_kernel.base : &fill_kernel.base,
        .grid = { (uint32_t)(blocks < most ? blocks : most), 1, 1 },
        .block = { threads, 1, 1 },
        .num_args = copies ? 3 : 4,
        .arg_bytes = copies ? copy_bytes : fill_bytes,
        .args = move->args,
    };
    return &move->launch;
}
