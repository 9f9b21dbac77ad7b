// SPDX-License-Identifier: Apache-2.0
// When the memory of a frame moves, the loop's condition moves with it. A launch that cannot tell
// the driver so fails, and the next one tells it again.
#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "device/device.h"
#include "gpu/gpu_testing.h"
#include "gpu/life_loop.h"
#include "plan/plan_islands.h"
#include "support/check.h"

// The calls are the outer body's kernel, two around that body, the inner loop, and a branch with a
// kernel in each arm. As a graph the inner loop is one kernel, an island; on streams, or without
// that add-on, it has two of its own.
enum { GRAPH_CALLS = 7, STREAMS_CALLS = 8 };

static void run(struct life_loop *loop)
{
    check_ok(life_run_loop(loop, NULL));
    assert_int_equal(loop->num, LIFE_ITERATIONS);
}

// Whether there was such a call.
static bool fail_nth(braid_exec_mode mode, int nth)
{
    static const char function[] = "cuGraphExecKernelNodeSetParams";
    struct life_loop loop = { .is_alone = true };
    reset_standin();
    braid_device *device = own_device("cuda");
    check_ok(life_create_loop(device, mode, &loop));
    run(&loop);
    check_ok(life_grow_loop(&loop));
    long before = standin_calls(function);
    fail_calls("%s:%d=999", function, nth);
    braid_status status = life_run_loop(&loop, NULL);
    fail_calls(NULL);
    bool failed = standin_calls(function) - before >= nth;
    assert_int_equal(status, failed ? BRAID_DEVICE_ERROR : BRAID_OK);
    if (failed)
        assert_non_null(strstr(braid_error_get_message(), function));
    run(&loop);
    life_finish_loop(&loop);
    finish_standin();
    return failed;
}

static void fail_each(braid_exec_mode mode, int num_calls)
{
    int num = 0;
    while (fail_nth(mode, num + 1))
        num++;
    assert_int_equal(num, num_calls);
}

static void as_a_graph(void **state)
{
    (void)state;
    fail_each(BRAID_MODE_GRAPH, braid_plan_islands ? GRAPH_CALLS : STREAMS_CALLS);
}

static void on_streams(void **state)
{
    (void)state;
    fail_each(BRAID_MODE_STREAMS, STREAMS_CALLS);
}

// Memory grows only where all nodes can take other addresses.
static void a_driver_without_the_call(void **state)
{
    (void)state;
    struct life_loop loop = { .is_alone = true };
    braid_device *device = own_device("cuda");
    check_ok(life_create_loop(device, BRAID_MODE_GRAPH, &loop));
    struct gpu_backend *gpu = gpu_from(device->backend);
    const struct gpu_api *api = gpu->api;
    struct gpu_api less = *api;
    less.executable_set_fill = NULL;
    gpu->api = &less;
    check_fails(life_grow_loop(&loop), BRAID_UNSUPPORTED, "the driver has no call for it");
    run(&loop);
    gpu->api = api;
    check_ok(life_grow_loop(&loop));
    run(&loop);
    life_finish_loop(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(as_a_graph),
        standin_test(on_streams),
        standin_test(a_driver_without_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
