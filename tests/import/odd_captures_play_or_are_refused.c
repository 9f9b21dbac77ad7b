// SPDX-License-Identifier: Apache-2.0
// Graphs that few programs make are imported as the driver plays them, or are refused by a node's
// name.
#include <string.h>

#include <braid/braid.h>

#include "cuda_abi.h"
#include "support/check.h"

// The first chooses one of two pointers.
static const char text[] =
    ".version 7.8\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry choose(.param .align 8 .b8 both[16], .param .u64 which)\n"
    "{\n"
    ".reg .u32 %v;\n"
    ".reg .u64 %a, %b;\n"
    "ld.param.u64 %b, [which];\n"
    "mov.b64 %a, both;\n"
    "add.u64 %a, %a, %b;\n"
    "ld.param.u64 %a, [%a];\n"
    "mov.u32 %v, 7;\n"
    "st.global.u32 [%a], %v;\n"
    "ret;\n"
    "}\n"
    ".visible .entry maps(.param .align 64 .b8 all[192])\n"
    "{\n"
    ".reg .b64 %a;\n"
    "ld.param.u64 %a, [all];\n"
    "st.global.u32 [%a], 1;\n"
    "ret;\n"
    "}\n"
    ".visible .entry numbers(.param .align 8 .b8 all[200])\n"
    "{\n"
    ".reg .b64 %a;\n"
    "ld.param.u64 %a, [all];\n"
    "st.global.u32 [%a], 1;\n"
    "ret;\n"
    "}\n";

enum { BYTES = 256 };

struct world {
    braid_device *device;
    braid_stream *stream;
    CUcontext context;
    CUmodule module;
    CUstream captured;
    CUdeviceptr one, other;
    CUgraph graph;
};

static void must(CUresult result)
{
    assert_int_equal(result, CUDA_SUCCESS);
}

static int open_world(void **state)
{
    static struct world world;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &world.device));
    check_ok(braid_stream_create(world.device, NULL, &world.stream));
    must(cuDevicePrimaryCtxRetain(&world.context, 0));
    must(cuCtxSetCurrent(world.context));
    must(cuModuleLoadData(&world.module, text));
    must(cuStreamCreate(&world.captured, CU_STREAM_NON_BLOCKING));
    must(cuMemAlloc_v2(&world.one, BYTES));
    must(cuMemAlloc_v2(&world.other, BYTES));
    must(cuMemsetD8_v2(world.one, 1, BYTES));
    must(cuMemsetD8_v2(world.other, 2, BYTES));
    must(cuGraphCreate(&world.graph, 0));
    *state = &world;
    return 0;
}

static int close_world(void **state)
{
    struct world *world = *state;
    must(cuGraphDestroy(world->graph));
    must(cuStreamDestroy_v2(world->captured));
    must(cuModuleUnload(world->module));
    must(cuMemFree_v2(world->one));
    must(cuMemFree_v2(world->other));
    braid_stream_destroy(world->stream);
    check_ok(braid_device_close(world->device));
    must(cuDevicePrimaryCtxRelease_v2(0));
    return 0;
}

static void begin_capture(struct world *world)
{
    must(cuGraphDestroy(world->graph));
    must(cuStreamBeginCapture_v2(world->captured, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static void launch(const struct world *world, const char *name, void **args)
{
    CUfunction function;
    must(cuModuleGetFunction(&function, world->module, name));
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, world->captured, args, NULL));
}

static void play_with(const struct world *world, const braid_import_options *options,
                      uint32_t num_unproven)
{
    braid_import *import;
    braid_exec *exec;
    braid_import_info info;
    check_ok(braid_import_create(world->device, world->graph, options, &import));
    braid_import_get_info(import, &info);
    assert_int_equal(info.num_unproven, num_unproven);
    check_ok(braid_exec_create(world->device, braid_import_get_graph(import), NULL, &exec));
    check_ok(braid_exec_launch(exec, world->stream));
    check_ok(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    braid_import_destroy(import);
}

static void play(const struct world *world)
{
    play_with(world, NULL, 0);
}

static void a_copy_of_no_bytes_passes_orders_on(void **state)
{
    const struct world *world = *state;
    CUgraphNode copy, first, last;
    unsigned char found = 0;
    CUDA_MEMCPY3D none = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = world->one,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = world->other,
                           .Height = 1,
                           .Depth = 1 };
    CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = world->one, .elementSize = 1, .width = BYTES, .height = 1, .value = 3
    };
    must(cuGraphAddMemsetNode(&first, world->graph, NULL, 0, &fill, world->context));
    if (cuGraphAddMemcpyNode(&copy, world->graph, &first, 1, &none, world->context) !=
        CUDA_SUCCESS) {
        print_message("skipped: the driver takes no copy of no bytes\n");
        skip();
    }
    fill.value = 4;
    must(cuGraphAddMemsetNode(&last, world->graph, &copy, 1, &fill, world->context));
    for (int i = 0; i < 20; i++) {
        play(world);
        must(cuMemcpyDtoH_v2(&found, world->one + BYTES - 1, 1));
        assert_int_equal(found, 4);
    }
    must(cuMemcpyDtoH_v2(&found, world->other, 1));
    assert_int_equal(found, 2);
}

static void a_free_of_another_graphs_memory_is_refused(void **state)
{
    const struct world *world = *state;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
        .bytesize = BYTES,
    };
    braid_import *import = NULL;
    CUgraph allocating;
    CUgraphNode node;
    must(cuGraphCreate(&allocating, 0));
    must(cuGraphAddMemAllocNode(&node, allocating, NULL, 0, &params));
    must(cuGraphAddMemFreeNode(&node, world->graph, NULL, 0, params.dptr));
    assert_int_equal(braid_import_create(world->device, world->graph, NULL, &import),
                     BRAID_UNSUPPORTED);
    assert_non_null(strstr(braid_error_get_message(), "node 0 of the captured graph, a free"));
    must(cuGraphDestroy(allocating));
}

// Programs leave old pointers in parts of an argument that a launch does not use.
static void a_pointer_that_is_not_chosen_may_be_old(void **state)
{
    struct world *world = *state;
    static const char *const texts[] = { text };
    const braid_import_options options = { .texts = texts, .num_texts = 1 };
    CUdeviceptr both[2] = { 0, world->one };
    uint64_t which = 8;
    uint32_t found = 0;
    begin_capture(world);
    must(cuMemAllocAsync(&both[0], BYTES, world->captured));
    must(cuMemFreeAsync(both[0], world->captured));
    launch(world, "choose", (void *[]){ both, &which });
    must(cuStreamEndCapture(world->captured, &world->graph));
    play_with(world, &options, 0);
    must(cuMemcpyDtoH_v2(&found, world->one, sizeof(found)));
    assert_int_equal(found, 7);
}

// Braid cannot find addresses of the allocation there.
static void a_struct_that_may_hold_tensor_maps_is_refused(void **state)
{
    struct world *world = *state;
    static const char *const names[] = { "numbers", "maps" };
    unsigned char all[200] = { 0 };
    CUdeviceptr allocation;
    for (int i = 0; i < 2; i++) {
        braid_import *import = NULL;
        begin_capture(world);
        must(cuMemAllocAsync(&allocation, BYTES, world->captured));
        launch(world, names[i], (void *[]){ all });
        must(cuMemFreeAsync(allocation, world->captured));
        must(cuStreamEndCapture(world->captured, &world->graph));
        assert_int_equal(braid_import_create(world->device, world->graph, NULL, &import),
                         i ? BRAID_UNSUPPORTED : BRAID_OK);
        braid_import_destroy(import);
    }
    assert_non_null(strstr(braid_error_get_message(), "in a tensor map"));
}

// Kernels of NCCL have a domain of their own, by which others' fences do not wait for them.
static void a_kernel_of_another_sync_domain_is_imported(void **state)
{
    struct world *world = *state;
    CUdeviceptr both[] = { world->one, world->other };
    uint64_t which = 8;
    CUlaunchAttribute domain = { .id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN };
    domain.value.memSyncDomain = 1;
    const CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, world->captured, &domain, 1 };
    CUfunction function;
    uint32_t found = 0;
    must(cuMemsetD32_v2(world->other, 0, 1));
    must(cuModuleGetFunction(&function, world->module, "choose"));
    begin_capture(world);
    must(cuLaunchKernelEx(&config, function, (void *[]){ both, &which }, NULL));
    must(cuStreamEndCapture(world->captured, &world->graph));
    play_with(world, &(braid_import_options){ .texts = (const char *[]){ text }, .num_texts = 1 },
              0);
    must(cuMemcpyDtoH_v2(&found, world->other, sizeof(found)));
    assert_int_equal(found, 7);
}

// The buffer of the launch ends before the second parameter, which is 0 in the import.
static void a_short_buffer_of_arguments_is_read_to_its_end(void **state)
{
    struct world *world = *state;
    CUfunction choose;
    CUdeviceptr both[] = { world->one, world->other };
    size_t bytes = sizeof(both);
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, both, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END };
    uint32_t found = 0;
    begin_capture(world);
    must(cuModuleGetFunction(&choose, world->module, "choose"));
    must(cuLaunchKernel(choose, 1, 1, 1, 1, 1, 1, 0, world->captured, NULL, extra));
    must(cuStreamEndCapture(world->captured, &world->graph));
    play_with(world, NULL, 1);
    must(cuMemcpyDtoH_v2(&found, world->one, sizeof(found)));
    assert_int_equal(found, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kernel_of_another_sync_domain_is_imported, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(a_copy_of_no_bytes_passes_orders_on, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(a_free_of_another_graphs_memory_is_refused, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(a_struct_that_may_hold_tensor_maps_is_refused, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(a_short_buffer_of_arguments_is_read_to_its_end, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(a_pointer_that_is_not_chosen_may_be_old, open_world,
                                        close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
