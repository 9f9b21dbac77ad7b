// SPDX-License-Identifier: Apache-2.0
// A kernel that computes the same in each frame may be left out: its results of the recorded frame
// stay. One whose result somebody else in the frame writes stays in the frame.
#include "record/program.h"

#include <braid/braid.h>
#include <braid/import.h>
#include <string.h>

enum { NUM_WORDS = 3, MARK = 99 };
enum { ALONE, TWO, OVERWRITTEN, CHANGED, IN_PLACE, IN_PARTS, NUM_FRAMES };

// put(to, from) writes a word that it reads elsewhere; sum(to, from) adds one.
static const char own_text[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry put(.param .u64 to, .param .u64 from)\n{\n"
    ".reg .b64 %d<2>;\n.reg .b32 %r;\nld.param.u64 %d0, [to];\nld.param.u64 %d1, [from];\n"
    "ld.global.u32 %r, [%d1];\nst.global.u32 [%d0], %r;\nret;\n}\n"
    ".visible .entry sum(.param .u64 to, .param .u64 from)\n{\n"
    ".reg .b64 %d<2>;\n.reg .b32 %r<3>;\nld.param.u64 %d0, [to];\nld.param.u64 %d1, [from];\n"
    "ld.global.u32 %r0, [%d0];\nld.global.u32 %r1, [%d1];\nadd.u32 %r2, %r0, %r1;\n"
    "st.global.u32 [%d0], %r2;\nret;\n}\n";

static CUmodule module;
static CUfunction put, sum;
static CUdeviceptr given, made, total; // NUM_WORDS words each
static braid_device *device;
static const braid_record_contents *record;

static void launch(CUfunction function, CUdeviceptr to, CUdeviceptr from)
{
    void *arguments[] = { &to, &from };
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
}

static void run_frame(int frame)
{
    if (frame == OVERWRITTEN)
        must(cuMemsetD32Async(made, 0, 1, NULL));
    if (frame == CHANGED)
        launch_add(NULL, given, 1);
    if (frame == IN_PLACE)
        launch(sum, made, given);
    else
        launch(put, made, given);
    if (frame == TWO)
        launch(put, made + 4, given + 4);
    if (frame == IN_PARTS)
        launch(put, made + 4, total);
    launch(sum, total, made);
}

static int run_program(void **state)
{
    open_program(state);
    must(cuModuleLoadData(&module, own_text));
    must(cuModuleGetFunction(&put, module, "put"));
    must(cuModuleGetFunction(&sum, module, "sum"));
    must(cuMemAlloc_v2(&given, 4 * NUM_WORDS));
    must(cuMemAlloc_v2(&made, 4 * NUM_WORDS));
    must(cuMemAlloc_v2(&total, 4 * NUM_WORDS));
    must(cuMemcpyHtoD_v2(given, (const uint32_t[NUM_WORDS]){ 5, 6, 7 }, 4 * NUM_WORDS));
    for (int frame = 0; frame < NUM_FRAMES; frame++) {
        assert_true(braid_record_frame_mark());
        run_frame(frame);
        must(cuCtxSynchronize());
    }
    assert_true(braid_record_frame_mark());
    record = open_own_record();
    assert_int_equal(record->num_frames, NUM_FRAMES);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    return 0;
}

static int end_program(void **state)
{
    check_ok(braid_device_close(device));
    close_own_record();
    must(cuMemFree_v2(given));
    must(cuMemFree_v2(made));
    must(cuMemFree_v2(total));
    must(cuModuleUnload(module));
    return close_program(state);
}

// Plays a frame once, behind marks in what it makes. *out_total is the word that it adds to.
static braid_import_info play(int frame, bool leaves, uint32_t *out_total)
{
    const uint32_t marks[NUM_WORDS] = { MARK, MARK, MARK };
    braid_import *import;
    braid_import_info info;
    braid_exec *exec;
    // Kernels touch some bytes of a buffer that is given.
    const braid_import_buffer buffer = { .address = (void *)(uintptr_t)made,
                                         .bytes = 4 * NUM_WORDS };
    const braid_import_options options = { .device = device,
                                           .is_unwatched = true,
                                           .buffers = &buffer,
                                           .num_buffers = 1,
                                           .leaves_constants = leaves };
    check_ok(braid_import_create_recorded(record, (uint32_t)frame, &options, &import));
    braid_import_get_info(import, &info);
    check_ok(braid_exec_create(device, braid_import_get_graph(import), NULL, &exec));
    must(cuMemcpyHtoD_v2(given, (const uint32_t[NUM_WORDS]){ 5, 6, 7 }, 4 * NUM_WORDS));
    must(cuMemcpyHtoD_v2(made, marks, sizeof(marks)));
    must(cuMemsetD32_v2(total, 0, NUM_WORDS));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    must(cuMemcpyDtoH_v2(out_total, total, sizeof(*out_total)));
    braid_exec_destroy(exec);
    braid_import_destroy(import);
    return info;
}

static void results_that_stay_are_not_made_again(void **state)
{
    static const struct {
        uint32_t num_constants, num_left_out, total, total_left;
    } expected[NUM_FRAMES] = {
        [ALONE] = { 1, 1, 5, MARK },
        [TWO] = { 2, 2, 5, MARK },
        [OVERWRITTEN] = { 1, 0, 5, 5 },            // a fill writes it, too
        [CHANGED] = { 0, 0, 6, 6 },                // the frame changes what it reads
        [IN_PLACE] = { 0, 0, MARK + 5, MARK + 5 }, // it reads what it writes
        [IN_PARTS] = { 1, 1, 5, MARK },            // a kernel that changes writes other bytes
    };
    (void)state;
    for (int frame = 0; frame < NUM_FRAMES; frame++) {
        uint32_t found;
        braid_import_info info = play(frame, false, &found);
        assert_int_equal(info.num_constants, expected[frame].num_constants);
        assert_int_equal(info.num_left_out, 0);
        assert_int_equal(found, expected[frame].total);
        info = play(frame, true, &found);
        assert_int_equal(info.num_constants, expected[frame].num_constants);
        assert_int_equal(info.num_left_out, expected[frame].num_left_out);
        assert_int_equal(found, expected[frame].total_left);
    }
}

static void other_processes_have_no_results(void **state)
{
    braid_import *import;
    (void)state;
    check_fails(
        braid_import_create_recorded(record, ALONE,
                                     &(braid_import_options){ .device = device,
                                                              .makes_memory = true,
                                                              .leaves_constants = true },
                                     &import),
        BRAID_INVALID_ARGUMENT,
        "braid_import_create_recorded: constants are left out in the recorded process alone, "
        "whose memory has their results");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(results_that_stay_are_not_made_again),
                                        cmocka_unit_test(other_processes_have_no_results) };
    return cmocka_run_group_tests(tests, run_program, end_program);
}
