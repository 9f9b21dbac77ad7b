// SPDX-License-Identifier: Apache-2.0
// Whichever HIP call fails, Braid says so, leaves nothing behind, and goes on afterwards. The calls
// fail in the interposer and never reach the library: what its own failures leave is not tested.
// BRAID_TEST_SAMPLES=N tries N calls of each function, spread evenly, instead of all: the
// interposer does not tell of the paths of calls.
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_loader.h"
#include "gpu/hip/hip_testing.h"
#include "gpu/sweep.h"
#include "support/check.h"

enum { OUT_OF_MEMORY = 2, MAX_FUNCTIONS = 256 };

// The functions that a life calls, and how often.
static struct {
    const char *name;
    long num_calls;
} functions[MAX_FUNCTIONS + 1];

// Under the name that the library has.
static const char *name_of(const struct gpu_symbol *row)
{
    const char *const *names = row->names[GPU_HIP];
    return names[0] && names[1] && !hip_is_counted(names[0]) ? names[1] : names[0];
}

// The names of errors do not fail.
static size_t list_functions(const struct gpu_symbol_table *table, size_t num)
{
    for (size_t i = 0; i < table->num_rows; i++) {
        const char *name = name_of(&table->rows[i]);
        if (name && hip_is_counted(name) && !strstr(name, "GetError")) {
            assert_true(num < MAX_FUNCTIONS);
            functions[num++].name = name;
        }
    }
    return num;
}

// AMD's library compiles the kernels of a life for a quarter of a second. The cache of the test
// has their code while other calls fail than the compiler's.
static void keep_code(bool keep)
{
    static char *folder;
    if (!folder)
        folder = strdup(getenv("BRAID_CACHE") ? getenv("BRAID_CACHE") : "off");
    setenv("BRAID_CACHE", keep ? folder : "off", 1);
}

static void let_fail(const char *function, long nth, int code)
{
    keep_code(!function || strncmp(function, "hiprtc", strlen("hiprtc")) != 0);
    hip_fail(function, nth, code);
}

static void note(bool on)
{
    keep_code(!on);
    if (on)
        list_functions(&braid_gpu_compiler_symbols, list_functions(&braid_gpu_symbols, 0));
    for (size_t i = 0; functions[i].name; i++)
        functions[i].num_calls = hip_calls(functions[i].name) - (on ? 0 : functions[i].num_calls);
}

static const char *function_at(size_t i)
{
    return functions[i].name;
}

static size_t choose(const char *function, long *out_numbers, size_t most)
{
    const char *text = getenv("BRAID_TEST_SAMPLES");
    size_t i = 0;
    while (functions[i].name != function)
        i++;
    long num_calls = functions[i].num_calls, samples = text ? strtol(text, NULL, 10) : num_calls;
    long num = samples < num_calls ? samples : num_calls;
    assert_true((size_t)num <= most);
    for (long k = 0; k < num; k++)
        out_numbers[k] = num == 1 ? 1 : 1 + k * (num_calls - 1) / (num - 1);
    return (size_t)num;
}

static void check_left(const char *function)
{
    (void)function; // the interposer knows
    hip_check_nothing_is_left();
}

static const struct interposer hip_interposer = {
    .note = note,
    .let_fail = let_fail,
    .calls = hip_calls,
    .check_left = check_left,
    .function = function_at,
    .choose = choose,
};

static const struct sweep_words words[] = {
    { "hiprtc", "compiling kernel 'sum'" },
    { "hipGetDevice", .reason = "made a second time" },
    { "hipSetDevice", .reason = "made a second time" },
    { "hipGetDevice", "when the device was made current" },
    { "hipSetDevice", "when the device was made current" },
    { "hipThreadExchangeStreamCaptureMode", .reason = "made a second time" },
    { "hipPeekAtLastError", .reason = "gives an error of before" },
    { "hipGetLastError", .reason = "likewise" },
    { "hipStreamSynchronize", .destroying = true, .reason = "made a second time" },
    { "hipEventQuery", .destroying = true, .reason = "HIP's events are waited for by asking" },
    { "", "the host waits instead", .goes_on = true, .reason = "the work has ended then" },
    { "hiprtcGetProgramLogSize", .reason = "only the text of a message" },
    { "hiprtcGetProgramLog", .reason = "only the text of a message" },
    { 0 },
};

static void on_streams(void **state)
{
    (void)state;
    sweep_run(&(struct sweep){ .interposer = &hip_interposer,
                               .live = life_live,
                               .life = { .backend = "hip", .mode = BRAID_MODE_STREAMS },
                               .words = words,
                               .code = OUT_OF_MEMORY,
                               .least = 50 },
              "hip");
}

// HIP's events are waited for by asking: often at first, then between sleeps.
enum { OFTEN = 60 };
static atomic_bool gate_is_open;

static void wait_for_gate(void *user)
{
    long before = *(long *)user;
    while (!atomic_load(&gate_is_open) && hip_calls("hipEventQuery") - before < 2 * OFTEN)
        sched_yield();
}

static void a_wait_that_asks_often(void **state)
{
    (void)state;
    for (long nth = 1; nth <= OFTEN; nth += OFTEN - 1) {
        struct frame frame;
        braid_event *event = NULL;
        long before = hip_calls("hipEventQuery");
        check_ok(frame_open(&frame, "hip"));
        check_ok(braid_event_create(frame.device, NULL, &event));
        atomic_store(&gate_is_open, false);
        check_ok(braid_stream_host_call(frame.stream, wait_for_gate, &before));
        check_ok(braid_event_record(event, frame.stream));
        hip_fail("hipEventQuery", nth, OUT_OF_MEMORY);
        check_fails(braid_event_wait(event), BRAID_NO_MEMORY, "hipEventQuery");
        hip_fail(NULL, 0, 0);
        atomic_store(&gate_is_open, true);
        check_ok(braid_event_wait(event));
        braid_event_destroy(event);
        frame_finish(&frame);
        hip_check_nothing_is_left();
    }
}

// The program's own device is current, and is again, at the second try if need be.
static void another_device_is_current(void **state)
{
    (void)state;
    braid_device *device = NULL;
    const braid_device_options second = { .backend = "hip", .ordinal = 1 };
    if (braid_device_open(&second, &device))
        skip_because(braid_error_get_message());
    hip_fail("hipSetDevice", 1, OUT_OF_MEMORY);
    check_fails(braid_stream_query(braid_device_get_default_stream(device)), BRAID_DEVICE_ERROR,
                "when the device was made current");
    long before = hip_calls("hipSetDevice");
    hip_fail("hipSetDevice", 2, OUT_OF_MEMORY);
    check_ok(braid_stream_query(braid_device_get_default_stream(device)));
    hip_fail(NULL, 0, 0);
    assert_int_equal(hip_calls("hipSetDevice") - before, 3);
    braid_device_close(device);
    hip_check_nothing_is_left();
}

// Nobody knows then which device is current, even if it is the one that is wanted.
static void which_device_is_current(void **state)
{
    (void)state;
    braid_device *device = NULL;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "hip" }, &device));
    hip_fail("hipGetDevice", 1, OUT_OF_MEMORY);
    check_fails(braid_stream_query(braid_device_get_default_stream(device)), BRAID_DEVICE_ERROR,
                "when the device was made current");
    hip_fail(NULL, 0, 0);
    check_ok(braid_stream_query(braid_device_get_default_stream(device)));
    braid_device_close(device);
    hip_check_nothing_is_left();
}

// Whether devices reach each other's memory is asked, and made so, when they become a group.
static void devices_become_a_group(void **state)
{
    (void)state;
    static const char *const calls[] = { "hipDeviceCanAccessPeer", "hipDeviceEnablePeerAccess" };
    braid_device *devices[2] = { NULL };
    braid_device *group = NULL;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "hip" }, &devices[0]));
    const braid_device_options second = { .backend = "hip", .ordinal = 1 };
    if (braid_device_open(&second, &devices[1])) {
        check_ok(braid_device_close(devices[0]));
        skip_because(braid_error_get_message());
    }
    for (int i = 0; i < 2; i++) {
        hip_fail(calls[i], 1, OUT_OF_MEMORY);
        check_fails(braid_device_open_group(devices, 2, &group), BRAID_NO_MEMORY, calls[i]);
        hip_fail(NULL, 0, 0);
    }
    check_ok(braid_device_open_group(devices, 2, &group));
    braid_device_info info;
    braid_device_get_info(group, &info);
    assert_true(info.place_model->links[1].is_direct);
    check_ok(braid_device_close(group));
    for (int i = 0; i < 2; i++)
        check_ok(braid_device_close(devices[i]));
    hip_check_nothing_is_left();
}

// AMD's library over a stand-in of HSA has none.
static void cooperative_launches(void **state)
{
    (void)state;
    struct frame frame;
    braid_graph *graph = NULL;
    braid_exec *exec = NULL;
    const uint32_t one = 1;
    check_ok(frame_open(&frame, "hip"));
    check_ok(braid_graph_create(&graph));
    const braid_kernel_node all = { .node.name = "all",
                                    .kernel = &sum_kernel,
                                    .cooperative = true,
                                    BRAID_ARGS(BRAID_ARG(frame.words), BRAID_ARG(frame.words),
                                               BRAID_ARG(frame.words), BRAID_ARG(one)) };
    check_ok(braid_graph_add_kernel(graph, &all, NULL));
    hip_fail("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", 1, OUT_OF_MEMORY);
    braid_status status = braid_exec_create(frame.device, graph, NULL, &exec);
    hip_fail(NULL, 0, 0);
    if (status != BRAID_UNSUPPORTED) {
        check_fails(status, BRAID_NO_MEMORY, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
        check_ok(braid_exec_create(frame.device, graph, NULL, &exec));
        hip_fail("hipModuleLaunchCooperativeKernel", 1, OUT_OF_MEMORY);
        check_fails(braid_exec_launch(exec, NULL), BRAID_NO_MEMORY,
                    "hipModuleLaunchCooperativeKernel");
        hip_fail(NULL, 0, 0);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        braid_exec_destroy(exec);
    } else {
        check_fails(status, BRAID_UNSUPPORTED, "'all': it is cooperative, and hip:0");
    }
    braid_graph_destroy(graph);
    frame_finish(&frame);
    hip_check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_streams),
        cmocka_unit_test(a_wait_that_asks_often),
        cmocka_unit_test(another_device_is_current),
        cmocka_unit_test(which_device_is_current),
        cmocka_unit_test(devices_become_a_group),
        cmocka_unit_test(cooperative_launches),
    };
    if (!hip_open())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
