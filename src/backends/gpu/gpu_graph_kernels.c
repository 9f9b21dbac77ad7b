// SPDX-License-Identifier: Apache-2.0
// The kernels of Braid's own that stand in driver graphs.

#include "backends/gpu/gpu_module.h"

// Takes the greatest of two registers' values in a warp.
#define GREATEST_OF_TWO(apart, value)                                                              \
    "    mov.b64 {%r12, %r13}, " value ";\n"                                                       \
    "    shfl.sync.bfly.b32 %r14, %r12, " apart ", 31, -1;\n"                                      \
    "    shfl.sync.bfly.b32 %r15, %r13, " apart ", 31, -1;\n"                                      \
    "    mov.b64 %d11, {%r14, %r15};\n"                                                            \
    "    max.u64 " value ", " value ", %d11;\n"
#define GREATEST(value)                                                                            \
    GREATEST_OF_TWO("16", value)                                                                   \
    GREATEST_OF_TWO("8", value)                                                                    \
    GREATEST_OF_TWO("4", value) GREATEST_OF_TWO("2", value) GREATEST_OF_TWO("1", value)

// The parts that kernels have in common which set a graph's conditions.
#define LOOP_HEAD_OF(version, target)                                                              \
    ".version " version "\n.target " target "\n.address_size 64\n"                                 \
    ".extern .func cudaGraphSetConditional(.param .b64 to, .param .b32 value);\n"
#define LOOP_HEAD LOOP_HEAD_OF("6.0", "sm_52")
#define LOOP_CLEAR                                                                                 \
    "    ld.param.u64 %d0, [counters];\n"                                                          \
    "    ld.param.u64 %d1, [iterations];\n"                                                        \
    "    ld.param.u64 %d2, [condition];\n"                                                         \
    "    ld.param.u64 %d3, [word];\n"                                                              \
    "    ld.param.u32 %r0, [num];\n"                                                               \
    "    mov.u64 %d4, 0;\n"                                                                        \
    "    st.global.u64 [%d0], %d4;\n"                                                              \
    "next_loop:\n"                                                                                 \
    "    setp.eq.u32 %p0, %r0, 0;\n"                                                               \
    "    @%p0 bra cleared;\n"                                                                      \
    "    st.global.v2.u64 [%d0], {%d4, %d4};\n"                                                    \
    "    st.global.v2.u64 [%d1], {%d4, %d4};\n"                                                    \
    "    add.u64 %d0, %d0, 16;\n"                                                                  \
    "    add.u64 %d1, %d1, 16;\n"                                                                  \
    "    sub.u32 %r0, %r0, 1;\n"                                                                   \
    "    bra next_loop;\n"                                                                         \
    "cleared:\n"                                                                                   \
    "    mov.u32 %r1, 1;\n"                                                                        \
    "    setp.ne.u64 %p1, %d3, 0;\n"                                                               \
    "    @%p1 ld.global.u32 %r1, [%d3];\n"
#define LOOP_SET(condition, to_value)                                                              \
    "    {\n"                                                                                      \
    "    .param .b64 to;\n"                                                                        \
    "    .param .b32 value;\n"                                                                     \
    "    st.param.b64 [to], " condition ";\n"                                                      \
    "    st.param.b32 [value], " to_value ";\n"                                                    \
    "    call.uni cudaGraphSetConditional, (to, value);\n"                                         \
    "    }\n"
// If the word at `cancelled` is not 0, there is no further iteration. Where there is such a word,
// the kernel tells the host how many there were since the loop was entered: %d4.
#define LOOP_CANCEL(goes_on)                                                                       \
    "    ld.param.u64 %d3, [cancelled];\n"                                                         \
    "    setp.eq.u64 %p1, %d3, 0;\n"                                                               \
    "    @%p1 bra not_cancelled;\n"                                                                \
    "    ld.volatile.global.u32 %r2, [%d3];\n"                                                     \
    "    setp.ne.u32 %p1, %r2, 0;\n"                                                               \
    "    @%p1 mov.u32 " goes_on ", 0;\n"                                                           \
    "    ld.param.u64 %d1, [iterations];\n"                                                        \
    "    st.volatile.global.u64 [%d1+8], %d4;\n"                                                   \
    "not_cancelled:\n"
#define LOOP_TAIL                                                                                  \
    "    ret;\n"                                                                                   \
    "}\n"

// The word and the bound decide; a loop without a condition has no word. Code that the kernel does
// not run costs time too: that of LOOP_CANCEL 0.15 us an iteration, on an H200.
#define LOOP_NEXT(wait, cancel)                                                                    \
    ".visible .entry braid_loop_next(.param .u64 counters, .param .u64 iterations,\n"              \
    "    .param .u64 condition, .param .u64 word, .param .u64 most,\n"                             \
    "    .param .u64 cancelled)\n"                                                                 \
    "{\n"                                                                                          \
    "    .reg .pred %p<2>;\n"                                                                      \
    "    .reg .b32 %r<3>;\n"                                                                       \
    "    .reg .b64 %d<6>;\n" wait "    ld.param.u64 %d0, [counters];\n"                            \
    "    ld.param.u64 %d3, [word];\n"                                                              \
    "    mov.u32 %r0, 1;\n"                                                                        \
    "    setp.ne.u64 %p1, %d3, 0;\n"                                                               \
    "    @%p1 ld.global.u32 %r0, [%d3];\n"                                                         \
    "    ld.global.v2.u64 {%d4, %d5}, [%d0];\n"                                                    \
    "    ld.param.u64 %d2, [condition];\n"                                                         \
    "    ld.param.u64 %d3, [most];\n"                                                              \
    "    add.u64 %d4, %d4, 1;\n"                                                                   \
    "    add.u64 %d5, %d5, 1;\n"                                                                   \
    "    st.global.v2.u64 [%d0], {%d4, %d5};\n"                                                    \
    "    setp.ge.u64 %p0, %d4, %d3;\n"                                                             \
    "    @%p0 mov.u32 %r0, 0;\n" cancel LOOP_SET("%d2",                                            \
                                                 "%r0") "    setp.ne.u32 %p0, %r0, 0;\n"           \
                                                        "    @%p0 bra goes_on;\n"                  \
                                                        "    ld.param.u64 %d1, [iterations];\n"    \
                                                        "    st.global.u64 [%d1], %d5;\n"          \
                                                        "goes_on:\n" LOOP_TAIL

// Old versions and targets: the driver compiles them for any device. HIP's runtime compiles no
// text, so HIP goes without these kernels.
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
    // A warp for each place. All blocks of a frame read the counter before they count themselves,
    // so that it stands for the same frame until the last one has.
    [GPU_OWN_KEEP] = { "loading the kernel that keeps times", "braid_keep",
                       ".version 6.0\n"
                       ".target sm_52\n"
                       ".address_size 64\n"
                       ".visible .entry braid_keep(.param .u64 stamps, .param .u64 kept,\n"
                       "    .param .u64 counter, .param .u64 places, .param .u32 num,\n"
                       "    .param .u32 room)\n"
                       "{\n"
                       "    .reg .pred %p<4>;\n"
                       "    .reg .b32 %r<16>;\n"
                       "    .reg .b64 %d<12>;\n"
                       "    ld.param.u64 %d0, [stamps];\n"
                       "    ld.param.u64 %d1, [kept];\n"
                       "    ld.param.u64 %d2, [counter];\n"
                       "    ld.param.u64 %d3, [places];\n"
                       "    ld.param.u32 %r0, [num];\n"
                       "    ld.param.u32 %r1, [room];\n"
                       // kept += counter / blocks % room * num * 16
                       "    ld.volatile.global.u64 %d4, [%d2];\n"
                       "    mov.u32 %r2, %nctaid.x;\n"
                       "    cvt.u64.u32 %d5, %r2;\n"
                       "    div.u64 %d4, %d4, %d5;\n"
                       "    cvt.u64.u32 %d5, %r1;\n"
                       "    rem.u64 %d4, %d4, %d5;\n"
                       "    cvt.u64.u32 %d5, %r0;\n"
                       "    mul.lo.u64 %d4, %d4, %d5;\n"
                       "    shl.b64 %d4, %d4, 4;\n"
                       "    add.u64 %d1, %d1, %d4;\n"
                       // the warp's first place, and how many warps there are
                       "    mov.u32 %r3, %tid.x;\n"
                       "    and.b32 %r4, %r3, 31;\n"
                       "    shr.u32 %r5, %r3, 5;\n"
                       "    mov.u32 %r6, %ctaid.x;\n"
                       "    mad.lo.u32 %r7, %r6, 8, %r5;\n"
                       "    shl.b32 %r8, %r2, 3;\n"
                       "next_place:\n"
                       "    setp.ge.u32 %p0, %r7, %r0;\n"
                       "    @%p0 bra done;\n"
                       "    mul.wide.u32 %d6, %r7, 8;\n"
                       "    add.u64 %d6, %d6, %d3;\n"
                       "    ld.global.v2.u32 {%r9, %r10}, [%d6];\n"
                       "    mov.u64 %d7, 0;\n"
                       "    mov.u64 %d8, 0;\n"
                       "    mov.u64 %d10, 0;\n"
                       "    setp.ge.u32 %p1, %r4, %r10;\n"
                       "    @%p1 bra has_read;\n"
                       "    mad.lo.u32 %r11, %r4, 8, %r9;\n"
                       "    mul.wide.u32 %d9, %r11, 16;\n"
                       "    add.u64 %d9, %d9, %d0;\n"
                       "    ld.global.v2.u64 {%d7, %d8}, [%d9];\n"
                       "    st.global.v2.u64 [%d9], {%d10, %d10};\n"
                       "has_read:\n"
                       "    bar.warp.sync -1;\n" GREATEST("%d7")
                           GREATEST("%d8") "    setp.ne.u32 %p2, %r4, 0;\n"
                                           "    @%p2 bra is_kept;\n"
                                           "    mul.wide.u32 %d9, %r7, 16;\n"
                                           "    add.u64 %d9, %d9, %d1;\n"
                                           "    st.global.v2.u64 [%d9], {%d7, %d8};\n"
                                           "is_kept:\n"
                                           "    bar.warp.sync -1;\n"
                                           "    add.u32 %r7, %r7, %r8;\n"
                                           "    bra next_place;\n"
                                           "done:\n"
                                           "    bar.sync 0;\n"
                                           "    setp.ne.u32 %p3, %r3, 0;\n"
                                           "    @%p3 bra out;\n"
                                           "    mov.u64 %d9, 1;\n"
                                           "    red.global.add.u64 [%d2], %d9;\n"
                                           "out:\n"
                                           "    ret;\n"
                                           "}\n" },
    // A thread for each place. If the begin or the end is missing, the place did not run.
    [GPU_OWN_TALLY] = { "loading the kernel that adds up times", "braid_tally",
                        ".version 6.0\n"
                        ".target sm_52\n"
                        ".address_size 64\n"
                        ".visible .entry braid_tally(.param .u64 stamps, .param .u64 tallies,\n"
                        "    .param .u64 counter, .param .u64 places, .param .u32 num,\n"
                        "    .param .u32 room, .param .u32 blocks, .param .u32 first,\n"
                        "    .param .u32 end)\n"
                        "{\n"
                        "    .reg .pred %p<4>;\n"
                        "    .reg .b32 %r<8>;\n"
                        "    .reg .b64 %d<13>;\n"
                        "    ld.param.u64 %d0, [stamps];\n"
                        "    ld.param.u64 %d1, [tallies];\n"
                        "    ld.param.u64 %d2, [counter];\n"
                        "    ld.param.u64 %d3, [places];\n"
                        "    ld.param.u32 %r0, [end];\n"
                        // d4: the frame from 1; tallies += (d4 - 1) % room * num * 32
                        "    ld.volatile.global.u64 %d4, [%d2];\n"
                        "    ld.param.u32 %r1, [blocks];\n"
                        "    cvt.u64.u32 %d5, %r1;\n"
                        "    div.u64 %d4, %d4, %d5;\n"
                        "    ld.param.u32 %r1, [room];\n"
                        "    cvt.u64.u32 %d5, %r1;\n"
                        "    rem.u64 %d6, %d4, %d5;\n"
                        "    add.u64 %d4, %d4, 1;\n"
                        "    ld.param.u32 %r1, [num];\n"
                        "    cvt.u64.u32 %d5, %r1;\n"
                        "    mul.lo.u64 %d6, %d6, %d5;\n"
                        "    shl.b64 %d6, %d6, 5;\n"
                        "    add.u64 %d1, %d1, %d6;\n"
                        "    mov.u32 %r2, %tid.x;\n"
                        "    ld.param.u32 %r1, [first];\n"
                        "    add.u32 %r2, %r2, %r1;\n"
                        "    mov.u32 %r3, %ntid.x;\n"
                        "next_place:\n"
                        "    setp.ge.u32 %p0, %r2, %r0;\n"
                        "    @%p0 bra done;\n"
                        "    mul.wide.u32 %d5, %r2, 8;\n"
                        "    add.u64 %d5, %d5, %d3;\n"
                        "    ld.global.v2.u32 {%r4, %r5}, [%d5];\n"
                        "    mul.wide.u32 %d5, %r4, 16;\n"
                        "    add.u64 %d5, %d5, %d0;\n"
                        "    mov.u64 %d7, 0;\n"
                        "    mov.u64 %d8, 0;\n"
                        "    mov.u64 %d9, 0;\n"
                        "next_stamp:\n"
                        "    ld.global.v2.u64 {%d10, %d11}, [%d5];\n"
                        "    st.global.v2.u64 [%d5], {%d9, %d9};\n"
                        "    max.u64 %d7, %d7, %d10;\n"
                        "    max.u64 %d8, %d8, %d11;\n"
                        "    add.u64 %d5, %d5, 128;\n"
                        "    sub.u32 %r5, %r5, 1;\n"
                        "    setp.ne.u32 %p1, %r5, 0;\n"
                        "    @%p1 bra next_stamp;\n"
                        "    setp.eq.u64 %p2, %d7, 0;\n"
                        "    @%p2 bra counted;\n"
                        "    setp.eq.u64 %p2, %d8, 0;\n"
                        "    @%p2 bra counted;\n"
                        // d8: the length
                        "    not.b64 %d7, %d7;\n"
                        "    max.u64 %d8, %d8, %d7;\n"
                        "    sub.u64 %d8, %d8, %d7;\n"
                        // its frame, number and sum: the old ones, or those of none
                        "    mul.wide.u32 %d5, %r2, 32;\n"
                        "    add.u64 %d5, %d5, %d1;\n"
                        "    ld.global.u64 %d10, [%d5];\n"
                        "    setp.eq.u64 %p3, %d10, %d4;\n"
                        "    mov.u64 %d11, 0;\n"
                        "    mov.u64 %d12, 0;\n"
                        "    @%p3 ld.global.u64 %d11, [%d5+8];\n"
                        "    @%p3 ld.global.u64 %d12, [%d5+16];\n"
                        "    add.u64 %d11, %d11, 1;\n"
                        "    add.u64 %d12, %d12, %d8;\n"
                        "    st.global.u64 [%d5], %d4;\n"
                        "    st.global.u64 [%d5+8], %d11;\n"
                        "    st.global.u64 [%d5+16], %d12;\n"
                        "counted:\n"
                        "    add.u32 %r2, %r2, %r3;\n"
                        "    bra next_place;\n"
                        "done:\n"
                        "    ret;\n"
                        "}\n" },
    [GPU_OWN_WAIT] = { "loading the kernel that stands in for a disabled one", "braid_wait",
                       ".version 7.8\n"
                       ".target sm_90\n"
                       ".address_size 64\n"
                       ".visible .entry braid_wait()\n"
                       "{\n"
                       "    griddepcontrol.wait;\n"
                       "    ret;\n"
                       "}\n" },
    [GPU_OWN_LOOP_BEGIN] = { "loading the kernel that begins a loop", "braid_loop_begin",
                             LOOP_HEAD
                             ".visible .entry braid_loop_begin(.param .u64 counters, .param .u64 "
                             "iterations,\n"
                             "    .param .u64 condition, .param .u64 word, .param .u32 num,\n"
                             "    .param .u64 cancelled)\n"
                             "{\n"
                             "    .reg .pred %p<2>;\n"
                             "    .reg .b32 %r<3>;\n"
                             "    .reg .b64 %d<5>;\n" LOOP_CLEAR LOOP_CANCEL("%r1")
                                 LOOP_SET("%d2", "%r1") LOOP_TAIL },
    [GPU_OWN_LOOP_NEXT] = { "loading the kernel that ends an iteration", "braid_loop_next",
                            LOOP_HEAD LOOP_NEXT("", "") },
    [GPU_OWN_LOOP_NEXT_EARLY] = { "loading the kernel that ends an iteration", "braid_loop_next",
                                  LOOP_HEAD_OF("7.8", "sm_90")
                                      LOOP_NEXT("    griddepcontrol.wait;\n", "") },
    [GPU_OWN_LOOP_CANCEL] = { "loading the kernel that ends an iteration", "braid_loop_next",
                              LOOP_HEAD LOOP_NEXT("", LOOP_CANCEL("%r0")) },
    [GPU_OWN_LOOP_CANCEL_EARLY] = { "loading the kernel that ends an iteration", "braid_loop_next",
                                    LOOP_HEAD_OF("7.8", "sm_90") LOOP_NEXT(
                                        "    griddepcontrol.wait;\n", LOOP_CANCEL("%r0")) },
    [GPU_OWN_BRANCH] = { "loading the kernel that chooses an arm", "braid_branch",
                         LOOP_HEAD
                         ".visible .entry braid_branch(.param .u64 counters, .param .u64 "
                         "iterations,\n"
                         "    .param .u64 condition, .param .u64 word, .param .u32 num,\n"
                         "    .param .u64 otherwise)\n"
                         "{\n"
                         "    .reg .pred %p<4>;\n"
                         "    .reg .b32 %r<3>;\n"
                         "    .reg .b64 %d<8>;\n" LOOP_CLEAR "    setp.eq.u32 %p2, %r1, 0;\n"
                         "    @%p2 bra decided;\n"
                         "    ld.param.u64 %d5, [counters];\n"
                         "    ld.param.u64 %d6, [iterations];\n"
                         "    ld.global.u64 %d7, [%d5+8];\n"
                         "    add.u64 %d7, %d7, 1;\n"
                         "    st.global.u64 [%d5+8], %d7;\n"
                         "    st.global.u64 [%d6], %d7;\n"
                         "decided:\n" LOOP_SET("%d2",
                                               "%r1") "    ld.param.u64 %d5, [otherwise];\n"
                                                      "    setp.eq.u64 %p3, %d5, 0;\n"
                                                      "    @%p3 bra done;\n"
                                                      "    selp.u32 %r2, 1, 0, %p2;\n" LOOP_SET(
                                                          "%d5", "%r2") "done:\n" LOOP_TAIL },
};

static braid_status load(struct gpu_backend *gpu, enum gpu_graph_kernel_index index)
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

braid_status braid_gpu_find_graph_kernel(struct gpu_backend *gpu, enum gpu_graph_kernel_index index,
                                         gpu_function *out_function)
{
    braid_status status = BRAID_OK;
    *out_function = NULL;
    pthread_mutex_lock(&gpu->load_lock);
    if (!gpu->own[index].tried && gpu->vendor->index == GPU_CUDA)
        status = load(gpu, index);
    *out_function = gpu->own[index].function;
    pthread_mutex_unlock(&gpu->load_lock);
    return status;
}
