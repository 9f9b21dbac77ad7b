// SPDX-License-Identifier: Apache-2.0
// A queue call that does what a capture forbids: BRAID_MODE_AUTO takes streams, whether the call
// notices the driver's error itself, as every check of a library's status does, or not.
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

int cuMemAlloc_v2(void **memory, size_t bytes);
int cuMemFree_v2(void *memory);

static bool notices;

static braid_status wait_for_the_stream(braid_device *device, braid_stream *stream, void *user)
{
    (void)user;
    braid_status status = braid_stream_synchronize(device, stream);
    return notices ? status : BRAID_OK;
}

static braid_status allocate_scratch(braid_device *device, braid_stream *stream, void *user)
{
    void *scratch = NULL;
    int result = cuMemAlloc_v2(&scratch, 16);
    (void)device, (void)stream, (void)user;
    if (result == 0)
        result = cuMemFree_v2(scratch);
    return result && notices ? BRAID_DEVICE_ERROR : BRAID_OK;
}

static braid_status fail_always(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream, (void)user;
    return BRAID_DEVICE_ERROR;
}

static braid_status create(braid_device *device, braid_queue_function *call, braid_exec_mode mode,
                           braid_exec **out_exec)
{
    braid_graph *graph = NULL;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_queue_call(
        graph, &(braid_queue_call){ .node.name = "gemm", .call = call }, NULL));
    braid_status status =
        braid_exec_create(device, graph, &(braid_exec_options){ .mode = mode }, out_exec);
    braid_graph_destroy(graph);
    return status;
}

static void check_call(braid_queue_function *call)
{
    braid_device *device = NULL;
    braid_exec *exec = NULL;
    braid_exec_info info;
    reset_standin();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    for (int i = 0; i < 2; i++) {
        notices = i == 0;
        check_fails(create(device, call, BRAID_MODE_GRAPH, &exec), BRAID_UNSUPPORTED, "gemm");
        assert_non_null(strstr(braid_error_message(), "cannot be captured"));
        if (notices)
            assert_non_null(strstr(braid_error_message(), "queue call returned"));
        check_ok(create(device, call, BRAID_MODE_AUTO, &exec));
        braid_exec_get_info(exec, &info);
        assert_int_equal(info.mode, BRAID_MODE_STREAMS);
        assert_non_null(strstr(info.reason, "gemm"));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        braid_exec_destroy(exec);
    }
    braid_device_close(device);
    check_nothing_is_left();
}

static void a_call_that_waits(void **state)
{
    (void)state;
    check_call(wait_for_the_stream);
}

static void a_call_that_allocates(void **state)
{
    (void)state;
    check_call(allocate_scratch);
}

// What has nothing to do with the capture would fail on streams too.
static void a_call_that_fails_by_itself_fails_the_exec(void **state)
{
    (void)state;
    braid_device *device = NULL;
    braid_exec *exec = NULL;
    reset_standin();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    check_fails(create(device, fail_always, BRAID_MODE_AUTO, &exec), BRAID_DEVICE_ERROR, "gemm");
    braid_device_close(device);
    check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_waits),
        cmocka_unit_test(a_call_that_allocates),
        cmocka_unit_test(a_call_that_fails_by_itself_fails_the_exec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
