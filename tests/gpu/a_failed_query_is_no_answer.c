// SPDX-License-Identifier: Apache-2.0
// A driver that fails to answer a question is not taken for one that answered: the call says so,
// and works when tried again.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu_testing.h"
#include "gpu/life_overlap.h"
#include "support/check.h"
#include "support/clock.h"

static uint32_t own[64];

static void write_own(void *user)
{
    own[0] = ++*(uint32_t *)user;
}

// The host writes, and the device reads behind it: host memory from the program is copied in its
// place of the frame, not when the frame is queued.
static braid_status create_exec(struct frame *frame, uint32_t *count, braid_exec_mode mode)
{
    braid_node call, copy;
    braid_graph *graph = own_graph();
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
    return status;
}

static void check_memory(braid_exec_mode mode, int nth)
{
    struct frame frame;
    uint32_t count = 0;
    reset_standin();
    check_ok(frame_open(&frame, "cuda"));
    fail_calls("cuPointerGetAttribute:%d=999", nth);
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
        check_memory(BRAID_MODE_GRAPH, nth);
    }
}

static void what_the_device_has(void **state)
{
    (void)state;
    struct frame frame;
    for (int nth = 1;; nth++) {
        long before = standin_calls("cuDeviceGetAttribute");
        reset_standin();
        fail_calls("cuDeviceGetAttribute:%d=999", nth);
        braid_status status = frame_open(&frame, "cuda");
        if (standin_calls("cuDeviceGetAttribute") - before < nth) {
            check_ok(status);
            break;
        }
        check_fails(status, BRAID_DEVICE_ERROR, "cuDeviceGetAttribute");
    }
    frame_finish(&frame);
}

// Each call of the driver fails in turn, and no context is made.
static void what_is_found_without_a_context(void **state)
{
    (void)state;
    static const char *const functions[] = { "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem",
                                             "cuDeviceGetAttribute", "cuDeviceGetPCIBusId" };
    braid_found_device found = { .ordinal = 77 };
    long retained = standin_calls("cuDevicePrimaryCtxRetain");
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        reset_standin();
        fail_calls("%s:1=999", functions[i]);
        check_fails(braid_backend_get_device("cuda", 0, &found), BRAID_DEVICE_ERROR, functions[i]);
    }
    reset_standin();
    fail_calls("cuInit:1=999");
    check_fails(braid_backend_get_device("cuda", 0, &found), BRAID_UNAVAILABLE, "cuInit");
    assert_int_equal(found.ordinal, 77);
    fail_calls("cuDeviceGetPCIBusId:1=801"); // not supported
    check_ok(braid_backend_get_device("cuda", 0, &found));
    assert_string_equal(found.bus_id, "");
    assert_string_equal(found.name, "Braid stand-in 0");
    assert_int_equal(standin_calls("cuDevicePrimaryCtxRetain"), retained);
    assert_int_equal(standin_live("context"), 0);
}

static char logged[1024];

static void take_log(braid_status status, const char *message, void *user)
{
    (void)user, (void)status;
    strncat(logged, message, sizeof(logged) - strlen(logged) - 1);
}

// Opens whatever there is while the driver answers so: the CPU, for there is no HIP either.
static void check_passed_over(const char *rules, const char *log)
{
    braid_device *device = NULL;
    braid_device_info info;
    reset_standin();
    fail_calls(rules);
    logged[0] = '\0';
    braid_log_set(take_log, NULL);
    check_ok(braid_device_open(NULL, &device));
    braid_log_set(NULL, NULL);
    fail_calls(NULL);
    braid_device_get_info(device, &info);
    assert_string_equal(info.backend, "cpu");
    if (log ? !strstr(logged, log) : logged[0] != '\0')
        fail_msg("with %s the log said '%s'", rules, logged);
    braid_device_close(device);
}

static void whether_there_is_a_gpu(void **state)
{
    (void)state;
    enum { NOT_INITIALIZED = 3, STUB_LIBRARY = 34, NO_DEVICE = 100, SYSTEM_NOT_READY = 802 };
    static const struct {
        const char *function;
        int code;
        bool fails;
    } cases[] = {
        { "cuInit", NO_DEVICE, false },           { "cuInit", STUB_LIBRARY, false },
        { "cuDeviceGetCount", NO_DEVICE, false }, { "cuInit", NOT_INITIALIZED, true },
        { "cuInit", SYSTEM_NOT_READY, true },     { "cuDeviceGetCount", NOT_INITIALIZED, true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char rule[64], log[96];
        snprintf(rule, sizeof(rule), "%s:1+=%d", cases[i].function, cases[i].code);
        snprintf(log, sizeof(log), "cuda is passed over: its driver failed: %s", cases[i].function);
        check_passed_over(rule, cases[i].fails ? log : NULL);
    }
}

int cuDevicePrimaryCtxRetain(void **context, int device); // the stand-in's
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *context);

static void which_context_is_adopted(void **state)
{
    (void)state;
    static const char *const functions[] = { "cuCtxGetCurrent", "cuCtxGetDevice" };
    void *context = NULL;
    braid_device *device = NULL;
    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), 0);
    assert_int_equal(cuCtxSetCurrent(context), 0);
    for (int i = 0; i < 2; i++) {
        fail_calls("%s:1=999", functions[i]);
        check_fails(
            braid_device_open(&(braid_device_options){ .context = BRAID_CURRENT_CONTEXT }, &device),
            BRAID_DEVICE_ERROR, functions[i]);
        fail_calls(NULL);
    }
    check_ok(
        braid_device_open(&(braid_device_options){ .context = BRAID_CURRENT_CONTEXT }, &device));
    braid_device_close(device);
    assert_int_equal(cuCtxSetCurrent(NULL), 0);
    assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), 0);
}

static void check_frame(struct frame *frame)
{
    check_ok(frame_create_exec(frame, BRAID_MODE_STREAMS));
    check_ok(frame_run(frame, 7));
    check_ok(frame_read(frame));
    assert_int_equal(frame->read[5], frame_result(7));
    frame_finish(frame);
    check_nothing_is_left();
}

// The text changed for an early start is refused: it is loaded as it stands. Any other failure is
// one, and so is the failure of what stands.
static void whether_text_is_refused(void **state)
{
    (void)state;
    enum { OUT_OF_MEMORY = 2, UNSUPPORTED_TEXT_VERSION = 222 };
    struct frame frame;
    check_ok(frame_open(&frame, "cuda"));
    fail_calls("cuModuleLoadData:1=2");
    check_fails(frame_create_exec(&frame, BRAID_MODE_STREAMS), BRAID_NO_MEMORY, "cuModuleLoadData");
    fail_calls("cuModuleLoadData:1+=222");
    check_fails(frame_create_exec(&frame, BRAID_MODE_STREAMS), BRAID_DEVICE_ERROR,
                "cuModuleLoadData");
    long before = standin_calls("cuModuleLoadData");
    fail_calls("cuModuleLoadData:1=222");
    check_frame(&frame);
    assert_int_equal(standin_calls("cuModuleLoadData") - before, 2);
}

// The same of the fourth text, whose kernels write their times: the two before keep them.
static void whether_text_that_keeps_times_is_refused(void **state)
{
    (void)state;
    static const char *const rules[] = { "cuModuleLoadData:4=2", "cuModuleLoadData:4=222",
                                         "cuModuleLoadData:4=222,cuModuleLoadData:5=999" };
    static const braid_status expected[] = { BRAID_NO_MEMORY, BRAID_OK, BRAID_DEVICE_ERROR };
    for (int i = 0; i < 3; i++) {
        struct frame frame;
        braid_exec *exec = NULL;
        reset_standin();
        check_ok(frame_open(&frame, "cuda"));
        fail_calls(rules[i]);
        braid_status status = life_create_timed(frame.device, frame.words, BRAID_MODE_GRAPH, &exec);
        fail_calls(NULL);
        if (expected[i])
            check_fails(status, expected[i], "cuModuleLoadData");
        else
            check_ok(status);
        braid_exec_destroy(exec);
        frame_finish(&frame);
        check_nothing_is_left();
    }
}

static braid_status create_compiled(braid_device *device, const char *expression,
                                    braid_exec **out_exec)
{
    uint32_t c = 0;
    uint32_t *none = NULL;
    braid_kernel kernel = { .name = "sum",
                            .source = sum_kernel.source,
                            .name_expression = expression };
    braid_graph *graph = own_graph();
    check_ok(
        braid_graph_add_kernel(graph,
                               &(braid_kernel_node){ .kernel = &kernel,
                                                     BRAID_ARGS(BRAID_ARG(none), BRAID_ARG(none),
                                                                BRAID_ARG(none), BRAID_ARG(c)) },
                               NULL));
    braid_status status = braid_exec_create(device, graph, NULL, out_exec);
    return status;
}

// Text, and where the driver refuses that, machine code, of which this compiler has none.
static void what_the_compiler_gives(void **state)
{
    (void)state;
    static const struct {
        const char *function, *driver, *expression;
    } cases[] = {
        { "nvrtcCreateProgram", NULL },
        { "nvrtcAddNameExpression", NULL, "sum" },
        { "nvrtcCompileProgram", NULL },
        { "nvrtcGetLoweredName", NULL, "sum" },
        { "nvrtcGetNumSupportedArchs", NULL },
        { "nvrtcGetSupportedArchs", NULL },
        { "nvrtcGetPTXSize", NULL },
        { "nvrtcGetPTX", NULL },
        { "nvrtcGetCUBINSize", "cuModuleLoadData:1=222" },
    };
    braid_exec *exec = NULL;
    braid_device *device = own_device("cuda");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char rule[64];
        snprintf(rule, sizeof(rule), "%s=11", cases[i].function); // an internal error
        assert_int_equal(setenv("BRAID_STANDIN_NVRTC_FAIL", rule, 1), 0);
        fail_calls(cases[i].driver);
        print_message("# %s\n", rule);
        check_fails(create_compiled(device, cases[i].expression, &exec), BRAID_DEVICE_ERROR,
                    "NVRTC_ERROR_INTERNAL");
        unsetenv("BRAID_STANDIN_NVRTC_FAIL");
        fail_calls(cases[i].driver); // and without the failure either way works
        check_ok(create_compiled(device, NULL, &exec));
        fail_calls(NULL);
        braid_exec_destroy(exec);
    }
}

static void count_call(void *user)
{
    ++*(uint32_t *)user;
}

// A launch that needs the place of a frame, and a wait for that frame.
static void check_full(braid_exec_when_full when_full, const char *rule)
{
    struct frame frame;
    uint32_t count = 0;
    reset_standin();
    check_ok(frame_open(&frame, "cuda"));
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_host_call(
        graph, &(braid_host_call){ .call = count_call, .user = &count }, NULL));
    const braid_exec_options options = { .frames_in_flight = 2, .when_full = when_full };
    check_ok(braid_exec_create(frame.device, graph, &options, &frame.exec));
    for (int i = 0; i < 2; i++)
        check_ok(braid_exec_launch(frame.exec, frame.stream));
    check_ok(braid_exec_wait(frame.exec));
    fail_calls(rule);
    check_fails(braid_exec_launch(frame.exec, frame.stream), BRAID_DEVICE_ERROR, "cuEvent");
    fail_calls("cuEventSynchronize:1=999");
    check_fails(braid_exec_wait_for(frame.exec, 1, UINT64_MAX), BRAID_DEVICE_ERROR,
                "cuEventSynchronize");
    fail_calls(NULL);
    check_ok(braid_exec_wait_for(frame.exec, 1, UINT64_MAX));
    check_ok(braid_exec_launch(frame.exec, frame.stream));
    check_ok(braid_exec_wait(frame.exec));
    assert_int_equal(count, 3);
    frame_finish(&frame);
    check_nothing_is_left();
}

static void whether_a_frame_has_ended(void **state)
{
    (void)state;
    check_full(BRAID_FULL_WAITS, "cuEventSynchronize:1=999");
    check_full(BRAID_FULL_REFUSES, "cuEventQuery:1=999");
}

// While the first frame blocks, 33 more wait: the device is asked for the mark that takes the turn.
enum { QUEUED = 33 };

struct blocker {
    atomic_bool is_open;
};

static void block(void *user)
{
    const struct blocker *blocker = user;
    while (!atomic_load(&blocker->is_open))
        clock_nap();
}

static void create_cancelled(struct frame *frame, struct blocker *blocker)
{
    reset_standin();
    check_ok(frame_open(frame, "cuda"));
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_host_call(graph, &(braid_host_call){ .call = block, .user = blocker },
                                       NULL));
    check_ok(braid_exec_create(frame->device, graph, &(braid_exec_options){ .black_box = true },
                               &frame->exec));
}

static void *open_later(void *user)
{
    struct blocker *blocker = user;
    usleep(20000);
    atomic_store(&blocker->is_open, true);
    return NULL;
}

// Whether a call of the last launch failed. Behind it the frames are cancelled and end.
static bool check_cancelled(const char *function, int nth)
{
    struct frame frame;
    struct blocker blocker = { false };
    pthread_t thread;
    create_cancelled(&frame, &blocker);
    for (int i = 0; i < QUEUED; i++)
        check_ok(braid_exec_launch(frame.exec, frame.stream));
    assert_int_equal(pthread_create(&thread, NULL, open_later, &blocker), 0);
    fail_calls("%s:%d=999", function, nth);
    bool failed = braid_exec_launch(frame.exec, frame.stream) != BRAID_OK;
    fail_calls(NULL);
    pthread_join(thread, NULL);
    check_ok(braid_exec_wait(frame.exec));
    check_ok(braid_exec_cancel(frame.exec));
    check_ok(braid_exec_launch(frame.exec, frame.stream));
    check_ok(braid_exec_wait(frame.exec));
    frame_finish(&frame);
    check_nothing_is_left();
    return failed;
}

static void whether_a_cancelled_frame_has_ended(void **state)
{
    (void)state;
    static const char *const functions[] = { "cuEventRecord", "cuEventQuery" };
    for (int i = 0; i < 2; i++) {
        int nth = 1;
        while (check_cancelled(functions[i], nth))
            nth++;
        assert_true(nth > 1);
    }
}

// A frame that has written its trap, and then waits for a word from the test.
struct trapping {
    struct frame frame;
    braid_node trap;
    atomic_int num_begun, num_may_end;
};

static void begin_and_wait(void *user)
{
    struct trapping *trapping = user;
    int number = atomic_fetch_add(&trapping->num_begun, 1);
    while (atomic_load(&trapping->num_may_end) <= number)
        clock_nap();
}

static void open_trapping(struct trapping *trapping)
{
    uint32_t code = 0;
    struct frame *frame = &trapping->frame;
    check_ok(frame_open(frame, "cuda"));
    check_ok(braid_stream_fill(frame->stream, frame->words, 0, 4, 1));
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &sum_kernel,
                              BRAID_ARGS(BRAID_TRAP(), BRAID_ARG(frame->words),
                                         BRAID_ARG(frame->words), BRAID_ARG(code)) },
        &trapping->trap));
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ BRAID_AFTER(trapping->trap), .call = begin_and_wait, .user = trapping },
        NULL));
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .frames_in_flight = 2 };
    check_ok(braid_exec_create(frame->device, graph, &options, &frame->exec));
}

static void whether_the_frame_of_a_trap_has_ended(void **state)
{
    (void)state;
    struct trapping trapping = { .num_may_end = 1 };
    struct frame *frame = &trapping.frame;
    open_trapping(&trapping);
    for (uint32_t code = 0; code < 2; code++) {
        check_ok(braid_exec_set_arg(frame->exec, trapping.trap, 3, BRAID_ARG(code)));
        check_ok(braid_exec_launch(frame->exec, frame->stream));
    }
    while (atomic_load(&trapping.num_begun) < 2)
        clock_nap();
    check_ok(braid_exec_wait_for(frame->exec, 0, UINT64_MAX)); // the other frame has the trap
    atomic_store(&trapping.num_may_end, 2);
    check_fails(braid_exec_wait(frame->exec), BRAID_TRAPPED, "code 1");
    frame_finish(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(where_memory_is),
        standin_test(what_the_device_has),
        standin_test(what_is_found_without_a_context),
        standin_test(whether_there_is_a_gpu),
        standin_test(which_context_is_adopted),
        standin_test(whether_text_is_refused),
        standin_test(what_the_compiler_gives),
        standin_test(whether_text_that_keeps_times_is_refused),
        standin_test(whether_a_frame_has_ended),
        standin_test(whether_a_cancelled_frame_has_ended),
        standin_test(whether_the_frame_of_a_trap_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
