// SPDX-License-Identifier: Apache-2.0
// When an iteration cannot be queued, all loops of its frame end, and nothing of them runs behind
// the frame. One call tells of it, and the next launch is made.
#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "base/error.h"
#include "device/device.h"
#include "support/check.h"

enum { MOST_QUEUED = 32 }; // iterations of a loop without a condition

// A loop of host calls, with a loop inside whose kernel is the only one of the graph.
struct nest {
    braid_device *device;
    braid_exec *exec;
    braid_node outer;
    braid_node first_call;
    atomic_bool is_held; // the first call of each iteration
    atomic_int num_first, num_others;
    sem_t goes_on;
};

// The backend's calls, which fail where they are told to.
static struct {
    struct backend_ops ops;
    const struct backend_ops *real;
    atomic_int num_failing;       // kernels, from the next on
    atomic_int num_failing_waits; // for a stream, likewise
    atomic_bool fails_calls;      // host calls and entries of loops
    atomic_int num_calls;         // of both
} queue;

static braid_status submit(struct backend *backend, struct backend_stream *stream,
                           const struct backend_task *task)
{
    if (task->kind == WORK_HOST)
        atomic_fetch_add(&queue.num_calls, 1);
    if (task->kind == WORK_HOST && atomic_load(&queue.fails_calls))
        return braid_error(BRAID_DEVICE_ERROR, "no call is queued");
    if (task->kind == WORK_KERNEL && atomic_load(&queue.num_failing) > 0) {
        atomic_fetch_sub(&queue.num_failing, 1);
        return braid_error(BRAID_DEVICE_ERROR, "no kernel is queued");
    }
    return queue.real->submit(backend, stream, task);
}

static braid_status synchronize(struct backend *backend, struct backend_stream *stream)
{
    if (atomic_load(&queue.num_failing_waits) > 0) {
        atomic_fetch_sub(&queue.num_failing_waits, 1);
        return braid_error(BRAID_DEVICE_ERROR, "no wait is made");
    }
    return queue.real->stream_synchronize(backend, stream);
}

static void take_over(struct backend *backend)
{
    queue.real = backend->ops;
    queue.ops = *backend->ops;
    queue.ops.submit = submit;
    queue.ops.stream_synchronize = synchronize;
    backend->ops = &queue.ops;
}

static void fail_kernels(int num)
{
    atomic_store(&queue.num_failing, num);
}

static void pause_ns(long ns)
{
    nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void make_first(void *user)
{
    struct nest *nest = user;
    atomic_fetch_add(&nest->num_first, 1);
    while (atomic_load(&nest->is_held) && sem_wait(&nest->goes_on))
        continue;
}

static void make_other(void *user)
{
    struct nest *nest = user;
    pause_ns(20000);
    atomic_fetch_add(&nest->num_others, 1);
}

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static const braid_kernel idle = { .name = "idle", .cpu = do_nothing };

static void add_inner(struct nest *nest, braid_graph *graph, braid_node *out_inner)
{
    const bool is_nested = nest->first_call.graph != 0;
    const braid_loop inner = {
        .node = { .name = "inner", .after = &nest->first_call, .num_after = is_nested }, .times = 1
    };
    check_ok(braid_graph_begin_loop(graph, &inner, out_inner));
    check_ok(braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &idle }, NULL));
    check_ok(braid_graph_end(graph));
}

static void open_nest(struct nest *nest, uint64_t times, int num_others, uint32_t num_frames)
{
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .frames = num_frames };
    const braid_loop outer = { .node.name = "outer", .times = times };
    braid_graph *graph;
    braid_node last;
    *nest = (struct nest){ 0 };
    sem_init(&nest->goes_on, 0, 0);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &nest->device));
    take_over(nest->device->backend);
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_begin_loop(graph, &outer, &nest->outer));
    const braid_host_call first = { .call = make_first, .user = nest, .blocking = true };
    check_ok(braid_graph_add_host_call(graph, &first, &nest->first_call));
    add_inner(nest, graph, &last);
    for (int i = 0; i < num_others; i++) {
        const braid_host_call other = { .call = make_other, .user = nest, BRAID_AFTER(last) };
        check_ok(braid_graph_add_host_call(graph, &other, &last));
    }
    check_ok(braid_graph_end(graph));
    check_ok(braid_exec_create(nest->device, graph, &options, &nest->exec));
    braid_graph_destroy(graph);
}

static void close_nest(struct nest *nest)
{
    braid_exec_destroy(nest->exec);
    check_ok(braid_device_close(nest->device));
    sem_destroy(&nest->goes_on);
}

static uint64_t num_iterations(const struct nest *nest)
{
    uint64_t num = UINT64_MAX;
    check_ok(braid_exec_get_iterations(nest->exec, nest->outer, &num));
    return num;
}

// The inner loop fails while the outer one queues its iterations, in some of the rounds at least.
static void no_iteration_runs_behind_its_frame(void **state)
{
    enum { num_others = 50, num_rounds = 10 };
    struct nest nest;
    int num_in_time = 0;
    (void)state;
    open_nest(&nest, MOST_QUEUED - 1, num_others, 1);
    for (int i = 0; i < num_rounds; i++) {
        atomic_store(&nest.num_others, 0);
        fail_kernels(1);
        check_ok(braid_exec_launch(nest.exec, NULL));
        check_fails(braid_exec_wait(nest.exec), BRAID_DEVICE_ERROR, "'inner' ended early");
        uint64_t num = num_iterations(&nest);
        assert_int_equal(atomic_load(&nest.num_others), num * num_others);
        num_in_time += num < MOST_QUEUED - 1;
    }
    fail_kernels(0);
    check_ok(braid_exec_launch(nest.exec, NULL));
    check_ok(braid_exec_wait(nest.exec));
    assert_int_equal(num_iterations(&nest), MOST_QUEUED - 1);
    print_message("summary: %d of %d loops ended early\n", num_in_time, num_rounds);
    close_nest(&nest);
}

static void an_iteration_that_cannot_be_awaited_is_told(void **state)
{
    struct nest nest;
    (void)state;
    open_nest(&nest, 1, 1, 1);
    atomic_store(&queue.num_failing_waits, 1);
    check_ok(braid_exec_launch(nest.exec, NULL));
    check_fails(braid_exec_wait(nest.exec), BRAID_DEVICE_ERROR, "ended early: no wait is made");
    check_ok(braid_exec_launch(nest.exec, NULL));
    check_ok(braid_exec_wait(nest.exec));
    assert_int_equal(num_iterations(&nest), 1);
    close_nest(&nest);
}

// Nobody has waited for the exec.
static void the_next_launch_tells(void **state)
{
    struct nest nest;
    (void)state;
    open_nest(&nest, 1, 1, 1);
    fail_kernels(1);
    check_ok(braid_exec_launch(nest.exec, NULL));
    check_ok(braid_stream_synchronize(nest.device, NULL));
    check_fails(braid_exec_launch(nest.exec, NULL), BRAID_DEVICE_ERROR, "'inner' ended early");
    check_ok(braid_exec_launch(nest.exec, NULL));
    check_ok(braid_exec_wait(nest.exec));
    assert_int_equal(num_iterations(&nest), 1);
    close_nest(&nest);
}

// The launch that cannot enter it fails. The next one enters it with values of its own.
static void a_loop_that_is_not_entered_leaves_nothing_behind(void **state)
{
    struct nest nest;
    (void)state;
    open_nest(&nest, 1, 1, 1);
    for (uint64_t times = 2; times < 5; times++) {
        atomic_store(&nest.num_others, 0);
        atomic_store(&queue.fails_calls, true);
        check_fails(braid_exec_launch(nest.exec, NULL), BRAID_DEVICE_ERROR, "no call is queued");
        atomic_store(&queue.fails_calls, false);
        check_ok(braid_exec_set(nest.exec, nest.outer, BRAID_TARGET_TIMES, 0, &times));
        check_ok(braid_exec_wait(nest.exec));
        assert_int_equal(atomic_load(&nest.num_others), 0);
        check_ok(braid_exec_launch(nest.exec, NULL));
        check_ok(braid_exec_wait(nest.exec));
        assert_int_equal(num_iterations(&nest), times);
        assert_int_equal(atomic_load(&nest.num_others), times);
    }
    close_nest(&nest);
}

// Of loops side by side that fail in one frame, one is told.
static void of_two_failed_loops_one_is_told(void **state)
{
    enum { num_rounds = 100, num_loops = 4 };
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS,
                                         .plan = { .max_lanes = num_loops, .fixed_lanes = true } };
    struct nest nest = { 0 };
    braid_graph *graph;
    braid_node loop;
    (void)state;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &nest.device));
    take_over(nest.device->backend);
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < num_loops; i++)
        add_inner(&nest, graph, &loop);
    check_ok(braid_exec_create(nest.device, graph, &options, &nest.exec));
    braid_graph_destroy(graph);
    for (int i = 0; i < num_rounds; i++) {
        fail_kernels(num_loops);
        check_ok(braid_exec_launch(nest.exec, NULL));
        check_fails(braid_exec_wait(nest.exec), BRAID_DEVICE_ERROR, "'inner' ended early");
        fail_kernels(0);
        check_ok(braid_exec_launch(nest.exec, NULL));
        check_ok(braid_exec_wait(nest.exec));
    }
    braid_exec_destroy(nest.exec);
    check_ok(braid_device_close(nest.device));
}

// Who waits for the frame before is told of it, while the outer loop awaits what it has queued.
static void a_loop_ends_though_its_failure_was_told(void **state)
{
    struct nest nest;
    (void)state;
    open_nest(&nest, 3 * MOST_QUEUED, 0, 2);
    check_ok(braid_exec_launch(nest.exec, NULL));
    check_ok(braid_exec_wait(nest.exec));
    atomic_store(&nest.is_held, true);
    atomic_store(&nest.num_first, 0);
    fail_kernels(1);
    int num_calls = atomic_load(&queue.num_calls);
    check_ok(braid_exec_launch(nest.exec, NULL));
    while (atomic_load(&queue.num_calls) < num_calls + 1 + 2 * MOST_QUEUED)
        pause_ns(50000);
    sem_post(&nest.goes_on);
    while (atomic_load(&nest.num_first) < 2)
        pause_ns(50000);
    check_fails(braid_exec_wait_until(nest.exec, 0, UINT64_MAX), BRAID_DEVICE_ERROR,
                "'inner' ended early");
    atomic_store(&nest.is_held, false);
    sem_post(&nest.goes_on);
    check_ok(braid_exec_wait(nest.exec));
    assert_int_equal(num_iterations(&nest), MOST_QUEUED);
    fail_kernels(0);
    check_ok(braid_exec_launch(nest.exec, NULL));
    check_ok(braid_exec_wait(nest.exec));
    assert_int_equal(num_iterations(&nest), 3 * MOST_QUEUED);
    close_nest(&nest);
}

static void failures_of_several_frames_are_told_by_one_call(void **state)
{
    struct nest nest;
    (void)state;
    open_nest(&nest, 1, 0, 3);
    fail_kernels(INT_MAX);
    atomic_store(&nest.is_held, true);
    for (int i = 0; i < 3; i++)
        check_ok(braid_exec_launch(nest.exec, NULL));
    atomic_store(&nest.is_held, false);
    for (int i = 0; i < 3; i++)
        sem_post(&nest.goes_on);
    check_fails(braid_exec_wait(nest.exec), BRAID_DEVICE_ERROR, "'inner' ended early");
    fail_kernels(0);
    check_ok(braid_exec_launch(nest.exec, NULL));
    check_ok(braid_exec_wait(nest.exec));
    close_nest(&nest);
}

// The loop behind the failed one ran in the frame before.
static void a_loop_that_is_skipped_has_no_iterations(void **state)
{
    struct nest nest = { 0 };
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    const braid_host_call other = { .call = make_other, .user = &nest };
    braid_graph *graph;
    uint64_t num = UINT64_MAX;
    (void)state;
    sem_init(&nest.goes_on, 0, 0);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &nest.device));
    take_over(nest.device->backend);
    check_ok(braid_graph_create(&graph));
    add_inner(&nest, graph, &nest.first_call);
    const braid_loop behind = { .times = 2, BRAID_AFTER(nest.first_call) };
    check_ok(braid_graph_begin_loop(graph, &behind, &nest.outer));
    check_ok(braid_graph_add_host_call(graph, &other, NULL));
    check_ok(braid_graph_end(graph));
    check_ok(braid_exec_create(nest.device, graph, &options, &nest.exec));
    braid_graph_destroy(graph);
    check_ok(braid_exec_launch(nest.exec, NULL));
    check_ok(braid_exec_wait(nest.exec));
    assert_int_equal(num_iterations(&nest), 2);
    fail_kernels(1);
    check_ok(braid_exec_launch(nest.exec, NULL));
    check_fails(braid_exec_wait(nest.exec), BRAID_DEVICE_ERROR, "'inner' ended early");
    fail_kernels(0);
    assert_int_equal(atomic_load(&nest.num_others), 2);
    assert_int_equal(num_iterations(&nest), 0);
    check_ok(braid_exec_get_iterations(nest.exec, nest.first_call, &num));
    assert_int_equal(num, 0);
    close_nest(&nest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_iteration_runs_behind_its_frame),
        cmocka_unit_test(an_iteration_that_cannot_be_awaited_is_told),
        cmocka_unit_test(the_next_launch_tells),
        cmocka_unit_test(a_loop_that_is_not_entered_leaves_nothing_behind),
        cmocka_unit_test(of_two_failed_loops_one_is_told),
        cmocka_unit_test(a_loop_ends_though_its_failure_was_told),
        cmocka_unit_test(failures_of_several_frames_are_told_by_one_call),
        cmocka_unit_test(a_loop_that_is_skipped_has_no_iterations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
