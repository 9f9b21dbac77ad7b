// SPDX-License-Identifier: Apache-2.0
// Copies and fills within the device as kernels that an island can call.
//
// A kernel of Braid's own stands for each, in PTX like the program's. Its blocks are warps, so no
// island grows by them. A block has so many bytes that a few side by side are as fast as a launch.
#include "islands/gpu_island_move.h"

enum {
    WARP = 32,
    BLOCK_BYTES = 2048,     // 4 times 16 for each thread
    MOST_BYTES = 64 * 1024, // an island has one block or few; the device's own way is faster then
};

// clang-format off
static const char text[] =
    ".version 6.4\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry braid_island_copy(.param .u64 to, .param .u64 from, .param .u64 bytes)\n"
    "{\n"
    "    .reg .pred %p<4>;\n"
    "    .reg .b16 %h;\n"
    "    .reg .b32 %r<9>;\n"
    "    .reg .b64 %rd<12>;\n"
    "    ld.param.u64 %rd1, [to];\n"
    "    ld.param.u64 %rd2, [from];\n"
    "    ld.param.u64 %rd3, [bytes];\n"
    "    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r3, %r1, %r2, %r3;\n"
    "    cvt.u64.u32 %rd4, %r3;\n"
    "    mov.u32 %r1, %nctaid.x;\n"
    "    mul.lo.u32 %r1, %r1, %r2;\n"
    "    cvt.u64.u32 %rd5, %r1;\n"
    "    or.b64 %rd6, %rd1, %rd2;\n"
    "    and.b64 %rd6, %rd6, 15;\n"
    "    setp.ne.u64 %p1, %rd6, 0;\n"
    "    @%p1 bra next_byte;\n"
    "    shr.u64 %rd7, %rd3, 4;\n"
    "    mov.u64 %rd8, %rd4;\n"
    "next_unit:\n"
    "    setp.ge.u64 %p2, %rd8, %rd7;\n"
    "    @%p2 bra units_end;\n"
    "    shl.b64 %rd9, %rd8, 4;\n"
    "    add.s64 %rd10, %rd2, %rd9;\n"
    "    add.s64 %rd11, %rd1, %rd9;\n"
    "    ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd10];\n"
    "    st.global.v4.u32 [%rd11], {%r4, %r5, %r6, %r7};\n"
    "    add.s64 %rd8, %rd8, %rd5;\n"
    "    bra next_unit;\n"
    "units_end:\n"
    "    shl.b64 %rd9, %rd7, 4;\n"
    "    add.s64 %rd4, %rd4, %rd9;\n"
    "next_byte:\n"
    "    setp.ge.u64 %p3, %rd4, %rd3;\n"
    "    @%p3 bra bytes_end;\n"
    "    add.s64 %rd10, %rd2, %rd4;\n"
    "    add.s64 %rd11, %rd1, %rd4;\n"
    "    ld.global.u8 %h, [%rd10];\n"
    "    st.global.u8 [%rd11], %h;\n"
    "    add.s64 %rd4, %rd4, %rd5;\n"
    "    bra next_byte;\n"
    "bytes_end:\n"
    "    ret;\n"
    "}\n"
    ".visible .entry braid_island_fill(.param .u64 to, .param .u64 values, .param .u32 value, .param .u32 bytes)\n"
    "{\n"
    "    .reg .pred %p<4>;\n"
    "    .reg .b32 %r<6>;\n"
    "    .reg .b64 %rd<8>;\n"
    "    ld.param.u64 %rd1, [to];\n"
    "    ld.param.u64 %rd2, [values];\n"
    "    ld.param.u32 %r4, [value];\n"
    "    ld.param.u32 %r5, [bytes];\n"
    "    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r3, %r1, %r2, %r3;\n"
    "    cvt.u64.u32 %rd3, %r3;\n"
    "    mov.u32 %r1, %nctaid.x;\n"
    "    mul.lo.u32 %r1, %r1, %r2;\n"
    "    cvt.u64.u32 %rd4, %r1;\n"
    "    cvt.u64.u32 %rd5, %r5;\n"
    "    setp.eq.u32 %p1, %r5, 1;\n"
    "    setp.eq.u32 %p2, %r5, 2;\n"
    "next:\n"
    "    setp.ge.u64 %p3, %rd3, %rd2;\n"
    "    @%p3 bra done;\n"
    "    mad.lo.u64 %rd6, %rd3, %rd5, %rd1;\n"
    "    add.s64 %rd3, %rd3, %rd4;\n"
    "    @%p1 bra one;\n"
    "    @%p2 bra two;\n"
    "    st.global.u32 [%rd6], %r4;\n"
    "    bra next;\n"
    "one:\n"
    "    st.global.u8 [%rd6], %r4;\n"
    "    bra next;\n"
    "two:\n"
    "    st.global.u16 [%rd6], %r4;\n"
    "    bra next;\n"
    "done:\n"
    "    ret;\n"
    "}\n";
// clang-format on

static struct gpu_kernel copy_kernel = { .entry = "braid_island_copy",
                                         .code = { .entry = "braid_island_copy", .image = text } };
static struct gpu_kernel fill_kernel = { .entry = "braid_island_fill",
                                         .code = { .entry = "braid_island_fill", .image = text } };
static const uint32_t copy_bytes[] = { 8, 8, 8 }, fill_bytes[] = { 8, 8, 4, 4 };

static uint64_t bytes_of(const struct backend_task *task)
{
    return task->kind == WORK_COPY ? task->copy.bytes
                                   : task->fill.num_values * task->fill.value_bytes;
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
    *out_reason = bytes_of(task) > MOST_BYTES ? "it moves more than 64 KiB" : NULL;
    if (*out_reason)
        return BRAID_OK;
    braid_status status = braid_gpu_enter(gpu, &scope, "a look at the memory of a copy or fill");
    if (status)
        return status;
    status = is_here(gpu, copies ? task->copy.to : task->fill.to, &to);
    if (!status && copies)
        status = is_here(gpu, task->copy.from, &from);
    braid_gpu_leave(gpu, &scope);
    if (task->detour || !to || !from)
        *out_reason = "it is not within the device";
    return status;
}

const struct backend_launch *braid_island_launch_of(const struct backend_task *task,
                                                    struct island_move *move)
{
    if (task->kind == WORK_KERNEL)
        return &task->launch;
    bool copies = task->kind == WORK_COPY;
    uint64_t bytes = bytes_of(task);
    const uint64_t blocks =
        bytes > MOST_BYTES ? MOST_BYTES / BLOCK_BYTES : (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    const void *const args[2][4] = {
        { &task->copy.to, &task->copy.from, &task->copy.bytes },
        { &task->fill.to, &task->fill.num_values, &task->fill.value, &task->fill.value_bytes },
    };
    for (int i = 0; i < 4; i++)
        move->args[i] = (void *)(uintptr_t)args[!copies][i];
    move->launch = (struct backend_launch){
        .kernel = copies ? &copy_kernel.base : &fill_kernel.base,
        .grid = { blocks ? (uint32_t)blocks : 1, 1, 1 },
        .block = { WARP, 1, 1 },
        .num_args = copies ? 3 : 4,
        .arg_bytes = copies ? copy_bytes : fill_bytes,
        .args = move->args,
    };
    return &move->launch;
}
