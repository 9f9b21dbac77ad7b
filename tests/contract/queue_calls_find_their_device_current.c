// SPDX-License-Identifier: Apache-2.0
// A queue call finds the device current on its thread, whichever thread launches, and the thread
// has afterwards what it had before: libraries such as cuBLAS rely on the first, programs on both.
// Its stream has the priority of the exec, and what it copies from a variable of its own is right
// or refused.
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/sanitizers.h"

// What the driver says of a thread; the functions that the device under test does not have are
// NULL.
struct driver {
    int (*get_context)(void **context); // CUDA
    int (*get_device)(int *device);     // HIP
    int (*set_device)(int device);      // HIP
    int (*get_priority)(void *stream, int *priority);
};

// The library that the open device uses, if it is this one.
static void *find_library(const char *const *names)
{
    void *library = NULL;
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_NOLOAD);
    return library;
}

static struct driver find_driver(const char *backend)
{
    static const char *const cuda[] = { "libcuda.so.1", "libcuda.so", NULL };
    static const char *const hip[] = { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                       "libamdhip64.so", NULL };
    struct driver driver = { 0 };
    if (strcmp(backend, "cuda") == 0) {
        void *library = find_library(cuda);
        assert_non_null(library);
        driver.get_context = (int (*)(void **))(uintptr_t)dlsym(library, "cuCtxGetCurrent");
        driver.get_priority =
            (int (*)(void *, int *))(uintptr_t)dlsym(library, "cuStreamGetPriority");
        assert_non_null(driver.get_context);
    } else {
        void *library = find_library(hip);
        assert_non_null(library);
        driver.get_device = (int (*)(int *))(uintptr_t)dlsym(library, "hipGetDevice");
        driver.set_device = (int (*)(int))(uintptr_t)dlsym(library, "hipSetDevice");
        driver.get_priority =
            (int (*)(void *, int *))(uintptr_t)dlsym(library, "hipStreamGetPriority");
        assert_non_null(driver.get_device);
        assert_non_null(driver.set_device);
    }
    return driver;
}

// Whether the device under test, of ordinal 0, is current on this thread. A fresh thread has no
// context with CUDA, and with HIP device 0, so that `leave_device` has to move it away first.
static bool device_is_current(const struct driver *driver)
{
    void *context = NULL;
    int device = -1;
    if (driver->get_context)
        return driver->get_context(&context) == 0 && context;
    return driver->get_device(&device) == 0 && device == 0;
}

static bool leave_device(const struct driver *driver)
{
    return !driver->set_device || driver->set_device(1) == 0;
}

struct visit {
    struct contract *contract;
    struct driver driver;
    braid_graph *graph;
    braid_status status;
    bool could_leave, current_before, current_in_call, current_after;
};

static braid_status look_around(braid_device *device, braid_stream *stream, void *user)
{
    struct visit *visit = user;
    (void)device, (void)stream;
    visit->current_in_call = device_is_current(&visit->driver);
    return BRAID_OK;
}

static void *launch_on_fresh_thread(void *user)
{
    struct visit *visit = user;
    visit->could_leave = leave_device(&visit->driver);
    if (!visit->could_leave)
        return NULL;
    visit->current_before = device_is_current(&visit->driver);
    braid_exec *exec = NULL;
    const braid_exec_options options = { .mode = visit->contract->mode };
    visit->status = braid_exec_create(visit->contract->device, visit->graph, &options, &exec);
    if (!visit->status)
        visit->status = braid_exec_launch(exec, NULL);
    if (!visit->status)
        visit->status = braid_exec_wait(exec);
    visit->current_after = device_is_current(&visit->driver);
    braid_exec_destroy(exec);
    return NULL;
}

static void a_queue_call_finds_its_device_current_on_a_fresh_thread(void **state)
{
    struct contract *contract = *state;
    if (contract_is_on_host())
        skip_because("the CPU has no current device");
    struct visit visit = { .contract = contract, .driver = find_driver(contract->backend) };
    visit.graph = contract_graph(contract);
    add_queue_call(visit.graph, (braid_node_options){ .name = "gemm" }, look_around, &visit);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, launch_on_fresh_thread, &visit), 0);
    pthread_join(thread, NULL);
    if (!visit.could_leave)
        skip_because("with one HIP device it is always current");
    if (visit.status == BRAID_UNSUPPORTED && contract->mode == BRAID_MODE_GRAPH)
        skip_because("the graph cannot be replayed as a graph");
    check_ok(visit.status);
    assert_false(visit.current_before);
    assert_true(visit.current_in_call);
    assert_false(visit.current_after);
}

struct fill {
    uint32_t *word;
    braid_stream *stream; // that the call was handed
};

static braid_status fill_word(braid_device *device, braid_stream *stream, void *user)
{
    struct fill *fill = user;
    (void)device;
    fill->stream = stream;
    return braid_stream_fill(stream, fill->word, 4711, 4, 1);
}

// On the default stream, too: a call with the stream alone finds the device.
static void a_queue_call_has_a_stream_that_knows_its_device(void **state)
{
    struct contract *contract = *state;
    struct fill fill = { .word = contract_numbers(contract, 1) };
    braid_stream *own = braid_device_get_default_stream(contract->device);
    braid_stream *const streams[] = { NULL, own, contract_stream(contract) };
    braid_graph *graph = contract_graph(contract);
    add_queue_call(graph, (braid_node_options){ .name = "fill" }, fill_word, &fill);
    for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++) {
        fill.stream = NULL;
        braid_exec *exec = contract_exec(contract, graph); // a driver graph makes the call here
        contract_write(contract, fill.word, &(uint32_t){ 0 }, sizeof(uint32_t));
        check_ok(braid_exec_launch(exec, streams[i]));
        check_ok(braid_exec_wait(exec));
        assert_non_null(fill.stream);
        assert_int_equal(contract_number(contract, fill.word), 4711);
        contract_destroy_exec(contract, exec);
    }
}

enum { MOST_URGENT = -1 }; // in the range of each device

struct look {
    struct driver driver;
    int priority;
};

static braid_status look_at_priority(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    struct look *look = user;
    return look->driver.get_priority(braid_stream_get_handle(stream), &look->priority)
               ? BRAID_DEVICE_ERROR
               : BRAID_OK;
}

static void a_queue_call_has_a_stream_of_its_execs_priority(void **state)
{
    struct contract *contract = *state;
    if (contract_is_on_host())
        skip_because("streams of the CPU do not tell their priority");
    struct look look = { .driver = find_driver(contract->backend) };
    assert_non_null(look.driver.get_priority);
    braid_graph *graph = contract_graph(contract);
    add_queue_call(graph, (braid_node_options){ .name = "look" }, look_at_priority, &look);
    for (int priority = MOST_URGENT; priority <= 0; priority++) {
        braid_exec *exec =
            contract_exec_with(contract, graph, (braid_exec_options){ .priority = priority });
        look.priority = 99;
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        if (look.priority != 99) // a driver graph made the call before
            assert_int_equal(look.priority, priority);
        contract_destroy_exec(contract, exec);
    }
}

static braid_status copy_local(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    volatile uint32_t local = 4711;
    return braid_stream_copy(stream, user, (const void *)(uintptr_t)&local, sizeof(local));
}

static void a_copy_of_a_local_variable_is_right_or_refused(void **state)
{
    struct contract *contract = *state;
    uint32_t *word = contract_numbers(contract, 1);
    braid_graph *graph = contract_graph(contract);
    braid_exec *exec = NULL;
    if (contract_is_on_host() && strcmp(contract->backend, "cpu") != 0)
        skip_because("the skeleton trusts the program");
#if defined(UNDER_ASAN)
    if (contract_is_on_host())
        skip_because("the address sanitizer keeps local variables elsewhere than on the stack");
#endif
    add_queue_call(graph, (braid_node_options){ .name = "stage" }, copy_local, word);
    if (contract->mode == BRAID_MODE_GRAPH && !contract_is_on_host()) {
        check_fails(braid_exec_create(contract->device, graph,
                                      &(braid_exec_options){ .mode = BRAID_MODE_GRAPH }, &exec),
                    BRAID_UNSUPPORTED, "'stage' copies host memory");
    }
    check_ok(braid_exec_create(contract->device, graph, NULL, &exec));
    contract_own_exec(contract, exec);
    if (contract_is_on_host()) {
        check_fails(braid_exec_launch(exec, NULL), BRAID_INVALID_ARGUMENT,
                    "is a local variable of the queue call");
        return;
    }
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, word), 4711);
}

int run_queue_calls(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_queue_call_finds_its_device_current_on_a_fresh_thread),
        contract_test(a_queue_call_has_a_stream_that_knows_its_device),
        contract_test(a_queue_call_has_a_stream_of_its_execs_priority),
        contract_test(a_copy_of_a_local_variable_is_right_or_refused),
    };
    return contract_run("queue calls find their device current", tests);
}
