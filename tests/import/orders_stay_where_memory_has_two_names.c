// SPDX-License-Identifier: Apache-2.0
// Nodes that reach the same memory in different ways keep their order: by a module's variable and
// by its address, by an address of the host and by a pointer, and by the end of a buffer.
#include <string.h>

#include <braid/braid.h>

#include "cuda_abi.h"
#include "standin_control.h"
#include "support/check.h"

static const char text[] = ".version 7.8\n"
                           ".target sm_90\n"
                           ".address_size 64\n"
                           ".visible .global .align 4 .u32 counter = 5;\n"
                           ".visible .const .align 4 .u32 factor = 3;\n"
                           ".visible .entry take_counter(.param .u64 to)\n"
                           "{\n"
                           ".reg .u32 %v;\n"
                           ".reg .u64 %a;\n"
                           "ld.param.u64 %a, [to];\n"
                           "ld.global.u32 %v, [counter];\n"
                           "st.global.u32 [%a], %v;\n"
                           "ret;\n"
                           "}\n"
                           ".visible .entry take_factor(.param .u64 to)\n"
                           "{\n"
                           ".reg .u32 %v;\n"
                           ".reg .u64 %a;\n"
                           "ld.param.u64 %a, [to];\n"
                           "ld.const.u32 %v, [factor];\n"
                           "st.global.u32 [%a], %v;\n"
                           "ret;\n"
                           "}\n"
                           ".visible .entry store(.param .u64 to)\n"
                           "{\n"
                           ".reg .u32 %v;\n"
                           ".reg .u64 %a;\n"
                           "ld.param.u64 %a, [to];\n"
                           "mov.u32 %v, 7;\n"
                           "st.global.u32 [%a], %v;\n"
                           "ret;\n"
                           "}\n"
                           ".visible .entry store_before(.param .u64 end)\n"
                           "{\n"
                           ".reg .u32 %v;\n"
                           ".reg .u64 %a;\n"
                           "ld.param.u64 %a, [end];\n"
                           "mov.u32 %v, 7;\n"
                           "st.global.u32 [%a+-4], %v;\n"
                           "ret;\n"
                           "}\n"
                           ".visible .entry store_packed(.param .align 4 .b8 all[12])\n"
                           "{\n"
                           ".reg .u32 %v, %l, %h;\n"
                           ".reg .u64 %a;\n"
                           "ld.param.u32 %l, [all+4];\n"
                           "ld.param.u32 %h, [all+8];\n"
                           "mov.b64 %a, {%l, %h};\n"
                           "mov.u32 %v, 7;\n"
                           "st.global.u32 [%a], %v;\n"
                           "ret;\n"
                           "}\n"
                           ".visible .entry store_far(.param .u64 base, .param .u64 by)\n"
                           "{\n"
                           ".reg .u32 %v;\n"
                           ".reg .u64 %a, %b;\n"
                           "ld.param.u64 %a, [base];\n"
                           "ld.param.u64 %b, [by];\n"
                           "add.u64 %a, %a, %b;\n"
                           "mov.u32 %v, 7;\n"
                           "st.global.u32 [%a+-1099511627776], %v;\n"
                           "ret;\n"
                           "}\n";

enum { BYTES = 4096 };

struct world {
    braid_device *device;
    CUmodule module;
    CUstream stream;
    CUdeviceptr one, other;
};

static void must(CUresult result)
{
    assert_int_equal(result, CUDA_SUCCESS);
}

static int open_world(void **state)
{
    static struct world world;
    CUcontext context;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &world.device));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&world.module, text));
    must(cuStreamCreate(&world.stream, CU_STREAM_NON_BLOCKING));
    must(cuMemAlloc_v2(&world.one, BYTES));
    must(cuMemAlloc_v2(&world.other, BYTES));
    *state = &world;
    return 0;
}

static int close_world(void **state)
{
    struct world *world = *state;
    must(cuMemFree_v2(world->one));
    must(cuMemFree_v2(world->other));
    must(cuStreamDestroy_v2(world->stream));
    must(cuModuleUnload(world->module));
    check_ok(braid_device_close(world->device));
    must(cuDevicePrimaryCtxRelease_v2(0));
    return 0;
}

static void begin(const struct world *world)
{
    must(cuStreamBeginCapture_v2(world->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static void launch_with(const struct world *world, const char *name, void *argument)
{
    CUfunction function;
    uint64_t number = 64;
    void *args[] = { argument, &number }; // few kernels have the second
    must(cuModuleGetFunction(&function, world->module, name));
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, world->stream, args, NULL));
}

static void launch(const struct world *world, const char *name, CUdeviceptr argument)
{
    launch_with(world, name, &argument);
}

// Ends the capture, and imports it.
static braid_import_info import(const struct world *world, braid_import_options options)
{
    static const char *const texts[] = { text };
    braid_import *import;
    braid_import_info info;
    CUgraph graph;
    options.texts = texts;
    options.num_texts = 1;
    must(cuStreamEndCapture(world->stream, &graph));
    check_ok(braid_import_create(world->device, graph, &options, &import));
    braid_import_get_info(import, &info);
    braid_import_destroy(import);
    must(cuGraphDestroy(graph));
    return info;
}

// Each node is proven.
static void check_kept(const struct world *world, braid_import_options options, uint64_t num)
{
    const braid_import_info info = import(world, options);
    assert_int_equal(info.num_kept, num);
    assert_int_equal(info.num_unproven, 0);
}

static CUdeviceptr address_of(const struct world *world, const char *variable)
{
    CUdeviceptr address;
    must(cuModuleGetGlobal_v2(&address, NULL, world->module, variable));
    return address;
}

static void a_kernel_follows_a_fill_of_its_variable(void **state)
{
    const struct world *world = *state;
    begin(world);
    must(cuMemsetD32Async(address_of(world, "counter"), 9, 1, world->stream));
    launch(world, "take_counter", world->one);
    check_kept(world, (braid_import_options){ 0 }, 1);
}

static void a_kernel_follows_a_copy_to_its_constants(void **state)
{
    const struct world *world = *state;
    begin(world);
    must(cuMemcpyDtoDAsync_v2(address_of(world, "factor"), world->other, 4, world->stream));
    launch(world, "take_factor", world->one);
    check_kept(world, (braid_import_options){ 0 }, 1);
}

static void a_pointer_to_a_variable_is_the_variable(void **state)
{
    const struct world *world = *state;
    const braid_import_buffer given = { .address = (void *)(uintptr_t)address_of(world, "counter"),
                                        .bytes = 4 };
    begin(world);
    launch(world, "store", address_of(world, "counter"));
    launch(world, "take_counter", world->one);
    check_kept(world, (braid_import_options){ 0 }, 1);
    begin(world);
    launch(world, "store", address_of(world, "counter"));
    launch(world, "take_counter", world->one);
    check_kept(world, (braid_import_options){ .buffers = &given, .num_buffers = 1 }, 1);
}

static void other_memory_is_no_variable(void **state)
{
    const struct world *world = *state;
    begin(world);
    launch(world, "store", world->other);
    launch(world, "take_counter", world->one);
    check_kept(world, (braid_import_options){ 0 }, 0);
}

static void pinned_memory_is_one_for_copies_and_kernels(void **state)
{
    const struct world *world = *state;
    void *pinned;
    must(cuMemAllocHost_v2(&pinned, BYTES));
    const braid_import_buffer given = { .address = pinned, .bytes = BYTES };
    for (int i = 0; i < 2; i++) {
        begin(world);
        launch(world, "store", (uintptr_t)pinned);
        must(cuMemcpyHtoDAsync_v2(world->one, pinned, BYTES, world->stream));
        check_kept(world,
                   (braid_import_options){
                       .is_unwatched = !i, .buffers = &given, .num_buffers = (size_t)i },
                   1);
    }
    must(cuMemFreeHost(pinned));
}

// The copy begins before the buffer.
static void a_copy_of_pageable_memory_meets_given_buffers(void **state)
{
    static unsigned char pageable[2 * BYTES];
    const struct world *world = *state;
    const braid_import_buffer given = { .address = pageable + BYTES, .bytes = BYTES };
    begin(world);
    launch(world, "store", (uintptr_t)(pageable + BYTES));
    must(cuMemcpyHtoDAsync_v2(world->one, pageable + BYTES - 16, 64, world->stream));
    const braid_import_options options = { .is_unwatched = true,
                                           .buffers = &given,
                                           .num_buffers = 1 };
    assert_int_equal(import(world, options).num_kept, 1);
}

// An address where another buffer begins is that one's.
static void the_end_of_a_buffer_belongs_to_it(void **state)
{
    const struct world *world = *state;
    const CUdeviceptr own = world->one + BYTES == world->other ? world->other : world->one;
    const braid_import_buffer given = { .address = (void *)(uintptr_t)own, .bytes = 64 };
    for (int i = 0; i < 2; i++) {
        begin(world);
        launch(world, "store_before", own + (i ? 64 : BYTES));
        launch(world, "store", own);
        check_kept(world, (braid_import_options){ .buffers = &given, .num_buffers = (size_t)i }, 1);
    }
}

static void who_watches_a_part_sees_all_around_it(void **state)
{
    const struct world *world = *state;
    const braid_import_buffer part = { .address = (void *)(uintptr_t)(world->one + 64),
                                       .bytes = 64,
                                       .is_watched = true };
    begin(world);
    launch(world, "store", world->one);
    launch(world, "store", world->other);
    const braid_import_info info =
        import(world, (braid_import_options){ .buffers = &part, .num_buffers = 1 });
    assert_int_equal(info.num_kept, 1);
    assert_int_equal(info.num_unproven, 1);
}

static void pieces_that_are_mapped_are_one_buffer(void **state)
{
    const struct world *world = *state;
    assert_true(standin_configure("BRAID_STANDIN_PIECES", "1024"));
    begin(world);
    launch(world, "store", world->one);
    launch(world, "store", world->one + 3000);
    check_kept(world, (braid_import_options){ 0 }, 1);
    assert_true(standin_configure("BRAID_STANDIN_PIECES", NULL));
}

static void memory_that_is_mapped_may_have_two_addresses(void **state)
{
    const struct world *world = *state;
    const braid_import_buffer parts[] = {
        { .address = (void *)(uintptr_t)world->one, .bytes = BYTES },   // NOLINT
        { .address = (void *)(uintptr_t)world->other, .bytes = BYTES }, // NOLINT
    };
    const braid_import_options options = { .buffers = parts, .num_buffers = 2 };
    for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
        assert_true(standin_configure("BRAID_STANDIN_PIECES", is_mapped ? "65536" : NULL));
        for (int is_given = 0; is_given < 2; is_given++) {
            begin(world);
            launch(world, "store", world->one);
            launch(world, "store", world->other);
            check_kept(world, is_given ? options : (braid_import_options){ 0 },
                       is_mapped && !is_given);
        }
    }
    assert_true(standin_configure("BRAID_STANDIN_PIECES", NULL));
}

// The base of an array whose first index is far from 0 lies in no memory.
static void a_pointer_from_afar_is_not_proven(void **state)
{
    const struct world *world = *state;
    begin(world);
    launch(world, "store_far", world->one + (UINT64_C(1) << 40));
    launch(world, "store", world->one);
    const braid_import_info info = import(world, (braid_import_options){ 0 });
    assert_int_equal(info.num_kept, 1);
    assert_int_equal(info.num_unproven, 1);
    begin(world);
    launch(world, "store_far", world->other + 64); // at its begin, another buffer may end
    launch(world, "store", world->one);
    check_kept(world, (braid_import_options){ 0 }, 0);
}

// It may be one of an allocation, whose place Braid chooses.
static void a_pointer_from_afar_and_an_allocation_are_refused(void **state)
{
    const struct world *world = *state;
    static const char *const texts[] = { text };
    braid_import *import;
    CUdeviceptr allocation;
    CUgraph graph;
    begin(world);
    must(cuMemAllocAsync(&allocation, BYTES, world->stream));
    launch(world, "store_far", allocation + (UINT64_C(1) << 40));
    must(cuMemFreeAsync(allocation, world->stream));
    must(cuStreamEndCapture(world->stream, &graph));
    assert_int_equal(braid_import_create(world->device, graph,
                                         &(braid_import_options){ .texts = texts, .num_texts = 1 },
                                         &import),
                     BRAID_UNSUPPORTED);
    assert_non_null(strstr(braid_error_get_message(), "node 1 of the captured graph, kernel "
                                                      "'store_far', may hide an address of node 0, "
                                                      "an allocation, in argument 0, which has"));
    must(cuGraphDestroy(graph));
}

// The last word of an allocation of 0 behind a kernel whose code nobody knows.
static uint32_t play_last_word(const struct world *world, const char *name, CUdeviceptr allocation,
                               void *argument)
{
    braid_import *import;
    braid_stream *stream;
    braid_exec *exec;
    CUgraph graph;
    uint32_t last = 0;
    must(cuMemsetD8Async(allocation, 0, BYTES, world->stream));
    launch_with(world, name, argument);
    must(cuMemcpyDtoDAsync_v2(world->one, allocation, BYTES, world->stream));
    must(cuMemFreeAsync(allocation, world->stream));
    must(cuStreamEndCapture(world->stream, &graph));
    check_ok(braid_import_create(world->device, graph, NULL, &import));
    check_ok(braid_stream_create(world->device, NULL, &stream));
    check_ok(braid_exec_create(world->device, braid_import_get_graph(import), NULL, &exec));
    check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_exec_wait(exec));
    must(cuMemcpyDtoH_v2(&last, world->one + BYTES - 4, 4));
    braid_exec_destroy(exec);
    braid_stream_destroy(stream);
    braid_import_destroy(import);
    must(cuGraphDestroy(graph));
    return last;
}

// The kernel has no other address of the allocation.
static void the_end_of_an_allocation_moves_with_it(void **state)
{
    const struct world *world = *state;
    CUdeviceptr allocation, end;
    begin(world);
    must(cuMemAllocAsync(&allocation, BYTES, world->stream));
    end = allocation + BYTES;
    assert_int_equal(play_last_word(world, "store_before", allocation, &end), 7);
}

static void an_address_in_a_packed_struct_moves_with_it(void **state)
{
    const struct world *world = *state;
    unsigned char packed[12] = { 0 };
    CUdeviceptr allocation, last;
    begin(world);
    must(cuMemAllocAsync(&allocation, BYTES, world->stream));
    last = allocation + BYTES - 4;
    memcpy(packed + 4, &last, sizeof(last));
    assert_int_equal(play_last_word(world, "store_packed", allocation, packed), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kernel_follows_a_fill_of_its_variable, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(a_kernel_follows_a_copy_to_its_constants, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(a_pointer_to_a_variable_is_the_variable, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(other_memory_is_no_variable, open_world, close_world),
        cmocka_unit_test_setup_teardown(pinned_memory_is_one_for_copies_and_kernels, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(the_end_of_a_buffer_belongs_to_it, open_world, close_world),
        cmocka_unit_test_setup_teardown(who_watches_a_part_sees_all_around_it, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(pieces_that_are_mapped_are_one_buffer, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(memory_that_is_mapped_may_have_two_addresses, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(a_pointer_from_afar_is_not_proven, open_world, close_world),
        cmocka_unit_test_setup_teardown(a_pointer_from_afar_and_an_allocation_are_refused,
                                        open_world, close_world),
        cmocka_unit_test_setup_teardown(the_end_of_an_allocation_moves_with_it, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(an_address_in_a_packed_struct_moves_with_it, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(a_copy_of_pageable_memory_meets_given_buffers, open_world,
                                        close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
