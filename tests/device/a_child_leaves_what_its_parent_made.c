// SPDX-License-Identifier: Apache-2.0
// In a child made by fork, what destroys or closes an object of the parent does nothing, and any
// other call with it gets an error that names the device. The parent goes on.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/fork_calmly.h"
#include "support/left_out.h"
#include "support/sanitizers.h"
#include "support/wide_plan.h"

enum { PATIENCE_SECONDS = 60, NUM_FRAMES = 3 }; // what waits for a thread of the parent never ends

static const char *backend = "cpu";

struct fixture {
    braid_device *device, *group;
    braid_graph *graph;
    braid_node node;
    braid_exec *exec;
    braid_stream *stream, *own; // made, and the default one
    braid_event *event;
    void *memory;
    int calls;
    int doors[2]; // a pipe, which the host call waits at
};

static struct fixture all;

static void add_one(void *user)
{
    char byte;
    ++*(int *)user;
    if (read(all.doors[0], &byte, 1) < 0)
        abort();
}

static void make_all(void)
{
    all = (struct fixture){ 0 };
    assert_int_equal(pipe(all.doors), 0);
    check_ok(braid_device_open(
        &(braid_device_options){ .backend = backend, .num_workers = 2, .cache = "off" },
        &all.device));
    check_ok(braid_graph_create(&all.graph));
    check_ok(braid_graph_add_host_call(
        all.graph, &(braid_host_call){ .call = add_one, .user = &all.calls }, &all.node));
    check_ok(braid_exec_create(all.device, all.graph,
                               &(braid_exec_options){ .frames_in_flight = 2 }, &all.exec));
    all.own = braid_device_get_default_stream(all.device);
    check_ok(braid_stream_create(all.device, NULL, &all.stream));
    check_ok(braid_event_create(all.device, NULL, &all.event));
    check_ok(braid_memory_allocate(all.device, BRAID_MEMORY_HOST, 64, &all.memory));
    check_ok(braid_device_open_group(&all.device, 1, &all.group));
    check_ok(braid_exec_launch(all.exec, NULL));
}

static void destroy_all(void)
{
    braid_exec_destroy(all.exec);
    braid_stream_destroy(all.stream);
    braid_event_destroy(all.event);
    braid_memory_free(all.device, all.memory);
    braid_graph_destroy(all.graph);
    if (braid_device_close(all.group) || braid_device_close(all.device))
        abort();
}

static void run_child(void (*child)(void), bool by_exit)
{
    pid_t pid = fork_calmly();
    if (pid == 0) {
        alarm(PATIENCE_SECONDS);
        child();
        if (!by_exit)
            _exit(0);
        exit(0);
    }
    int state = 0;
    assert_int_equal(waitpid(pid, &state, 0), pid);
    assert_false(WIFSIGNALED(state));
    assert_int_equal(WEXITSTATUS(state), 0);
}

static void let_go_and_destroy(void)
{
    assert_int_equal(write(all.doors[1], "abc", NUM_FRAMES), NUM_FRAMES);
    check_ok(braid_exec_launch(all.exec, NULL));
    check_ok(braid_exec_launch(all.exec, NULL));
    check_ok(braid_exec_wait(all.exec));
    assert_int_equal(all.calls, NUM_FRAMES);
    destroy_all();
    close(all.doors[0]);
}

// The frame of a case that failed ends, too: a driver makes no other host call before.
static int open_doors(void **state)
{
    (void)state;
    int door = all.doors[1]; // 0: the case made none
    all.doors[1] = 0;
    return door ? close(door) : 0;
}

#define child_test(function) cmocka_unit_test_teardown(function, open_doors)

static void destroy_at_exit(void)
{
    if (atexit(destroy_all))
        abort();
}

static void handlers_at_exit_end(void **state)
{
    (void)state;
    make_all();
    run_child(destroy_at_exit, true);
    let_go_and_destroy();
}

static void fork_again(void)
{
    run_child(destroy_all, false);
    destroy_all();
}

static void so_does_a_childs_child(void **state)
{
    (void)state;
    make_all();
    run_child(fork_again, false);
    let_go_and_destroy();
}

static void require(bool holds, int line)
{
    if (!holds)
        _exit(line % 200 + 1);
}

static void refuse(braid_status status, int line)
{
    const char *message = braid_error_get_message();
    if (is_left_out(status)) {
        fprintf(stderr, "not tried: %s\n", message);
        return;
    }
    require(status == BRAID_WRONG_STATE && strstr(message, "before a fork") &&
                strstr(message, backend),
            line);
}

#define refused(call) refuse((call), __LINE__)

static void use_the_device(void)
{
    char bytes[4] = { 0 };
    braid_device *const members[] = { all.device };
    braid_device *group;
    braid_exec *exec;
    braid_exec_options way;
    braid_stream *stream;
    braid_event *event;
    void *memory;
    braid_device_info info;
    refused(braid_stream_create(all.device, NULL, &stream));
    refused(braid_stream_wait(all.stream));
    refused(braid_stream_query(all.own));
    refused(braid_stream_copy(all.own, bytes, bytes + 2, 2));
    refused(braid_stream_follow(all.stream, all.event));
    refused(braid_event_create(all.device, NULL, &event));
    refused(braid_event_record(all.event, all.stream));
    refused(braid_event_query(all.event));
    refused(braid_event_wait(all.event));
    refused(braid_memory_allocate(all.device, BRAID_MEMORY_HOST, 8, &memory));
    refused(braid_device_open_group(members, 1, &group));
    refused(braid_exec_create(all.device, all.graph, NULL, &exec));
    refused(braid_exec_create(all.group, all.graph, NULL, &exec));
    refused(braid_graph_tune(all.graph, all.device, NULL, &way));
    braid_device_get_info(all.device, &info);
    require(!info.num_units && !braid_stream_get_handle(all.own), __LINE__);
}

static void use_the_exec(void)
{
    braid_timings timings;
    braid_exec_info info;
    braid_running_node nodes[1];
    size_t num;
    uint64_t bytes;
    refused(braid_exec_launch(all.exec, NULL));
    refused(braid_exec_launch_many(all.exec, NULL, 2, NULL, 0));
    refused(braid_exec_wait(all.exec));
    refused(braid_exec_wait_for(all.exec, BRAID_LAST_FRAME, 0));
    refused(braid_exec_set(all.exec, all.node, BRAID_TARGET_USER, 0, &num));
    refused(braid_exec_get_timings(all.exec, &timings));
    refused(braid_exec_get_iterations(all.exec, all.node, &bytes));
    refused(braid_exec_get_running(all.exec, nodes, 1, &num));
    refused(braid_exec_save_capture(all.exec, NULL, &bytes));
    refused(braid_exec_cancel(all.exec));
    braid_exec_get_info(all.exec, &info);
    require(!info.frames_in_flight, __LINE__);
}

static void uses_get_an_error(void **state)
{
    (void)state;
    make_all();
    run_child(use_the_device, false);
    run_child(use_the_exec, false);
    let_go_and_destroy();
}

static void make_own(void)
{
    braid_device *device;
    braid_schedule *schedule;
    braid_status status = braid_device_open(
        &(braid_device_options){ .backend = backend, .num_workers = 2, .cache = "off" }, &device);
    require(!braid_schedule_create(all.graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &schedule),
            __LINE__);
    braid_schedule_destroy(schedule);
    if (strcmp(backend, "cpu") != 0) { // no driver of these bears a fork
        require(status == BRAID_UNAVAILABLE && strstr(braid_error_get_message(), "before a fork"),
                __LINE__);
        return;
    }
    braid_exec *exec = NULL;
    braid_graph *graph = NULL;
    require(!status && !braid_graph_create(&graph) &&
                !braid_graph_add_empty(graph, &(braid_empty){ 0 }, NULL) &&
                !braid_exec_create(device, graph, NULL, &exec),
            __LINE__);
    require(!braid_exec_launch(exec, NULL) && !braid_exec_wait(exec), __LINE__);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    require(!braid_device_close(device), __LINE__);
}

static void a_child_may_make_its_own(void **state)
{
    (void)state;
#if defined(UNDER_TSAN)
    skip_because("the child of a program with threads cannot start any under the sanitizer");
#endif
    make_all();
    run_child(make_own, false);
    let_go_and_destroy();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        child_test(handlers_at_exit_end),
        child_test(so_does_a_childs_child),
        child_test(uses_get_an_error),
        child_test(a_child_may_make_its_own),
    };
    if (argc > 1)
        backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
