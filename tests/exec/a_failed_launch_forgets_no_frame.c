// SPDX-License-Identifier: Apache-2.0
// Whichever call of a launch fails: waiting for the exec, and destroying it, still wait for every
// frame in flight, on whatever streams they are.
#include "support/check.h"

#include "trace_backend.h"

static void nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = nothing };

// Two lanes, unless there are no nodes.
static braid_graph *make_graph(int num_nodes)
{
    braid_graph *graph = NULL;
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < num_nodes; i++)
        check_ok(braid_graph_add_kernel(
            graph, &(braid_launch){ .node.cost_ns = 100, .kernel = &kernel }, NULL));
    return graph;
}

struct fixture {
    struct trace trace;
    braid_device *device;
    braid_stream *streams[2];
    braid_exec *exec;
};

static void set_up(struct fixture *fixture, braid_exec_mode mode, int num_nodes)
{
    const braid_exec_options options = {
        .mode = mode,
        .plan = { .max_lanes = 2, .fixed_lanes = true },
    };
    check_ok(trace_open_native(&fixture->trace, &fixture->device));
    for (int i = 0; i < 2; i++)
        check_ok(braid_stream_create(fixture->device, NULL, &fixture->streams[i]));
    braid_graph *graph = make_graph(num_nodes);
    check_ok(braid_exec_create(fixture->device, graph, &options, &fixture->exec));
    braid_graph_destroy(graph);
}

static void tear_down(struct fixture *fixture)
{
    for (int i = 0; i < 2; i++)
        braid_stream_destroy(fixture->streams[i]);
    braid_device_close(fixture->device);
}

// Nothing stands for such a frame later: its stream may belong to the program and be gone then.
static void a_frame_whose_end_cannot_be_recorded_is_awaited_at_once(void **state)
{
    (void)state;
    struct fixture fixture;
    set_up(&fixture, BRAID_MODE_NATIVE, 2);
    fixture.trace.num_calls = 0;
    fixture.trace.fail_at = 2;
    check_fails(braid_exec_launch(fixture.exec, fixture.streams[0]), BRAID_DEVICE_ERROR,
                "planted failure of event_record");
    int last = fixture.trace.num_entries - 1;
    assert_int_equal(fixture.trace.entries[last - 1].call, TRACE_PROGRAM_LAUNCH);
    assert_int_equal(fixture.trace.entries[last].call, TRACE_STREAM_SYNCHRONIZE);
    assert_int_equal(fixture.trace.entries[last].stream, fixture.trace.entries[last - 1].stream);
    braid_exec_destroy(fixture.exec);
    tear_down(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_whose_end_cannot_be_recorded_is_awaited_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
