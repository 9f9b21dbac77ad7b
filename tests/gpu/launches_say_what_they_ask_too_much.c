// SPDX-License-Identifier: Apache-2.0
// What a kernel asks of its launch reaches the driver, in both modes; what it asks too much is
// named with the limit, and the device goes on working. Arguments have the sizes of the kernel's
// parameters.
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "device/device.h"
#include "gpu/gpu_testing.h"
#include "support/check.h"

static const char image[] = ".version 7.0\n"
                            ".target sm_90\n"
                            ".address_size 64\n"
                            ".visible .entry asks()\n"
                            "{\n"
                            "    ret;\n"
                            "}\n"
                            ".visible .entry takes(.param .u64 count, .param .f32 scale)\n"
                            "{\n"
                            "    ret;\n"
                            "}\n";

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_asks, braid_standin_takes;

static int num_runs;

void braid_standin_asks(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                        void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
    num_runs++;
}

void braid_standin_takes(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                         void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
    num_runs++;
}

static const braid_kernel asks = { .name = "asks", .cuda = { .data = image } };
static const braid_kernel takes = { .name = "takes", .cuda = { .data = image } };

static braid_device *open_device(void)
{
    reset_standin();
    return own_device("cuda");
}

// The first failure of making and running the launch, in the mode.
static braid_status run(braid_device *device, braid_kernel_node launch, braid_exec_mode mode)
{
    braid_exec *exec = NULL;
    if (!launch.kernel)
        launch.kernel = &asks;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    braid_status status =
        braid_exec_create(device, graph, &(braid_exec_options){ .mode = mode }, &exec);
    if (!status)
        status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_wait(exec);
    braid_exec_destroy(exec);
    return status;
}

static void limits_are_named(void **state)
{
    (void)state;
    static const struct {
        braid_kernel_node launch;
        const char *text;
    } cases[] = {
        { { .block = { 2048, 1, 1 } }, "block 2048x1x1 exceeds 1024 threads" },
        { { .block = { 64, 64, 1 } }, "block 64x64x1 exceeds 1024 threads" },
        { { .block = { 1, 1, 128 } }, "block depth 128 exceeds 64" },
        { { .grid = { 1, 70000, 1 } }, "grid height 70000 exceeds 65535" },
        { { .grid = { 1, 1, 70000 } }, "grid depth 70000 exceeds 65535" },
        { { .shared_bytes = 1 << 20 }, "1048576 bytes of dynamic and 0 of static shared memory" },
    };
    braid_device *device = open_device();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        num_runs = 0;
        check_fails(run(device, cases[i].launch, BRAID_MODE_STREAMS), BRAID_DEVICE_ERROR,
                    cases[i].text);
        check_fails(run(device, cases[i].launch, BRAID_MODE_GRAPH), BRAID_DEVICE_ERROR, "asks");
        assert_int_equal(num_runs, 0);
        check_ok(run(device, (braid_kernel_node){ 0 }, BRAID_MODE_STREAMS));
        assert_int_equal(num_runs, 1);
    }
}

static void arguments_of_another_size_are_refused(void **state)
{
    const uint64_t count = 1;
    const float scale = 1;
    const double wide = 1;
    const int narrow = 1;
    const struct {
        braid_arg args[3];
        size_t num;
        const char *text;
    } cases[] = {
        { { BRAID_ARG(count), BRAID_ARG(wide) },
          2,
          "node 0 'given': argument 1 of kernel 'takes' has 4 bytes and is given 8" },
        { { BRAID_ARG(narrow), BRAID_ARG(scale) },
          2,
          "node 0 'given': argument 0 of kernel 'takes' has 8 bytes and is given 4" },
        { { BRAID_ARG(count) },
          1,
          "node 0 'given': kernel 'takes' takes 2 arguments and is given 1" },
        { { BRAID_ARG(count), BRAID_ARG(scale), BRAID_ARG(scale) },
          3,
          "node 0 'given': kernel 'takes' takes 2 arguments and is given 3" },
    };
    (void)state;
    braid_device *device = open_device();
    braid_kernel_node node = { .node.name = "given", .kernel = &takes };
    num_runs = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        node.args = cases[i].args;
        node.num_args = (uint32_t)cases[i].num;
        check_fails(run(device, node, BRAID_MODE_STREAMS), BRAID_INVALID_ARGUMENT, cases[i].text);
        check_fails(run(device, node, BRAID_MODE_GRAPH), BRAID_INVALID_ARGUMENT, cases[i].text);
    }
    assert_int_equal(num_runs, 0);
    node.args = (const braid_arg[]){ BRAID_ARG(count), BRAID_ARG(scale) };
    node.num_args = 2;
    check_ok(run(device, node, BRAID_MODE_STREAMS));
    assert_int_equal(num_runs, 1);
}

static void a_grid_is_a_multiple_of_its_cluster(void **state)
{
    (void)state;
    braid_device *device = open_device();
    const braid_kernel_node right = { .grid.x = 8, .cluster.x = 4 },
                            wrong = { .grid.x = 9, .cluster.x = 4 };
    num_runs = 0;
    check_ok(run(device, right, BRAID_MODE_STREAMS));
    check_ok(run(device, right, BRAID_MODE_GRAPH));
    assert_int_equal(num_runs, 2);
    check_fails(run(device, wrong, BRAID_MODE_STREAMS), BRAID_DEVICE_ERROR,
                "grid 9x1x1 is no multiple of cluster 4x1x1");
    check_fails(run(device, wrong, BRAID_MODE_GRAPH), BRAID_DEVICE_ERROR, "asks");
    assert_int_equal(num_runs, 2);
}

static void a_device_without_clusters_refuses_them_when_an_exec_is_made(void **state)
{
    (void)state;
    static const char reason[] = "node 0 'paired': it has a cluster, and cuda:0 has no clusters";
    const braid_kernel_node paired = {
        .node.name = "paired", .kernel = &asks, .grid.x = 2, .cluster.x = 2
    };
    braid_device *device = open_device();
    braid_graph *graph = own_graph();
    braid_exec *exec = NULL;
    gpu_from(device->backend)->attributes[GPU_CLUSTERS] = 0;
    check_ok(braid_graph_add_kernel(graph, &paired, NULL));
    for (int mode = BRAID_MODE_AUTO; mode <= BRAID_MODE_GRAPH; mode++)
        check_fails(braid_exec_create(device, graph,
                                      &(braid_exec_options){ .mode = (braid_exec_mode)mode },
                                      &exec),
                    BRAID_UNSUPPORTED, reason);
}

// Eight blocks of 256 threads fit on each of the stand-in's four multiprocessors.
static void a_cooperative_grid_has_room_or_the_largest_is_named(void **state)
{
    (void)state;
    static const char reason[] =
        "node 0 'all': it needs 33 blocks at once, and cuda:0 has room for "
        "a grid of 32";
    static const char parameter_reason[] = "node 0 'all': it needs 40 blocks at once";
    braid_kernel_node all = {
        .node.name = "all", .grid.x = 33, .block.x = 256, .cooperative = true, .kernel = &asks
    };
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH };
    braid_device *device = open_device();
    braid_graph *graph = own_graph();
    braid_parameter width;
    braid_node node;
    num_runs = 0;
    for (int mode = BRAID_MODE_AUTO; mode <= BRAID_MODE_GRAPH; mode++)
        check_fails(run(device, all, (braid_exec_mode)mode), BRAID_UNSUPPORTED, reason);
    assert_int_equal(num_runs, 0);
    all.grid.x = 32;
    check_ok(run(device, all, BRAID_MODE_STREAMS));
    check_ok(braid_graph_add_kernel(graph, &all, &node));
    check_ok(braid_graph_add_parameter(graph, "width", 4, &width));
    check_ok(braid_graph_use_parameter(
        graph, width, &(braid_parameter_use){ .node = node, .target = BRAID_TARGET_GRID_X }));
    braid_exec *exec = own_exec(device, graph, &options);
    check_fails(braid_exec_set(exec, node, BRAID_TARGET_GRID_X, 0, &(uint32_t){ 33 }),
                BRAID_UNSUPPORTED, reason);
    check_fails(braid_exec_set_parameter(exec, width, &(uint32_t){ 40 }), BRAID_UNSUPPORTED,
                parameter_reason);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(num_runs, 2);
}

static void a_device_without_cooperative_launches_refuses_them(void **state)
{
    (void)state;
    const braid_kernel_node all = { .node.name = "all", .cooperative = true };
    braid_device *device = open_device();
    gpu_from(device->backend)->attributes[GPU_COOPERATIVE] = 0;
    for (int mode = BRAID_MODE_AUTO; mode <= BRAID_MODE_GRAPH; mode++)
        check_fails(run(device, all, (braid_exec_mode)mode), BRAID_UNSUPPORTED,
                    "node 0 'all': it is cooperative, and cuda:0 has no such launches");
}

static void only_launches_that_ask_for_more_go_the_longer_way(void **state)
{
    (void)state;
    braid_device *device = open_device();
    long before = standin_calls("cuLaunchKernelEx");
    check_ok(run(device, (braid_kernel_node){ 0 }, BRAID_MODE_STREAMS));
    assert_int_equal(standin_calls("cuLaunchKernelEx"), before);
    check_ok(run(device, (braid_kernel_node){ .priority = -1 }, BRAID_MODE_STREAMS));
    check_ok(run(device, (braid_kernel_node){ .priority = -1000, .grid.x = 2, .cluster.x = 2 },
                 BRAID_MODE_STREAMS));
    check_ok(run(device, (braid_kernel_node){ .cooperative = true }, BRAID_MODE_STREAMS));
    assert_int_equal(standin_calls("cuLaunchKernelEx"), before + 3);
    before = standin_calls("cuGraphKernelNodeSetAttribute");
    check_ok(run(device, (braid_kernel_node){ 0 }, BRAID_MODE_GRAPH));
    assert_int_equal(standin_calls("cuGraphKernelNodeSetAttribute"), before);
    check_ok(run(device, (braid_kernel_node){ .priority = -1 }, BRAID_MODE_GRAPH));
    check_ok(run(device, (braid_kernel_node){ .grid.x = 2, .cluster.x = 2 }, BRAID_MODE_GRAPH));
    check_ok(run(device, (braid_kernel_node){ .cooperative = true }, BRAID_MODE_GRAPH));
    assert_int_equal(standin_calls("cuGraphKernelNodeSetAttribute"), before + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(limits_are_named),
        standin_test(arguments_of_another_size_are_refused),
        standin_test(a_grid_is_a_multiple_of_its_cluster),
        standin_test(a_device_without_clusters_refuses_them_when_an_exec_is_made),
        standin_test(a_cooperative_grid_has_room_or_the_largest_is_named),
        standin_test(a_device_without_cooperative_launches_refuses_them),
        standin_test(only_launches_that_ask_for_more_go_the_longer_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
