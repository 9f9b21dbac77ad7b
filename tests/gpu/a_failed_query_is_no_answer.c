// SPDX-License-Identifier: Apache-2.0
// A driver that fails to answer a question is not taken for one that answered: the call says so,
// and works when tried again.
#include <stdio.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

static uint32_t own[64];

static void write_own(void *user)
{
    own[0] = ++*(uint32_t *)user;
}

// The host writes, and the device reads behind it: host memory from the program is copied in its
// place of the frame, not when the frame is queued.
static braid_status create_exec(struct frame *frame, uint32_t *count, braid_exec_mode mode)
{
    braid_graph *graph = NULL;
    braid_node call, copy;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_host_call(
        graph, &(braid_host_call){ .call = write_own, .user = count }, &call));
    check_ok(braid_graph_add_copy(
        graph, &(braid_copy){ BRAID_AFTER(call), .to = frame->words, .from = own, .bytes = 4 },
        &copy));
    check_ok(braid_graph_add_copy(
        graph,
        &(braid_copy){ BRAID_AFTER(copy), .to = frame->read, .from = frame->words, .bytes = 4 },
        NULL));
    braid_status status = braid_exec_create(frame->device, graph,
                                            &(braid_exec_options){ .mode = mode }, &frame->exec);
    braid_graph_destroy(graph);
    return status;
}

static void check_memory(braid_exec_mode mode, int nth)
{
    struct frame frame;
    uint32_t count = 0;
    char rule[64];
    reset_standin();
    check_ok(frame_open(&frame, "cuda"));
    snprintf(rule, sizeof(rule), "cuPointerGetAttribute:%d=999", nth);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
    check_fails(create_exec(&frame, &count, mode), BRAID_DEVICE_ERROR, "cuPointerGetAttribute");
    reset_standin();
    check_ok(create_exec(&frame, &count, mode));
    assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "300"));
    for (uint32_t i = 1; i <= 3; i++) {
        check_ok(braid_exec_launch(frame.exec, frame.stream));
        check_ok(braid_exec_wait(frame.exec));
        assert_int_equal(frame.read[0], i);
    }
    frame_finish(&frame);
    check_nothing_is_left();
}

static void where_memory_is(void **state)
{
    (void)state;
    for (int nth = 1; nth <= 4; nth++) {
        check_memory(BRAID_MODE_STREAMS, nth);
        check_memory(BRAID_MODE_NATIVE, nth);
    }
}

static void what_the_device_has(void **state)
{
    (void)state;
    struct frame frame;
    char rule[64];
    for (int nth = 1;; nth++) {
        long before = standin_calls("cuDeviceGetAttribute");
        snprintf(rule, sizeof(rule), "cuDeviceGetAttribute:%d=999", nth);
        reset_standin();
        assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
        braid_status status = frame_open(&frame, "cuda");
        if (standin_calls("cuDeviceGetAttribute") - before < nth) {
            check_ok(status);
            break;
        }
        check_fails(status, BRAID_DEVICE_ERROR, "cuDeviceGetAttribute");
    }
    void *memory = NULL;
    check_ok(braid_stream_allocate(frame.device, frame.stream, 64, &memory));
    check_ok(braid_stream_free(frame.device, frame.stream, memory));
    frame_finish(&frame);
    check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_memory_is),
        cmocka_unit_test(what_the_device_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
