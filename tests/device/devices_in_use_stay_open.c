// SPDX-License-Identifier: Apache-2.0
// A device that is still used is not closed: the message counts what is left, all of it stays
// usable, and it can be closed later. After that it is known as closed.
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/wide_plan.h"

static char logged[512];

static void keep_message(braid_status status, const char *message, void *user)
{
    (void)user;
    if (status == BRAID_IN_USE)
        strncpy(logged, message, sizeof(logged) - 1);
}

static braid_device *open_cpu(void)
{
    const braid_device_options options = { .backend = "cpu", .num_workers = 2 };
    braid_device *device;
    check_ok(braid_device_open(&options, &device));
    return device;
}

static void add_one(void *user)
{
    ++*(int *)user;
}

static void all_that_is_left_is_counted(void **state)
{
    (void)state;
    braid_device *device = open_cpu();
    braid_graph *graph;
    braid_exec *execs[2];
    braid_stream *stream;
    braid_event *events[3];
    void *memory;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, NULL));
    for (int i = 0; i < 2; i++)
        check_ok(braid_exec_create(device, graph,
                                   &(braid_exec_options){ .mode = BRAID_MODE_STREAMS }, &execs[i]));
    check_ok(braid_stream_create(device, NULL, &stream));
    for (int i = 0; i < 3; i++)
        check_ok(braid_event_create(device, NULL, &events[i]));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST, 8, &memory));
    braid_log_set(keep_message, NULL);
    check_fails(
        braid_device_close(device), BRAID_IN_USE,
        "cpu:0 stays open: the program still has 2 execs, 1 stream, 3 events, 1 allocation");
    braid_log_set(NULL, NULL);
    assert_non_null(strstr(logged, "2 execs"));
    braid_exec_destroy(execs[0]);
    check_fails(braid_device_close(device), BRAID_IN_USE,
                "1 exec, 1 stream, 3 events, 1 allocation");
    braid_memory_free(device, memory);
    for (int i = 0; i < 3; i++)
        braid_event_destroy(events[i]);
    braid_stream_destroy(stream);
    check_fails(braid_device_close(device), BRAID_IN_USE, "still has 1 exec of it");
    braid_exec_destroy(execs[1]);
    check_ok(braid_device_close(device));
    braid_graph_destroy(graph);
}

static void what_is_left_still_works(void **state)
{
    (void)state;
    int calls = 0;
    braid_device *device = open_cpu();
    braid_graph *graph;
    braid_exec *exec;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_host_call(graph, &(braid_host_call){ .call = add_one, .user = &calls },
                                       NULL));
    check_ok(braid_exec_create(device, graph, NULL, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    check_fails(braid_device_close(device), BRAID_IN_USE, "1 exec");
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(calls, 2);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

static void idle_objects_of_execs_hold_nothing_open(void **state)
{
    (void)state;
    braid_device *device = open_cpu();
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < 5; i++)
        check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, NULL));
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS,
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true };
    for (int i = 0; i < 3; i++) {
        braid_exec *exec;
        check_ok(braid_exec_create(device, graph, &options, &exec));
        check_ok(braid_exec_launch(exec, NULL));
        braid_exec_destroy(exec);
    }
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

// Whatever is given it. That it reads no freed memory, the sanitizer tells.
static void refuse_closed(braid_device *closed, braid_stream *own, braid_device *open)
{
    braid_device *const both[] = { open, closed };
    braid_device *group;
    braid_graph *graph;
    braid_exec *exec;
    braid_stream *stream;
    braid_event *event;
    braid_exec_options way;
    void *memory;
    int calls = 0;
    check_ok(braid_graph_create(&graph));
#define refused(call) check_fails((call), BRAID_WRONG_STATE, "(cpu:0) was closed")
    refused(braid_device_close(closed));
    refused(braid_stream_create(closed, NULL, &stream));
    refused(braid_stream_wrap(closed, &calls, &stream));
    refused(braid_stream_wait(own));
    refused(braid_stream_query(own));
    refused(braid_stream_copy(own, &calls, &memory, 4));
    refused(braid_stream_fill(own, &calls, 1, 4, 1));
    refused(braid_stream_host_call(own, add_one, &calls));
    refused(braid_event_create(closed, NULL, &event));
    refused(braid_memory_allocate(closed, BRAID_MEMORY_HOST, 8, &memory));
    refused(braid_device_open_group(both, 2, &group));
    refused(braid_exec_create(closed, graph, NULL, &exec));
    refused(braid_graph_tune(graph, closed, NULL, &way));
    refused(braid_graph_save_costs(graph, closed, "/nowhere/costs.json"));
    refused(braid_graph_load_costs(graph, closed, "/nowhere/costs.json"));
#undef refused
    assert_int_equal(calls, 0);
    braid_graph_destroy(graph);
}

static void a_closed_device_is_refused(void **state)
{
    (void)state;
    enum { NUM_DEVICES = 10 };
    braid_device *closed[NUM_DEVICES], *open = open_cpu();
    braid_stream *own[NUM_DEVICES];
    braid_device_info info;
    braid_device_info stats;
    for (int i = 0; i < NUM_DEVICES; i++) {
        closed[i] = open_cpu();
        own[i] = braid_device_get_default_stream(closed[i]);
        check_ok(braid_device_close(closed[i]));
    }
    for (int i = 0; i < NUM_DEVICES; i++)
        refuse_closed(closed[i], own[i], open);
    assert_null(braid_stream_get_handle(own[0]));
    assert_null(braid_device_get_default_stream(closed[0]));
    braid_stream_destroy(own[0]);
    braid_device_get_info(closed[0], &info);
    assert_string_equal(info.backend, "");
    braid_device_get_info(closed[0], &stats);
    assert_int_equal(stats.streams_live, 0);
    assert_null(stats.costs);
    check_ok(braid_device_close(open));
}

// Nor does it cost more memory the more devices are opened.
static void only_the_latest_are_known(void **state)
{
    (void)state;
    braid_device *before = NULL;
    for (int i = 0; i < 200; i++) {
        braid_device *device = open_cpu();
        check_ok(braid_device_close(device));
        if (before)
            check_fails(braid_device_close(before), BRAID_WRONG_STATE, "was closed");
        before = device;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_left_is_counted),
        cmocka_unit_test(what_is_left_still_works),
        cmocka_unit_test(idle_objects_of_execs_hold_nothing_open),
        cmocka_unit_test(a_closed_device_is_refused),
        cmocka_unit_test(only_the_latest_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
