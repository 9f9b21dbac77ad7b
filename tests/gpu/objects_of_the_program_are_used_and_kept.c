// SPDX-License-Identifier: Apache-2.0
// A context and streams that the program made: Braid works with them, and they are as the program
// left them when Braid is done.
#include "gpu/gpu_testing.h"
#include "standin/cuda/cuda_abi.h"
#include "support/check.h"

struct program {
    CUcontext context;
    CUstream stream;
};

static void start_program(struct program *program)
{
    reset_standin();
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuCtxCreate_v2(&program->context, 0, 0), CUDA_SUCCESS); // now current
    assert_int_equal(cuStreamCreate(&program->stream, 1), CUDA_SUCCESS);
}

static void check_current(CUcontext expected)
{
    CUcontext current;
    assert_int_equal(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    assert_ptr_equal(current, expected);
}

// What the program made still works, and goes.
static void end_program(struct program *program)
{
    check_current(program->context);
    assert_int_equal(cuStreamDestroy_v2(program->stream), CUDA_SUCCESS);
    assert_int_equal(cuCtxDestroy_v2(program->context), CUDA_SUCCESS);
    check_nothing_is_left();
}

static void an_adopted_context_stays_the_programs(void **state)
{
    (void)state;
    struct program program;
    start_program(&program);
    braid_device *named, *current;
    braid_device_info info;
    check_ok(braid_device_open(&(braid_device_options){ .context = program.context }, &named));
    check_ok(braid_device_open(&(braid_device_options){ .context = BRAID_CURRENT_CONTEXT },
                               &current)); // the one that is current
    braid_device_get_info(named, &info);
    assert_string_equal(info.backend, "cuda");
    assert_int_equal(info.ordinal, 0);
    long retained = standin_calls("cuDevicePrimaryCtxRetain");
    void *memory = own_memory(current, BRAID_MEMORY_DEVICE, 256);
    check_ok(braid_stream_fill(braid_device_get_default_stream(named), memory, 7, 1,
                               256)); // one context, two devices
    check_ok(braid_stream_wait(braid_device_get_default_stream(named)));
    destroy_now(memory);
    assert_int_equal(standin_calls("cuDevicePrimaryCtxRetain"), retained);
    braid_device_close(named);
    braid_device_close(current);
    end_program(&program);
}

static void without_a_current_context_there_is_none_to_adopt(void **state)
{
    (void)state;
    braid_device *device = NULL;
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    check_fails(
        braid_device_open(&(braid_device_options){ .context = BRAID_CURRENT_CONTEXT }, &device),
        BRAID_WRONG_STATE, "no context to adopt");
    assert_null(device);
}

static void wrapped_streams_order_work_and_stay(void **state)
{
    (void)state;
    struct program program;
    start_program(&program);
    braid_device *device;
    braid_stream *theirs, *ours;
    braid_event *event;
    uint32_t *host;
    check_ok(braid_device_open(&(braid_device_options){ .context = program.context }, &device));
    check_ok(braid_stream_wrap(device, program.stream, &theirs));
    check_ok(braid_stream_create(device, NULL, &ours));
    check_ok(braid_event_create(device, NULL, &event));
    void *words = own_memory(device, BRAID_MEMORY_DEVICE, 4);
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST, 4, (void **)&host));
    check_ok(braid_event_query(event)); // never recorded
    check_ok(braid_stream_fill(theirs, words, 5, 4, 1));
    check_ok(braid_event_record(event, theirs));
    check_ok(braid_stream_follow(ours, event));
    check_ok(braid_stream_copy(ours, host, words, 4));
    check_ok(braid_stream_wait(ours));
    assert_int_equal(*host, 5);
    check_ok(braid_event_wait(event));
    assert_ptr_equal(braid_stream_get_handle(theirs), program.stream);
    braid_event_destroy(event);
    braid_stream_destroy(ours);
    braid_stream_destroy(theirs);
    braid_memory_free(device, host);
    destroy_now(words);
    braid_device_close(device);
    end_program(&program);
}

static void the_cpu_has_nothing_to_wrap(void **state)
{
    (void)state;
    braid_stream *stream = NULL;
    int something;
    braid_device *device = own_device("cpu");
    check_fails(braid_stream_wrap(device, &something, &stream), BRAID_UNSUPPORTED,
                "no streams of a driver");
    assert_null(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(an_adopted_context_stays_the_programs),
        standin_test(without_a_current_context_there_is_none_to_adopt),
        standin_test(wrapped_streams_order_work_and_stay),
        standin_test(the_cpu_has_nothing_to_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
