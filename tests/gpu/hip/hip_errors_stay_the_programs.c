// SPDX-License-Identifier: Apache-2.0
// HIP keeps the last error of a thread until hipGetLastError. Frameworks ask for it after each
// launch. Calls of Braid leave none of their own, and take away none of the program's.
#include <dlfcn.h>
#include <string.h>

#include "gpu/frame.h"
#include "support/check.h"

enum { INVALID_VALUE = 1, DEVICES = 2 };

static int (*take_error)(void);
static int (*set_device)(int device);
static int (*enable_peer)(int device, unsigned flags);
static int (*free_memory)(void *memory);

static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(function, &symbol, sizeof(symbol));
}

static int find_library(void **state)
{
    (void)state;
    void *library = dlopen("libamdhip64.so.6", RTLD_NOW);
    assert_non_null(library);
    find(library, "hipGetLastError", &take_error);
    find(library, "hipSetDevice", &set_device);
    find(library, "hipDeviceEnablePeerAccess", &enable_peer);
    find(library, "hipFree", &free_memory);
    return 0;
}

// The call succeeds and leaves no error.
#define check_clean(call)                                                                          \
    do {                                                                                           \
        check_ok(call);                                                                            \
        int left = take_error();                                                                   \
        if (left)                                                                                  \
            fail_msg("hipGetLastError gives %d behind %s", left, #call);                           \
    } while (0)

// A copy of pageable memory asks for an address that HIP does not know.
static void frames_leave_none(void **state)
{
    (void)state;
    struct frame frame;
    check_clean(frame_open(&frame, "hip"));
    check_clean(frame_create_exec(&frame, BRAID_MODE_STREAMS));
    check_clean(frame_run(&frame, 5));
    braid_status status = braid_exec_launch(frame.exec, frame.stream);
    assert_int_equal(take_error(), 0);
    check_ok(status);
    status = braid_exec_wait_for(frame.exec, BRAID_LAST_FRAME, 0);
    assert_int_equal(take_error(), 0);
    assert_true(!status || status == BRAID_NOT_READY);
    check_clean(braid_stream_copy(frame.stream, &frame.own, frame.words, 4));
    check_clean(braid_stream_wait(frame.stream));
    check_clean(frame_read(&frame));
    assert_int_equal(frame.read[5], frame_result(5));
    frame_finish(&frame);
    assert_int_equal(take_error(), 0);
}

static void a_group_that_the_program_has_joined_leaves_none(void **state)
{
    (void)state;
    braid_device *members[DEVICES] = { 0 }, *group = NULL;
    for (int i = 0; i < DEVICES; i++) {
        assert_int_equal(set_device(i), 0);
        assert_int_equal(enable_peer(1 - i, 0), 0);
    }
    assert_int_equal(set_device(0), 0);
    for (uint32_t i = 0; i < DEVICES; i++)
        check_clean(braid_device_open(&(braid_device_options){ .backend = "hip", .ordinal = i },
                                      &members[i]));
    check_clean(braid_device_open_group(members, DEVICES, &group));
    check_clean(braid_device_close(group));
    for (int i = 0; i < DEVICES; i++)
        check_clean(braid_device_close(members[i]));
}

static void calls_that_fail_leave_none(void **state)
{
    (void)state;
    struct frame frame;
    void *memory = NULL;
    check_clean(frame_open(&frame, "hip"));
    check_fails(
        braid_memory_allocate(frame.device, BRAID_MEMORY_DEVICE, UINT64_C(1) << 60, &memory),
        BRAID_NO_MEMORY, "hipMalloc");
    assert_int_equal(take_error(), 0);
    frame_finish(&frame);
}

static void an_error_of_the_program_stays(void **state)
{
    (void)state;
    struct frame frame;
    uint32_t own;
    check_clean(frame_open(&frame, "hip"));
    check_clean(frame_create_exec(&frame, BRAID_MODE_STREAMS));
    assert_int_equal(free_memory(&own), INVALID_VALUE);
    check_ok(frame_run(&frame, 5));
    assert_int_equal(take_error(), INVALID_VALUE);
    frame_finish(&frame);
}

static braid_status fail_inside(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream;
    *(int *)user = free_memory(user);
    return BRAID_OK;
}

static void an_error_of_a_queue_call_stays(void **state)
{
    (void)state;
    struct frame frame;
    braid_graph *graph;
    int result = 0;
    check_clean(frame_open(&frame, "hip"));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_queue_call(
        graph, &(braid_queue_call){ .call = fail_inside, .user = &result }, NULL));
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    check_clean(braid_exec_create(frame.device, graph, &options, &frame.exec));
    braid_graph_destroy(graph);
    check_ok(braid_exec_launch(frame.exec, frame.stream));
    assert_int_equal(result, INVALID_VALUE);
    assert_int_equal(take_error(), INVALID_VALUE);
    frame_finish(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_leave_none),
        cmocka_unit_test(a_group_that_the_program_has_joined_leaves_none),
        cmocka_unit_test(calls_that_fail_leave_none),
        cmocka_unit_test(an_error_of_the_program_stays),
        cmocka_unit_test(an_error_of_a_queue_call_stays),
    };
    return cmocka_run_group_tests(tests, find_library, NULL);
}
