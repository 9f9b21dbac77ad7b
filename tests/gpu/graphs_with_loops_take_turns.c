// SPDX-License-Identifier: Apache-2.0
// A driver's graph with conditional nodes waits for the one launched before it on the device. Other
// graphs do not.
#include "gpu/gpu_testing.h"
#include "support/check.h"

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
    braid_graph *graph;
    braid_exec *exec;
    check_ok(braid_graph_create(&graph));
    add_nodes(graph, with_loop);
    check_ok(braid_exec_create(device, graph, &options, &exec));
    braid_graph_destroy(graph);
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
    braid_device *device;
    long waits[2], records[2];
    reset_standin();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    for (int with_loop = 0; with_loop < 2; with_loop++) {
        braid_stream *stream;
        braid_exec *exec = make_exec(device, with_loop);
        check_ok(braid_stream_create(device, NULL, &stream));
        count_calls(exec, stream, &waits[with_loop], &records[with_loop]);
        braid_exec_destroy(exec);
        braid_stream_destroy(stream);
    }
    assert_int_equal(waits[1], waits[0] + 1);
    assert_int_equal(records[1], records[0] + 1);
    check_ok(braid_device_close(device));
    check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(only_they_wait_for_each_other) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
