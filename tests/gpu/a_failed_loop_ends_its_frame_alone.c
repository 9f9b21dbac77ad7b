// SPDX-License-Identifier: Apache-2.0
// When an iteration cannot be queued, all loops of its frame end, and nothing of them runs behind
// the frame. One call tells of it, and the next launch is made.
#include <semaphore.h>
#include <time.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { MOST_QUEUED = 32 }; // iterations of a loop without a condition

// A loop of host calls, with a loop inside whose kernel is the only one of the graph.
struct nest {
    struct frame frame;
    braid_node outer;
    braid_node first_call;
    braid_node sum;
    atomic_bool is_held; // the first call of each iteration
    atomic_int num_first, num_others;
    sem_t goes_on;
};

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

static void add_inner(struct nest *nest, braid_graph *graph, braid_node *out_inner)
{
    uint32_t *words = nest->frame.words;
    const braid_loop inner = { .node.name = "inner", .times = 1, BRAID_AFTER(nest->first_call) };
    const braid_kernel_node sum = { .kernel = &sum_kernel,
                                    BRAID_ARGS(BRAID_ARG(words), BRAID_ARG(words), BRAID_ARG(words),
                                               BRAID_ARG((uint32_t){ 1 })) };
    check_ok(braid_graph_begin_loop(graph, &inner, out_inner));
    check_ok(braid_graph_add_kernel(graph, &sum, &nest->sum));
    check_ok(braid_graph_end(graph));
}

static void open_nest(struct nest *nest, uint64_t times, int num_others, uint32_t num_frames)
{
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .frames = num_frames };
    const braid_loop outer = { .node.name = "outer", .times = times };
    braid_graph *graph;
    braid_node last;
    *nest = (struct nest){ 0 };
    reset_standin();
    sem_init(&nest->goes_on, 0, 0);
    check_ok(frame_open(&nest->frame, "cuda"));
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
    check_ok(braid_exec_create(nest->frame.device, graph, &options, &nest->frame.exec));
    braid_graph_destroy(graph);
}

static void close_nest(struct nest *nest)
{
    frame_finish(&nest->frame);
    check_nothing_is_left();
    sem_destroy(&nest->goes_on);
}

static uint64_t num_iterations(const struct nest *nest)
{
    uint64_t num = UINT64_MAX;
    check_ok(braid_exec_get_iterations(nest->frame.exec, nest->outer, &num));
    return num;
}

static void fail_kernels(const char *rule)
{
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
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
        fail_kernels("cuLaunchKernel:1=999");
        check_ok(braid_exec_launch(nest.frame.exec, nest.frame.stream));
        check_fails(braid_exec_wait(nest.frame.exec), BRAID_DEVICE_ERROR, "'inner' ended early");
        uint64_t num = num_iterations(&nest);
        assert_int_equal(atomic_load(&nest.num_others), num * num_others);
        num_in_time += num < MOST_QUEUED - 1;
    }
    fail_kernels(NULL);
    check_ok(braid_exec_launch(nest.frame.exec, nest.frame.stream));
    check_ok(braid_exec_wait(nest.frame.exec));
    assert_int_equal(num_iterations(&nest), MOST_QUEUED - 1);
    print_message("summary: %d of %d loops ended early\n", num_in_time, num_rounds);
    close_nest(&nest);
}

// Who waits for the frame before is told of it, while the outer loop awaits what it has queued.
static void a_loop_ends_though_its_failure_was_told(void **state)
{
    struct nest nest;
    (void)state;
    open_nest(&nest, 3 * MOST_QUEUED, 0, 2);
    check_ok(braid_exec_launch(nest.frame.exec, nest.frame.stream));
    check_ok(braid_exec_wait(nest.frame.exec));
    atomic_store(&nest.is_held, true);
    atomic_store(&nest.num_first, 0);
    fail_kernels("cuLaunchKernel:1=999");
    long num_calls = standin_calls("cuLaunchHostFunc");
    check_ok(braid_exec_launch(nest.frame.exec, nest.frame.stream));
    while (standin_calls("cuLaunchHostFunc") < num_calls + 1 + 2 * MOST_QUEUED)
        pause_ns(50000);
    sem_post(&nest.goes_on);
    while (atomic_load(&nest.num_first) < 2)
        pause_ns(50000);
    check_fails(braid_exec_wait_until(nest.frame.exec, 0, UINT64_MAX), BRAID_DEVICE_ERROR,
                "'inner' ended early");
    atomic_store(&nest.is_held, false);
    sem_post(&nest.goes_on);
    check_ok(braid_exec_wait(nest.frame.exec));
    assert_int_equal(num_iterations(&nest), MOST_QUEUED);
    fail_kernels(NULL);
    check_ok(braid_exec_launch(nest.frame.exec, nest.frame.stream));
    check_ok(braid_exec_wait(nest.frame.exec));
    assert_int_equal(num_iterations(&nest), 3 * MOST_QUEUED);
    close_nest(&nest);
}

static void failures_of_several_frames_are_told_by_one_call(void **state)
{
    struct nest nest;
    (void)state;
    open_nest(&nest, 1, 0, 3);
    fail_kernels("cuLaunchKernel:1+=999");
    atomic_store(&nest.is_held, true);
    for (int i = 0; i < 3; i++)
        check_ok(braid_exec_launch(nest.frame.exec, nest.frame.stream));
    atomic_store(&nest.is_held, false);
    for (int i = 0; i < 3; i++)
        sem_post(&nest.goes_on);
    check_fails(braid_exec_wait(nest.frame.exec), BRAID_DEVICE_ERROR, "'inner' ended early");
    fail_kernels(NULL);
    check_ok(braid_exec_launch(nest.frame.exec, nest.frame.stream));
    check_ok(braid_exec_wait(nest.frame.exec));
    close_nest(&nest);
}

// The device fails in front of frames that have values of their own. The address sanitizer tells
// of values that are not freed.
static void what_a_failed_device_leaves_queued_is_freed(void **state)
{
    struct nest nest;
    struct frame *frame = &nest.frame;
    (void)state;
    open_nest(&nest, 1, 0, 1);
    assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "2000"));
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", "1=700"));
    check_ok(braid_stream_fill(frame->device, frame->stream, frame->words, 0, 4, 1));
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t addend = 2 + i;
        check_ok(braid_exec_set_arg(frame->exec, nest.sum, 3, BRAID_ARG(addend)));
        (void)!braid_exec_launch(frame->exec, frame->stream); // ahead of the fault, if it is fast
    }
    check_fails(braid_exec_wait(frame->exec), BRAID_DEVICE_ERROR, "");
    reset_standin();
    standin_forget_faults();
    close_nest(&nest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_iteration_runs_behind_its_frame),
        cmocka_unit_test(a_loop_ends_though_its_failure_was_told),
        cmocka_unit_test(failures_of_several_frames_are_told_by_one_call),
        cmocka_unit_test(what_a_failed_device_leaves_queued_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
