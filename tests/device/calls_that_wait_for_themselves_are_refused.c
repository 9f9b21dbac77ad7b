// SPDX-License-Identifier: Apache-2.0
// A host or queue call, or a kernel of the CPU, that would wait for itself gets an error that says
// so, instead of hanging.
#include <string.h>
#include <unistd.h>

#include <braid/braid.h>

#include "support/check.h"

enum {
    PATIENCE_SECONDS = 60, // what waits for itself would wait for ever
    NUM_REFUSED = 8,       // calls of call_everything
};

static const char *backend = "cpu";

struct fixture {
    braid_device *device;
    braid_graph *graph;
    braid_node node, loop;
    braid_exec *exec, *other; // `other` has no calls in it
    braid_event *event;
    int num_refused, num_calls;
};

static void expect_refused(struct fixture *all, braid_status status)
{
    all->num_refused += status == BRAID_WRONG_STATE;
    all->num_calls++;
}

// What may be asked anywhere.
static void ask(const struct fixture *all)
{
    braid_exec_info info;
    braid_exec_get_info(all->exec, &info);
    assert_int_equal(info.frames_in_flight, 1);
    assert_non_null(braid_exec_get_schedule(all->exec));
    assert_true(braid_exec_get_num_launched(all->exec) < UINT64_MAX);
}

static void call_everything(void *user)
{
    struct fixture *all = user;
    expect_refused(all, braid_exec_launch(all->exec, NULL));
    expect_refused(all, braid_exec_wait(all->exec));
    expect_refused(all, braid_exec_set_args(all->exec, all->node, NULL, 0));
    expect_refused(all, braid_exec_launch(all->other, NULL));
    expect_refused(all, braid_exec_wait(all->other));
    expect_refused(all, braid_stream_wait(braid_device_get_default_stream(all->device)));
    expect_refused(all, braid_event_wait(all->event));
    expect_refused(all, braid_device_close(all->device));
    braid_exec_destroy(all->exec); // refused too: the frame goes on
    ask(all);
}

static braid_status call_own(braid_device *device, braid_stream *stream, void *user)
{
    struct fixture *all = user;
    uint64_t num;
    (void)device;
    expect_refused(all, braid_exec_launch(all->exec, stream));
    check_fails(braid_exec_get_iterations(all->exec, all->loop, &num), BRAID_WRONG_STATE,
                "called inside a queue call of the same exec");
    expect_refused(all, braid_exec_wait(all->exec));
    expect_refused(all, braid_exec_set_args(all->exec, all->node, NULL, 0));
    braid_exec_destroy(all->exec);
    ask(all);
    braid_status status =
        braid_exec_wait_for(all->exec, BRAID_LAST_FRAME, 0); // on the thread that launches it
    assert_true(status == BRAID_OK || status == BRAID_NOT_READY);
    return braid_exec_launch(all->other, stream); // another exec may be launched
}

static void on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = on_cpu };

static void open_fixture(struct fixture *all)
{
    // One worker: what a call launched and waited for could not run.
    const braid_device_options options = { .backend = backend, .num_workers = 1 };
    const braid_kernel_node launch = { .kernel = &kernel };
    alarm(PATIENCE_SECONDS);
    check_ok(braid_device_open(&options, &all->device));
    check_ok(braid_event_create(all->device, NULL, &all->event));
    check_ok(braid_graph_create(&all->graph));
    if (strcmp(backend, "cpu") == 0)
        check_ok(braid_graph_add_kernel(all->graph, &launch, &all->node));
    else
        check_ok(braid_graph_add_empty(all->graph, &(braid_empty){ 0 }, &all->node));
    check_ok(braid_exec_create(all->device, all->graph, NULL, &all->other));
}

static void run_and_close(struct fixture *all, braid_exec_mode mode, int num_expected)
{
    const braid_exec_options options = { .mode = mode };
    check_ok(braid_exec_create(all->device, all->graph, &options, &all->exec));
    check_ok(braid_exec_launch(all->exec, NULL));
    check_ok(braid_exec_wait(all->exec));
    assert_int_equal(all->num_calls, num_expected);
    assert_int_equal(all->num_refused, num_expected);
    check_ok(braid_exec_launch(all->exec, NULL)); // nothing is held or broken
    check_ok(braid_exec_wait(all->exec));
    braid_exec_destroy(all->exec);
    braid_exec_destroy(all->other);
    braid_event_destroy(all->event);
    braid_graph_destroy(all->graph);
    check_ok(braid_device_close(all->device));
    alarm(0);
}

static void host_calls(braid_exec_mode mode)
{
    for (int blocking = 0; blocking < 2; blocking++) {
        struct fixture all = { 0 };
        open_fixture(&all);
        check_ok(braid_graph_add_host_call(
            all.graph,
            &(braid_host_call){ .call = call_everything, .user = &all, .blocking = blocking },
            NULL));
        run_and_close(&all, mode, NUM_REFUSED);
    }
}

static void host_calls_on_streams(void **state)
{
    (void)state;
    host_calls(BRAID_MODE_STREAMS);
}

static void host_calls_of_the_walker(void **state)
{
    (void)state;
    host_calls(BRAID_MODE_GRAPH);
}

// Not a node of the exec: the program's own function on a stream that its frame runs on.
static void functions_on_a_stream(void **state)
{
    (void)state;
    struct fixture all = { 0 };
    open_fixture(&all);
    check_ok(braid_exec_create(all.device, all.graph, NULL, &all.exec));
    braid_stream *stream;
    check_ok(braid_stream_create(all.device, NULL, &stream));
    for (int round = 1; round <= 3; round++) {
        check_ok(braid_exec_launch(all.exec, stream));
        check_ok(braid_stream_host_call(stream, call_everything, &all));
        check_ok(braid_stream_host_call(stream, call_everything, &all));
        check_ok(braid_exec_launch(all.exec, stream));
        check_ok(braid_stream_wait(stream));
        assert_int_equal(all.num_calls, 2 * NUM_REFUSED * round);
        assert_int_equal(all.num_refused, 2 * NUM_REFUSED * round);
    }
    braid_stream_destroy(stream);
    braid_exec_destroy(all.exec);
    all.num_calls = all.num_refused = 0;
    run_and_close(&all, BRAID_MODE_STREAMS, 0);
}

static void queue_calls_and_their_own_exec(void **state)
{
    (void)state;
    struct fixture all = { 0 };
    open_fixture(&all);
    if (strcmp(backend, "cpu") == 0) { // others may play no loops
        check_ok(braid_graph_begin_loop(all.graph, &(braid_loop){ .times = 1 }, &all.loop));
        check_ok(braid_graph_add_empty(all.graph, &(braid_empty){ 0 }, NULL));
        check_ok(braid_graph_end(all.graph));
    }
    check_ok(braid_graph_add_queue_call(
        all.graph, &(braid_queue_call){ .call = call_own, .user = &all }, NULL));
    run_and_close(&all, BRAID_MODE_STREAMS, 3);
}

static void call_from_kernel(const braid_blocks *blocks, void *const *args)
{
    (void)args;
    struct fixture *all = blocks->user;
    if (blocks->begin == 0 && all->num_calls == 0)
        call_everything(all);
}

// The blocks of the grid are run by several threads, and by the one that waits.
static void kernels(braid_exec_mode mode, uint32_t num_blocks)
{
    struct fixture all = { 0 };
    const braid_kernel calling = { .name = "calling", .cpu = call_from_kernel, .user = &all };
    open_fixture(&all);
    check_ok(braid_graph_add_kernel(
        all.graph, &(braid_kernel_node){ .kernel = &calling, .grid.x = num_blocks }, NULL));
    run_and_close(&all, mode, NUM_REFUSED);
}

static void kernels_on_streams(void **state)
{
    (void)state;
    kernels(BRAID_MODE_STREAMS, 1);
    kernels(BRAID_MODE_STREAMS, 10000);
}

static void kernels_of_the_walker(void **state)
{
    (void)state;
    kernels(BRAID_MODE_GRAPH, 1);
    kernels(BRAID_MODE_GRAPH, 10000);
}

static void wait_in_kernel(const braid_blocks *blocks, void *const *args)
{
    (void)args;
    struct fixture *all = blocks->user;
    check_fails(braid_exec_wait(all->exec), BRAID_WRONG_STATE,
                "braid_exec_wait: called inside a kernel or host call of the CPU");
}

static void wait_for_own(void *user)
{
    struct fixture *all = user;
    check_fails(braid_exec_wait(all->exec), BRAID_WRONG_STATE,
                "braid_exec_wait: called inside a host call");
}

static void the_message_says_why(void **state)
{
    (void)state;
    struct fixture all = { 0 };
    open_fixture(&all);
    check_ok(braid_graph_add_host_call(
        all.graph, &(braid_host_call){ .call = wait_for_own, .user = &all }, NULL));
    const braid_kernel waiting = { .name = "waiting", .cpu = wait_in_kernel, .user = &all };
    check_ok(braid_graph_add_kernel(all.graph, &(braid_kernel_node){ .kernel = &waiting }, NULL));
    run_and_close(&all, BRAID_MODE_STREAMS, 0);
}

static int run_on_gpu(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_on_a_stream),
        cmocka_unit_test(host_calls_on_streams),
        cmocka_unit_test(queue_calls_and_their_own_exec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_on_a_stream),
        cmocka_unit_test(host_calls_on_streams),
        cmocka_unit_test(host_calls_of_the_walker),
        cmocka_unit_test(kernels_on_streams),
        cmocka_unit_test(kernels_of_the_walker),
        cmocka_unit_test(queue_calls_and_their_own_exec),
        cmocka_unit_test(the_message_says_why),
    };
    if (argc > 1) {
        backend = argv[1];
        return run_on_gpu();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
