// SPDX-License-Identifier: Apache-2.0
// A driver's graph with conditional nodes waits for the one launched before it on the GPU, also by
// another device. Other graphs do not.
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { UNKNOWN_ERROR = 999 };

static void add_nodes(braid_graph *graph, bool with_loop)
{
    if (with_loop)
        check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 2 }, NULL));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, NULL));
    if (with_loop)
        check_ok(braid_graph_end(graph));
}

static braid_exec *make_exec(braid_device *device, bool with_loop)
{
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH };
    braid_exec *exec;
    braid_graph *graph = own_graph();
    add_nodes(graph, with_loop);
    check_ok(braid_exec_create(device, graph, &options, &exec));
    return exec;
}

// Waits and records of a second launch.
static void count_calls(braid_exec *exec, braid_stream *stream, long *out_waits, long *out_records)
{
    check_ok(braid_exec_launch(exec, stream));
    const long waits = standin_calls("cuStreamWaitEvent");
    const long records = standin_calls("cuEventRecord");
    check_ok(braid_exec_launch(exec, stream));
    *out_waits = standin_calls("cuStreamWaitEvent") - waits;
    *out_records = standin_calls("cuEventRecord") - records;
    check_ok(braid_exec_wait(exec));
}

static void only_they_wait_for_each_other(void **state)
{
    (void)state;
    long waits[2], records[2];
    braid_device *device = own_device("cuda");
    for (int with_loop = 0; with_loop < 2; with_loop++) {
        braid_exec *exec = make_exec(device, with_loop);
        braid_stream *stream = own_stream(device);
        count_calls(exec, stream, &waits[with_loop], &records[with_loop]);
        braid_exec_destroy(exec);
        destroy_now(stream);
    }
    assert_int_equal(waits[1], waits[0] + 1);
    assert_int_equal(records[1], records[0] + 1);
}

// Ends when the word is not 0.
static const braid_kernel holding = {
    .name = "holding",
    .cuda.data = ".version 7.0\n.target sm_70\n.address_size 64\n"
                 ".visible .entry holding(.param .u64 word)\n{\n.reg .pred %p;\n.reg .b32 %r;\n"
                 ".reg .b64 %d;\nld.param.u64 %d, [word];\nagain:\n"
                 "nanosleep.u32 1000000;\nld.volatile.global.u32 %r, [%d];\n"
                 "setp.eq.u32 %p, %r, 0;\n@%p bra again;\n"
                 "ret;\n}\n"
};

// words[0] counts those that run at once. If another one runs, words[1] becomes 1.
static const braid_kernel alone = {
    .name = "alone",
    .cuda.data = ".version 7.0\n.target sm_70\n.address_size 64\n"
                 ".visible .entry alone(.param .u64 words)\n{\n.reg .pred %p;\n"
                 ".reg .b32 %r<2>;\n.reg .b64 %d;\nld.param.u64 %d, [words];\n"
                 "atom.global.add.u32 %r0, [%d], 1;\nsetp.ne.u32 %p, %r0, 0;\n"
                 "mov.u32 %r1, 1;\n@%p st.global.u32 [%d+4], %r1;\n"
                 "nanosleep.u32 1000000;\nred.global.add.u32 [%d], -1;\nret;\n}\n"
};

static braid_exec *make_loop(braid_device *device, const braid_kernel *kernel, uint32_t *word)
{
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_NEVER };
    braid_exec *exec;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 2 }, NULL));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = kernel,
                              BRAID_ARGS({ &word, sizeof(word), BRAID_ARG_UNCHECKED_POINTER }) },
        NULL));
    check_ok(braid_graph_end(graph));
    check_ok(braid_exec_create(device, graph, &options, &exec));
    return exec;
}

static void set(uint32_t *word, uint32_t value)
{
    atomic_store((_Atomic uint32_t *)word, value);
}

// The second one's kernel need not wait.
static void devices_on_one_gpu_wait_for_each_other(void **state)
{
    (void)state;
    braid_device *devices[2];
    braid_exec *execs[2];
    braid_stream *streams[2];
    uint32_t *words[2];
    assert_true(standin_configure("BRAID_STANDIN_PTX", "1"));
    for (uint32_t i = 0; i < 2; i++) {
        void *memory;
        check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &devices[i]));
        check_ok(braid_memory_allocate(devices[i], BRAID_MEMORY_HOST, 4, &memory));
        words[i] = memory;
        set(words[i], i);
        execs[i] = make_loop(devices[i], &holding, words[i]);
        check_ok(braid_stream_create(devices[i], NULL, &streams[i]));
        check_ok(braid_exec_launch(execs[i], streams[i]));
    }
    assert_int_equal(braid_exec_wait_for(execs[1], BRAID_LAST_FRAME, 50000000), BRAID_TIMEOUT);
    set(words[0], 1);
    for (uint32_t i = 0; i < 2; i++) {
        check_ok(braid_exec_wait(execs[i]));
        braid_exec_destroy(execs[i]);
        braid_stream_destroy(streams[i]);
        braid_memory_free(devices[i], words[i]);
        check_ok(braid_device_close(devices[i]));
    }
}

// A device whose kernels run as PTX, and two words of the host, which are 0.
static uint32_t *open_with_words(braid_device **out_device)
{
    uint32_t *words;
    reset_standin();
    assert_true(standin_configure("BRAID_STANDIN_PTX", "1"));
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, out_device));
    check_ok(braid_memory_allocate(*out_device, BRAID_MEMORY_HOST, 8, (void **)&words));
    words[0] = words[1] = 0;
    return words;
}

// The nth record of a launch fails, if it has so many. Whether it has.
static bool fail_record(int nth)
{
    braid_device *device;
    braid_exec *execs[2];
    braid_stream *streams[2];
    uint32_t *words = open_with_words(&device);
    for (uint32_t i = 0; i < 2; i++) {
        execs[i] = make_loop(device, &alone, words);
        check_ok(braid_stream_create(device, NULL, &streams[i]));
        check_ok(braid_exec_launch(execs[i], streams[i]));
        check_ok(braid_exec_wait(execs[i]));
    }
    fail_calls("cuEventRecord:%d=%d", nth, UNKNOWN_ERROR);
    const long before = standin_calls("cuEventRecord");
    const braid_status status = braid_exec_launch(execs[0], streams[0]);
    const bool has_so_many = standin_calls("cuEventRecord") - before >= nth;
    assert_int_equal(status, has_so_many ? BRAID_DEVICE_ERROR : BRAID_OK);
    fail_calls(NULL);
    check_ok(braid_exec_launch(execs[1], streams[1]));
    for (uint32_t i = 0; i < 2; i++) {
        check_ok(braid_exec_wait(execs[i]));
        braid_exec_destroy(execs[i]);
        braid_stream_destroy(streams[i]);
    }
    assert_int_equal(words[1], 0);
    braid_memory_free(device, words);
    check_ok(braid_device_close(device));
    check_nothing_is_left();
    return has_so_many;
}

static void they_do_not_run_at_once_if_an_event_is_not_recorded(void **state)
{
    (void)state;
    int nth = 1;
    while (fail_record(nth))
        nth++;
    assert_true(nth > 2);
}

// The launch waits for the stream instead. If that fails too, the error names the wait.
static void the_wait_without_an_event_may_fail(void **state)
{
    (void)state;
    bool is_named = false;
    for (int nth = 1; nth <= 3; nth++) {
        braid_device *device;
        uint32_t *words = open_with_words(&device);
        braid_exec *exec = make_loop(device, &alone, words);
        fail_calls("cuEventRecord:%d=%d,cuStreamSynchronize:1=%d", nth, UNKNOWN_ERROR,
                   UNKNOWN_ERROR);
        if (braid_exec_launch(exec, NULL))
            is_named |= strstr(braid_error_get_message(), "cuStreamSynchronize") != NULL;
        fail_calls(NULL);
        braid_exec_destroy(exec);
        braid_memory_free(device, words);
        (void)braid_device_close(device);
        check_nothing_is_left();
    }
    assert_true(is_named);
}

// The last launch was one of a device that is closed.
static void nobody_waits_for_a_closed_device(void **state)
{
    (void)state;
    braid_device *devices[2];
    braid_exec *execs[2];
    braid_stream *stream;
    long waits[2], records;
    for (int i = 0; i < 2; i++) {
        check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &devices[i]));
        execs[i] = make_exec(devices[i], true);
    }
    check_ok(braid_stream_create(devices[0], NULL, &stream));
    count_calls(execs[0], stream, &waits[0], &records);
    check_ok(braid_exec_launch(execs[1], NULL));
    check_ok(braid_exec_wait(execs[1]));
    braid_exec_destroy(execs[1]);
    check_ok(braid_device_close(devices[1]));
    waits[1] = standin_calls("cuStreamWaitEvent");
    check_ok(braid_exec_launch(execs[0], stream));
    waits[1] = standin_calls("cuStreamWaitEvent") - waits[1];
    check_ok(braid_exec_wait(execs[0]));
    assert_int_equal(waits[1], waits[0] - 1);
    braid_exec_destroy(execs[0]);
    braid_stream_destroy(stream);
    check_ok(braid_device_close(devices[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(only_they_wait_for_each_other),
        standin_test(devices_on_one_gpu_wait_for_each_other),
        standin_test(they_do_not_run_at_once_if_an_event_is_not_recorded),
        standin_test(the_wait_without_an_event_may_fail),
        standin_test(nobody_waits_for_a_closed_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
