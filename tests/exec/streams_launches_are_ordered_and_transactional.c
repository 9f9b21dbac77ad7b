// SPDX-License-Identifier: Apache-2.0
// What a launch through streams submits, read from a trace: forks, joins, waits, and failures of
// every single call.
#include "support/check.h"
#include "support/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_backend.h"

#define NUM_NODES 6

static void nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = nothing };

static const char *const node_names[NUM_NODES] = { "a", "b", "c", "d", "e", "f" };
static const struct {
    int from, to;
} edges[] = { { 0, 1 }, { 0, 2 }, { 1, 4 }, { 2, 4 }, { 2, 5 }, { 3, 5 } };
#define NUM_EDGES (int)(sizeof(edges) / sizeof(edges[0]))

// a before b and c; e after b and c; f after c and d: two roots and two sinks, so that both a lane
// that is not forked and one that is not joined show.
static braid_graph *make_graph(braid_node nodes[NUM_NODES])
{
    braid_graph *graph = own_graph();
    int value = 7;
    for (int i = 0; i < NUM_NODES; i++)
        check_ok(braid_graph_add_kernel(graph,
                                        &(braid_kernel_node){ .node.name = node_names[i],
                                                              .node.cost_ns = 100,
                                                              .kernel = &kernel,
                                                              BRAID_ARGS(BRAID_ARG(value)) },
                                        &nodes[i]));
    for (int i = 0; i < NUM_EDGES; i++)
        check_ok(braid_graph_add_edge(graph, nodes[edges[i].from], nodes[edges[i].to]));
    return graph;
}

static const braid_exec_options on_three_lanes = {
    .mode = BRAID_MODE_STREAMS,
    .max_lanes = 3,
    .fixed_lanes = true,
};

static braid_exec *make_exec(braid_device *device, const braid_exec_options *options)
{
    braid_node nodes[NUM_NODES];
    braid_graph *graph = make_graph(nodes);
    braid_exec *exec = NULL;
    check_ok(braid_exec_create(device, graph, options, &exec));
    return exec;
}

static struct trace trace;

// Puts a task of the program's own on the stream; returns its entry.
static int mark(braid_stream *stream)
{
    static char memory[4];
    trace.fail_at = 0;
    check_ok(braid_stream_fill(stream, memory, 0, 1, 4));
    return trace.num_entries - 1;
}

static void assert_frame_is_between(int before, int after)
{
    int place[NUM_NODES];
    for (int i = 0; i < NUM_NODES; i++) {
        place[i] = trace_find_task(&trace, node_names[i], before);
        assert_true(place[i] > before && place[i] < after);
        assert_true(trace_is_ordered(&trace, before, place[i]));
        assert_true(trace_is_ordered(&trace, place[i], after));
    }
    for (int i = 0; i < NUM_EDGES; i++)
        assert_true(trace_is_ordered(&trace, place[edges[i].from], place[edges[i].to]));
    // And the three in the middle are free of each other: concurrency was not lost.
    assert_false(trace_is_ordered(&trace, place[1], place[2]));
    assert_false(trace_is_ordered(&trace, place[2], place[3]));
}

static void check_fork_and_join(const braid_exec_options *options)
{
    braid_device *device = NULL;
    check_ok(trace_open(&trace, false, &device));
    braid_stream *stream = own_stream(device), *own = braid_device_get_default_stream(device);
    braid_exec *exec = make_exec(device, options);
    braid_stream *const callers[] = { stream, NULL, stream };
    for (int i = 0; i < 3; i++) {
        int before = mark(i == 1 ? own : stream);
        check_ok(braid_exec_launch(exec, callers[i]));
        assert_frame_is_between(before, mark(i == 1 ? own : stream));
    }
    braid_exec_destroy(exec);
    destroy_now(stream);
    braid_device_close(device);
    assert_true(trace.closed);
}

static void a_launch_forks_from_and_joins_to_the_callers_stream(void **state)
{
    (void)state;
    check_fork_and_join(&on_three_lanes);
}

// A lane that starts with a wait is forked already, one that ends with a record is joined already.
static void forks_and_joins_that_follow_from_waits_are_left_out(void **state)
{
    (void)state;
    braid_device *device = NULL;
    braid_node top, side[2];
    check_ok(trace_open(&trace, false, &device));
    braid_graph *graph = own_graph();
    const braid_kernel_node launch = { .kernel = &kernel, .node.cost_ns = 100 };
    check_ok(braid_graph_add_kernel(graph, &launch, &top));
    for (int i = 0; i < 2; i++) {
        check_ok(braid_graph_add_kernel(graph, &launch, &side[i]));
        check_ok(braid_graph_add_edge(graph, top, side[i]));
    }
    check_ok(braid_graph_add_kernel(
        graph, &(braid_kernel_node){ .kernel = &kernel, BRAID_AFTER(side[0], side[1]) }, NULL));
    braid_exec *exec = own_exec(device, graph, &on_three_lanes);
    int from = trace.num_entries;
    check_ok(braid_exec_launch(exec, NULL));
    // A diamond on two lanes: two records and waits for its edges, and those of `done`.
    assert_int_equal(trace_count(&trace, TRACE_EVENT_RECORD, from), 2 + 1);
    assert_int_equal(trace_count(&trace, TRACE_STREAM_WAIT, from), 2 + 1);
    destroy_now(exec);
    braid_device_close(device);
}

static void launches_on_different_streams_follow_each_other(void **state)
{
    (void)state;
    braid_device *device = NULL;
    check_ok(trace_open(&trace, false, &device));
    braid_stream *other = own_stream(device);
    braid_exec *exec = make_exec(device, &on_three_lanes);
    check_ok(braid_exec_launch(exec, NULL));
    int second_frame = trace.num_entries;
    check_ok(braid_exec_launch(exec, other));
    for (int i = 0; i < NUM_NODES; i++) {
        for (int j = 0; j < second_frame; j++) {
            if (trace.entries[j].call == TRACE_SUBMIT)
                assert_true(trace_is_ordered(&trace, j,
                                             trace_find_task(&trace, node_names[i], second_frame)));
        }
    }
    braid_exec_destroy(exec);
    destroy_now(other);
    braid_device_close(device);
}

static void a_launch_creates_nothing_and_synchronises_nothing(void **state)
{
    (void)state;
    braid_device *device = NULL;
    check_ok(trace_open(&trace, false, &device));
    braid_exec *exec = make_exec(device, &on_three_lanes);
    int from = trace.num_entries;
    for (int i = 0; i < 10; i++)
        check_ok(braid_exec_launch(exec, NULL));
    for (int i = from; i < trace.num_entries; i++) {
        enum trace_call call = trace.entries[i].call;
        assert_true(call == TRACE_SUBMIT || call == TRACE_EVENT_RECORD ||
                    call == TRACE_STREAM_WAIT);
    }
    assert_int_equal(trace_count(&trace, TRACE_SUBMIT, from), 10 * NUM_NODES);
    braid_exec_destroy(exec);
    braid_device_close(device);
}

// Everything that the failed launch did submit lies between the caller's earlier and later work.
static void assert_joined(int before, int after)
{
    for (int i = before + 1; i < after; i++) {
        if (trace.entries[i].call != TRACE_SUBMIT)
            continue;
        assert_true(trace_is_ordered(&trace, before, i));
        assert_true(trace_is_ordered(&trace, i, after));
    }
}

static bool names_a_node(const char *message)
{
    for (int i = 0; i < NUM_NODES; i++) {
        char quoted[8];
        snprintf(quoted, sizeof(quoted), "'%s'", node_names[i]);
        if (strstr(message, quoted))
            return true;
    }
    return false;
}

static void fail_every_call_of_a_launch(const braid_exec_options *options)
{
    braid_device *device = NULL;
    check_ok(trace_open(&trace, false, &device));
    braid_exec *exec = make_exec(device, options);
    int num_node_failures = 0;
    for (int k = 1;; k++) {
        int before = mark(braid_device_get_default_stream(device));
        trace.num_calls = 0;
        trace.failed = false;
        trace.fail_at = k;
        braid_status status = braid_exec_launch(exec, NULL);
        if (!trace.failed) {
            assert_int_equal(status, BRAID_OK);
            break;
        }
        assert_int_equal(status, BRAID_DEVICE_ERROR);
        assert_non_null(strstr(braid_error_get_message(), "planted failure"));
        num_node_failures += names_a_node(braid_error_get_message());
        assert_joined(before, mark(braid_device_get_default_stream(device)));
        before = mark(braid_device_get_default_stream(device));
        check_ok(braid_exec_launch(exec, NULL));
        assert_frame_is_between(before, mark(braid_device_get_default_stream(device)));
        trace.num_entries = 0;
    }
    assert_true(num_node_failures > NUM_NODES); // each task, and each record and wait of the plan
    braid_exec_destroy(exec);
    braid_device_close(device);
    assert_int_equal(trace.live_streams + trace.live_events + trace.live_kernels, 0);
}

static void a_launch_that_fails_at_any_call_is_joined_and_can_be_repeated(void **state)
{
    (void)state;
    fail_every_call_of_a_launch(&on_three_lanes);
}

static void a_creation_that_fails_at_any_call_returns_what_it_leased(void **state)
{
    (void)state;
    braid_node nodes[NUM_NODES];
    braid_graph *graph = make_graph(nodes);
    int k = 0;
    do {
        braid_device *device = NULL;
        braid_exec *exec = NULL;
        check_ok(trace_open(&trace, false, &device));
        trace.fail_at = ++k;
        braid_status status = braid_exec_create(device, graph, &on_three_lanes, &exec);
        assert_int_equal(status, trace.failed ? BRAID_DEVICE_ERROR : BRAID_OK);
        assert_true((exec != NULL) == !trace.failed);
        braid_exec_destroy(exec);
        braid_device_info stats;
        braid_device_get_info(device, &stats);
        assert_int_equal(stats.streams_leased + stats.events_leased, 0);
        assert_int_equal(trace.live_kernels, 0);
        braid_device_close(device);
        assert_int_equal(trace.live_streams + trace.live_events, 0);
    } while (trace.failed);
    assert_true(k > 6); // one kernel, two streams, several events
}

static void events_are_renewed_where_the_device_asks_for_it(void **state)
{
    (void)state;
    braid_device *device = NULL;
    check_ok(trace_open(&trace, true, &device));
    braid_exec *exec = make_exec(device, &on_three_lanes);
    braid_schedule_info info;
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    for (int frame = 0; frame < 4; frame++) {
        trace.num_entries = 0;
        int before = mark(braid_device_get_default_stream(device));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_launch(exec, NULL));
        // No plan event is recorded twice in two frames; fork, joins and `done` lie beyond a join.
        int *times = calloc((size_t)trace.num_events + 1, sizeof(*times));
        assert_non_null(times);
        int num_once = 0;
        for (int i = before; i < trace.num_entries; i++) {
            if (trace.entries[i].call == TRACE_EVENT_RECORD)
                times[trace.entries[i].event]++;
        }
        for (int i = 0; i <= trace.num_events; i++)
            num_once += times[i] == 1;
        assert_int_equal(num_once, 2 * (int)info.num_records);
        free(times);
    }
    braid_exec_destroy(exec);
    braid_device_close(device);
}

static void leases_are_pooled_and_reused(void **state)
{
    (void)state;
    braid_device *device = NULL;
    check_ok(trace_open(&trace, false, &device));
    braid_exec_destroy(make_exec(device, &on_three_lanes));
    braid_device_info first, later;
    braid_device_get_info(device, &first);
    assert_true(first.streams_created > 0 && first.events_created > 0);
    for (int i = 0; i < 10; i++)
        braid_exec_destroy(make_exec(device, &on_three_lanes));
    braid_device_get_info(device, &later);
    assert_int_equal(first.streams_created, later.streams_created);
    assert_int_equal(first.events_created, later.events_created);
    assert_int_equal(later.streams_leased + later.events_leased, 0);
    braid_device_close(device);
}

static void graph_mode_is_refused_where_there_is_none_and_auto_says_why(void **state)
{
    (void)state;
    braid_device *device = NULL;
    braid_node nodes[NUM_NODES];
    braid_graph *graph = make_graph(nodes);
    braid_exec *exec = NULL;
    check_ok(trace_open(&trace, false, &device));
    assert_int_equal(
        braid_exec_create(device, graph, &(braid_exec_options){ .mode = BRAID_MODE_GRAPH }, &exec),
        BRAID_UNSUPPORTED);
    assert_null(exec);
    exec = own_exec(device, graph, NULL);
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    assert_int_equal(info.mode, BRAID_MODE_STREAMS);
    assert_true(strlen(info.reason) > 0);
    destroy_now(exec);
    braid_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_launch_forks_from_and_joins_to_the_callers_stream),
        owning_test(forks_and_joins_that_follow_from_waits_are_left_out),
        owning_test(launches_on_different_streams_follow_each_other),
        owning_test(a_launch_creates_nothing_and_synchronises_nothing),
        owning_test(a_launch_that_fails_at_any_call_is_joined_and_can_be_repeated),
        owning_test(a_creation_that_fails_at_any_call_returns_what_it_leased),
        owning_test(events_are_renewed_where_the_device_asks_for_it),
        owning_test(leases_are_pooled_and_reused),
        owning_test(graph_mode_is_refused_where_there_is_none_and_auto_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
