// SPDX-License-Identifier: Apache-2.0
// Setters change the numbers of an imported graph, and not the memory by which its orders were
// found.
#include <string.h>

#include <braid/braid.h>

#include "cuda_abi.h"
#include "support/check.h"

static const char text[] =
    ".version 7.8\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry store(.param .align 8 .b8 both[16], .param .u32 value)\n"
    "{\n"
    ".reg .u32 %v;\n"
    ".reg .u64 %a;\n"
    "ld.param.u64 %a, [both+8];\n"
    "ld.param.u32 %v, [value];\n"
    "st.global.u32 [%a], %v;\n"
    "ret;\n"
    "}\n";

enum { BYTES = 256 };

struct both {
    uint64_t unused;
    CUdeviceptr to;
};

struct world {
    braid_device *device;
    braid_stream *stream;
    CUmodule module;
    CUstream captured;
    CUdeviceptr one, other, allocation;
    braid_import *import;
    braid_exec *exec;
};

static void must(CUresult result)
{
    assert_int_equal(result, CUDA_SUCCESS);
}

static void launch(const struct world *world, CUdeviceptr to)
{
    CUfunction function;
    struct both both = { 0, to };
    uint32_t value = 5;
    void *args[] = { &both, &value };
    must(cuModuleGetFunction(&function, world->module, "store"));
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, world->captured, args, NULL));
}

// The nodes: a kernel, one with an address of an allocation, a copy, and a fill.
static void import(struct world *world)
{
    static const char *const texts[] = { text };
    CUgraph graph;
    must(cuStreamBeginCapture_v2(world->captured, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuMemAllocAsync(&world->allocation, BYTES, world->captured));
    launch(world, world->one);
    launch(world, world->allocation);
    must(cuMemcpyDtoDAsync_v2(world->other, world->allocation, 4, world->captured));
    must(cuMemsetD32Async(world->one + 16, 6, 1, world->captured));
    must(cuMemFreeAsync(world->allocation, world->captured));
    must(cuStreamEndCapture(world->captured, &graph));
    check_ok(braid_import_create(world->device, graph,
                                 &(braid_import_options){ .texts = texts, .num_texts = 1 },
                                 &world->import));
    must(cuGraphDestroy(graph));
    check_ok(braid_exec_create(world->device, braid_import_get_graph(world->import), NULL,
                               &world->exec));
}

static int open_world(void **state)
{
    static struct world world;
    CUcontext context;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &world.device));
    check_ok(braid_stream_create(world.device, NULL, &world.stream));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&world.module, text));
    must(cuStreamCreate(&world.captured, CU_STREAM_NON_BLOCKING));
    must(cuMemAlloc_v2(&world.one, BYTES));
    must(cuMemAlloc_v2(&world.other, BYTES));
    import(&world);
    *state = &world;
    return 0;
}

static int close_world(void **state)
{
    struct world *world = *state;
    braid_exec_destroy(world->exec);
    braid_import_destroy(world->import);
    must(cuMemFree_v2(world->one));
    must(cuMemFree_v2(world->other));
    must(cuStreamDestroy_v2(world->captured));
    must(cuModuleUnload(world->module));
    braid_stream_destroy(world->stream);
    check_ok(braid_device_close(world->device));
    must(cuDevicePrimaryCtxRelease_v2(0));
    return 0;
}

static braid_node node_of(const struct world *world, size_t index)
{
    return braid_graph_get_node(braid_import_get_graph(world->import), index);
}

static void numbers_change(void **state)
{
    const struct world *world = *state;
    const struct both both = { 1, world->one };
    const uint32_t value = 8;
    uint32_t found[5], copied;
    const braid_arg args[] = { { &both, sizeof(both) }, { &value, sizeof(value) } };
    check_ok(braid_exec_set_args(world->exec, node_of(world, 0), args, 2));
    check_ok(braid_exec_set_arg(world->exec, node_of(world, 1), 1, args[1]));
    check_ok(braid_exec_set(world->exec, node_of(world, 3), BRAID_TARGET_VALUE, 0, &value));
    check_ok(braid_exec_launch(world->exec, world->stream));
    check_ok(braid_exec_wait(world->exec));
    must(cuMemcpyDtoH_v2(found, world->one, sizeof(found)));
    must(cuMemcpyDtoH_v2(&copied, world->other, sizeof(copied)));
    assert_int_equal(found[0], 8);
    assert_int_equal(found[4], 8);
    assert_int_equal(copied, 8);
}

static void addresses_stay(void **state)
{
    const struct world *world = *state;
    const struct both other = { 0, world->other }, none = { 0, 0 };
    const uint64_t bytes = 8;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(braid_exec_set_arg(world->exec, node_of(world, i), 0,
                                            (braid_arg){ &other, sizeof(other) }),
                         BRAID_INVALID_ARGUMENT);
        assert_non_null(strstr(braid_error_get_message(), "import again"));
    }
    assert_int_equal(
        braid_exec_set_arg(world->exec, node_of(world, 1), 0, (braid_arg){ &none, sizeof(none) }),
        BRAID_INVALID_ARGUMENT);
    assert_int_equal(
        braid_exec_set(world->exec, node_of(world, 2), BRAID_TARGET_TO, 0, &world->one),
        BRAID_INVALID_ARGUMENT);
    assert_int_equal(braid_exec_set(world->exec, node_of(world, 2), BRAID_TARGET_BYTES, 0, &bytes),
                     BRAID_INVALID_ARGUMENT);
    assert_int_equal(
        braid_exec_set(world->exec, node_of(world, 3), BRAID_TARGET_FILL, 0,
                       &(braid_fill_values){ .to = (void *)(uintptr_t)world->other, .value = 1 }),
        BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(braid_error_get_message(), "import again"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_change, open_world, close_world),
        cmocka_unit_test_setup_teardown(addresses_stay, open_world, close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
