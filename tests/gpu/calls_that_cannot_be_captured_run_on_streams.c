// SPDX-License-Identifier: Apache-2.0
// A queue call that does what a capture forbids: BRAID_MODE_AUTO takes streams, whether the call
// notices the driver's error itself, as every check of a library's status does, or not. The same
// holds for a call that copies pageable memory, whose address a driver graph would keep.
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

int cuMemAlloc_v2(void **memory, size_t bytes);
int cuMemFree_v2(void *memory);

static bool notices;

static braid_status wait_for_the_stream(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)user;
    braid_status status = braid_stream_wait(stream);
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
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_queue_call(
        graph, &(braid_queue_call){ .node.name = "gemm", .call = call }, NULL));
    braid_status status =
        braid_exec_create(device, graph, &(braid_exec_options){ .mode = mode }, out_exec);
    return status;
}

static void check_call(braid_queue_function *call)
{
    braid_exec *exec = NULL;
    braid_exec_info info;
    reset_standin();
    braid_device *device = own_device("cuda");
    for (int i = 0; i < 2; i++) {
        notices = i == 0;
        check_fails(create(device, call, BRAID_MODE_GRAPH, &exec), BRAID_UNSUPPORTED, "gemm");
        assert_non_null(strstr(braid_error_get_message(), "cannot be captured"));
        if (notices)
            assert_non_null(strstr(braid_error_get_message(), "queue call returned"));
        check_ok(create(device, call, BRAID_MODE_AUTO, &exec));
        braid_exec_get_info(exec, &info);
        assert_int_equal(info.mode, BRAID_MODE_STREAMS);
        assert_non_null(strstr(info.reason, "gemm"));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        braid_exec_destroy(exec);
    }
    finish_standin();
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
    braid_exec *exec = NULL;
    braid_device *device = own_device("cuda");
    check_fails(create(device, fail_always, BRAID_MODE_AUTO, &exec), BRAID_DEVICE_ERROR, "gemm");
}

enum { NUM_TURNS = 3 };

struct turns {
    uint32_t *words;
    uint32_t turn;
    bool by_driver, to_host;
    uint32_t heard; // pageable, too
};

int cuMemcpyAsync(void *to, const void *from, size_t bytes, void *stream);

// As libraries do that put their parameters into a variable of their own.
static braid_status stage(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    struct turns *turns = user;
    uint32_t local = 1000 + turns->turn;
    if (turns->to_host)
        return braid_stream_copy(stream, &turns->heard, turns->words, sizeof(local));
    if (!turns->by_driver)
        return braid_stream_copy(stream, turns->words, &local, sizeof(local));
    return cuMemcpyAsync(turns->words, &local, sizeof(local), braid_stream_get_handle(stream))
               ? BRAID_DEVICE_ERROR
               : BRAID_OK;
}

static braid_status create_stage(struct frame *frame, struct turns *turns, braid_exec_mode mode,
                                 braid_exec **out_exec)
{
    uint32_t *words = turns->words, *sum = words + 1, *zero = words + 2, none = 0;
    braid_graph *graph = own_graph();
    braid_node staged, cleared;
    check_ok(braid_graph_add_fill(
        graph, &(braid_fill){ .to = zero, .value_bytes = 4, .num_values = 1 }, &cleared));
    check_ok(braid_graph_add_queue_call(
        graph, &(braid_queue_call){ .node.name = "stage", .call = stage, .user = turns }, &staged));
    check_ok(
        braid_graph_add_kernel(graph,
                               &(braid_kernel_node){ .kernel = &sum_kernel,
                                                     BRAID_AFTER(staged, cleared),
                                                     BRAID_ARGS(BRAID_ARG(sum), BRAID_ARG(words),
                                                                BRAID_ARG(zero), BRAID_ARG(none)) },
                               NULL));
    braid_status status =
        braid_exec_create(frame->device, graph, &(braid_exec_options){ .mode = mode }, out_exec);
    return status;
}

static void check_stage(struct frame *frame, struct turns *turns)
{
    static const char why[] = "'stage' copies host memory that the driver does not know";
    braid_exec *exec = NULL;
    braid_exec_info info;
    check_fails(create_stage(frame, turns, BRAID_MODE_GRAPH, &exec), BRAID_UNSUPPORTED, why);
    check_ok(create_stage(frame, turns, BRAID_MODE_AUTO, &exec));
    braid_exec_get_info(exec, &info);
    assert_int_equal(info.mode, BRAID_MODE_STREAMS);
    assert_non_null(strstr(info.reason, why));
    for (turns->turn = 0; turns->turn < NUM_TURNS; turns->turn++) {
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        check_ok(frame_read(frame));
        if (!turns->to_host)
            assert_int_equal(frame->read[1], 1000 + turns->turn);
    }
    braid_exec_destroy(exec);
}

static void a_call_that_copies_pageable_memory(void **state)
{
    (void)state;
    struct frame frame;
    check_ok(frame_open(&frame, "cuda"));
    struct turns turns = { .words = frame.words };
    check_stage(&frame, &turns);
    turns.by_driver = true;
    check_stage(&frame, &turns);
    turns.to_host = true;
    check_stage(&frame, &turns);
    frame_finish(&frame);
}

// Pinned memory lives as long as the program lets it.
static braid_status copy_pinned(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    struct frame *frame = user;
    return braid_stream_copy(stream, frame->words, frame->read, sizeof(uint32_t));
}

static void a_call_that_copies_pinned_memory_is_captured(void **state)
{
    (void)state;
    struct frame frame;
    check_ok(frame_open(&frame, "cuda"));
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_queue_call(
        graph, &(braid_queue_call){ .call = copy_pinned, .user = &frame }, NULL));
    braid_exec *exec =
        own_exec(frame.device, graph, &(braid_exec_options){ .mode = BRAID_MODE_GRAPH });
    destroy_now(exec);
    frame_finish(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(a_call_that_waits),
        standin_test(a_call_that_allocates),
        standin_test(a_call_that_fails_by_itself_fails_the_exec),
        standin_test(a_call_that_copies_pageable_memory),
        standin_test(a_call_that_copies_pinned_memory_is_captured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
