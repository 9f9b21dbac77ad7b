// SPDX-License-Identifier: Apache-2.0
// A graph with a loop is refused by name where the driver has no graphs that loop, or does not take
// the kernels that stand around a body. On streams the host drives the loop then.
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "device/device.h"
#include "gpu/gpu_testing.h"
#include "support/check.h"

static braid_status create(braid_device *device, braid_exec_mode mode, braid_exec **out_exec)
{
    const braid_exec_options options = { .mode = mode };
    braid_graph *graph = own_graph();
    check_ok(
        braid_graph_begin_loop(graph, &(braid_loop){ .node.name = "again", .times = 2 }, NULL));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, NULL));
    check_ok(braid_graph_end(graph));
    braid_status status = braid_exec_create(device, graph, &options, out_exec);
    return status;
}

static braid_device *open_device(void)
{
    reset_standin();
    return own_device("cuda");
}

static void before_cuda_12_4(void **state)
{
    static const char why[] = "cuda:0: loop 0 'again' needs graphs with conditions";
    (void)state;
    for (int i = BRAID_MODE_STREAMS; i <= BRAID_MODE_GRAPH; i++) {
        braid_exec_mode mode = (braid_exec_mode)i;
        braid_device *device = open_device();
        struct gpu_backend *gpu = gpu_from(device->backend);
        braid_exec *exec;
        int version = gpu->version;
        gpu->version = 12030;
        if (mode == BRAID_MODE_GRAPH) {
            check_fails(create(device, mode, &exec), BRAID_UNSUPPORTED, why);
        } else {
            braid_exec_info info;
            check_ok(create(device, mode, &exec));
            braid_exec_get_info(exec, &info);
            assert_non_null(strstr(info.reason, why));
            braid_exec_destroy(exec);
        }
        gpu->version = version;
        check_ok(create(device, mode, &exec));
        braid_exec_destroy(exec);
        finish_standin();
    }
}

static void without_the_calls(void **state)
{
    (void)state;
    braid_device *device = open_device();
    struct gpu_backend *gpu = gpu_from(device->backend);
    const struct gpu_api *api = gpu->api;
    struct gpu_api less = *api;
    braid_exec *exec;
    less.graph_create_condition = NULL;
    gpu->api = &less;
    check_fails(create(device, BRAID_MODE_GRAPH, &exec), BRAID_UNSUPPORTED,
                "needs graphs with conditions");
    less = *api;
    less.graph_add_node = NULL;
    check_fails(create(device, BRAID_MODE_GRAPH, &exec), BRAID_UNSUPPORTED,
                "needs graphs with conditions");
    gpu->api = api;
}

static void without_the_kernels(void **state)
{
    (void)state;
    for (int nth = 1; nth <= 4; nth++) { // two start early, and others do without
        braid_device *device = open_device();
        braid_exec *exec;
        fail_calls("cuModuleLoadData:%d=%d", nth, GPU_UNSUPPORTED_TEXT_VERSION);
        if (nth == 2 || nth == 3) {
            check_ok(create(device, BRAID_MODE_GRAPH, &exec));
            braid_exec_destroy(exec);
        } else {
            check_fails(create(device, BRAID_MODE_GRAPH, &exec), BRAID_UNSUPPORTED,
                        "needs graphs with conditions");
        }
        fail_calls(NULL);
        finish_standin();
    }
}

// With a kernel, the loop would be an island.
static void check_unreadable(bool has_kernel)
{
    static uint32_t word;
    uint32_t *at = &word, c = 0;
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH };
    braid_device *device = open_device();
    braid_resource condition;
    braid_exec *exec;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_buffer(graph, "word", &word, sizeof(word), &condition));
    const braid_access writes = { condition, BRAID_WRITE };
    check_ok(braid_graph_begin_loop(
        graph, &(braid_loop){ .node.name = "again", .condition = condition, .most = 2 }, NULL));
    const braid_kernel_node launch = {
        .node = { .accesses = &writes, .num_accesses = 1 },
        .kernel = &sum_kernel,
        BRAID_ARGS(BRAID_ARG(at), BRAID_ARG(at), BRAID_ARG(at), BRAID_ARG(c)),
    };
    if (has_kernel)
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    else
        check_ok(braid_graph_add_empty(graph, &(braid_empty){ .node = launch.node }, NULL));
    check_ok(braid_graph_end(graph));
    check_fails(braid_exec_create(device, graph, &options, &exec), BRAID_UNSUPPORTED,
                "loop 0 'again': the device reads its condition");
    finish_standin();
}

static void a_condition_that_the_device_cannot_read(void **state)
{
    (void)state;
    check_unreadable(false);
    check_unreadable(true);
}

// As in a driver's graph that holds nothing but the loop.
static void values_that_a_body_cannot_take(void **state)
{
    (void)state;
    for (int i = BRAID_MODE_STREAMS; i <= BRAID_MODE_GRAPH; i++) {
        const braid_exec_options options = { .mode = (braid_exec_mode)i,
                                             .islands = BRAID_ISLANDS_NEVER };
        braid_device *device = open_device();
        braid_node fill;
        void *word = own_memory(device, BRAID_MEMORY_DEVICE, 4);
        braid_graph *graph = own_graph();
        check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 2 }, NULL));
        check_ok(braid_graph_add_fill(
            graph, &(braid_fill){ .to = word, .value_bytes = 4, .num_values = 1 }, &fill));
        check_ok(braid_graph_end(graph));
        braid_exec *exec = own_exec(device, graph, &options);
        check_fails(braid_exec_set(exec, fill, BRAID_TARGET_ENABLED, 0, &(bool){ false }),
                    BRAID_UNSUPPORTED, "cannot change in a graph of the driver");
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        finish_standin();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(before_cuda_12_4),
        standin_test(without_the_calls),
        standin_test(without_the_kernels),
        standin_test(a_condition_that_the_device_cannot_read),
        standin_test(values_that_a_body_cannot_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
