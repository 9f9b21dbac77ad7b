// SPDX-License-Identifier: Apache-2.0
// An exec's info says what a further frame takes while several are in flight, and when it gains
// nothing.
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"

// Two buffers are shared by all frames, the last is each frame's own.
enum { MOST_ACCESSES = 3, OWN = 2, NUM_BUFFERS = 3 };

// Buffers by number, read and changed; -1 ends. With `times` it is the body of a loop. A host call
// computes, on a device with threads.
struct task {
    uint64_t cost_ns;
    int reads[MOST_ACCESSES], changes[MOST_ACCESSES];
    uint64_t times;
    bool is_host_call;
};

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static void call_nothing(void *user)
{
    (void)user;
}

// A frame begins its own buffer anew, and goes on with those that frames share.
static void add_task(braid_graph *graph, const struct task *task, const braid_resource *buffers,
                     bool *is_begun)
{
    static const braid_kernel kernel = { .name = "nothing", .cpu = do_nothing };
    braid_access accesses[2 * MOST_ACCESSES];
    size_t num = 0;
    for (int i = 0; i < MOST_ACCESSES && task->reads[i] >= 0; i++)
        accesses[num++] = (braid_access){ buffers[task->reads[i]], BRAID_READ };
    for (int i = 0; i < MOST_ACCESSES && task->changes[i] >= 0; i++) {
        bool begins = task->changes[i] == OWN && !*is_begun;
        *is_begun |= begins;
        accesses[num++] =
            (braid_access){ buffers[task->changes[i]], begins ? BRAID_WRITE : BRAID_READ_WRITE };
    }
    const braid_node_options node = { .cost_ns = task->cost_ns,
                                      .accesses = accesses,
                                      .num_accesses = num };
    if (task->is_host_call)
        check_ok(braid_graph_add_host_call(
            graph, &(braid_host_call){ .node = node, .call = call_nothing }, NULL));
    else
        check_ok(braid_graph_add_kernel(
            graph, &(braid_kernel_node){ .node = node, .kernel = &kernel }, NULL));
}

static braid_exec_info info_of(const struct task *tasks, int num_tasks, uint32_t num_frames,
                               uint32_t max_concurrent)
{
    static int memory[NUM_BUFFERS];
    bool is_begun = false;
    braid_exec_info info;
    braid_resource buffers[NUM_BUFFERS];
    braid_device *device = own_device("cpu");
    braid_graph *graph = own_graph();
    for (int i = 0; i < OWN; i++)
        check_ok(braid_graph_add_buffer(graph, "shared", &memory[i], sizeof(int), &buffers[i]));
    check_ok(braid_graph_add_transient(graph, "own", 64, 0, &buffers[OWN]));
    for (int i = 0; i < num_tasks; i++) {
        if (tasks[i].times)
            check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = tasks[i].times }, NULL));
        add_task(graph, &tasks[i], buffers, &is_begun);
        if (tasks[i].times)
            check_ok(braid_graph_end(graph));
    }
    const braid_exec_options options = {
        .frames_in_flight = num_frames,
        .costs = &(braid_cost_model){ .default_cost_ns = 1,
                                      .max_concurrent = max_concurrent,
                                      .max_threads = tasks[0].is_host_call ? 1024 : 0 },
    };
    braid_exec *exec = own_exec(device, graph, &options);
    braid_exec_get_info(exec, &info);
    static char reason[256]; // the exec's own ends with it
    snprintf(reason, sizeof(reason), "%s", info.frames_reason);
    info.frames_reason = reason;
    destroy_owned();
    return info;
}

#define NO_GAIN "; no gain: a further frame takes as long as one alone, by the plan's times"

static void nodes_that_pass_on_one_state_gain_nothing(void **state)
{
    (void)state;
    const struct task tasks[] = { { 1000, { -1 }, { 0, -1 } }, { 2000, { -1 }, { 0, -1 } } };
    braid_exec_info info = info_of(tasks, 2, 3, 0);
    assert_int_equal(info.frame_alone_ns, 3000);
    assert_int_equal(info.frame_period_ns, 3000);
    assert_non_null(strstr(info.frames_reason, NO_GAIN));
}

static const struct task pipeline[] = { { 1000, { -1 }, { 0, -1 } }, // the state of a decoder
                                        { 3000, { 0, -1 }, { OWN, -1 } },
                                        { 2000, { OWN, -1 }, { 1, -1 } } };

// The decoder of the next frame waits for the second stage, which reads what it writes.
static void a_pipeline_takes_what_its_longest_circle_takes(void **state)
{
    (void)state;
    braid_exec_info info = info_of(pipeline, 3, 2, 0);
    assert_int_equal(info.frame_alone_ns, 6000);
    assert_int_equal(info.frame_period_ns, 4000);
    assert_non_null(strstr(info.frames_reason,
                           "; a further frame takes 0.67 of one alone, by the plan's times"));
    assert_int_equal(info_of(pipeline, 3, 4, 0).frame_period_ns, 4000);
}

static void one_frame_in_flight_is_one_alone(void **state)
{
    (void)state;
    braid_exec_info info = info_of(pipeline, 3, 1, 0);
    assert_int_equal(info.frame_period_ns, info.frame_alone_ns);
    assert_string_equal(info.frames_reason, "");
}

static void a_full_device_gains_nothing(void **state)
{
    (void)state;
    braid_exec_info info = info_of(pipeline, 3, 2, 1);
    assert_int_equal(info.frame_period_ns, 6000);
    assert_non_null(strstr(info.frames_reason, NO_GAIN));
}

// The first node of the next frame waits for the last of this one, and has time until then.
static void a_node_that_may_start_later_holds_nothing_up(void **state)
{
    (void)state;
    const struct task tasks[] = { { 1000, { 0, -1 }, { -1 } },
                                  { 9000, { -1 }, { OWN, -1 } },
                                  { 1000, { OWN, -1 }, { 0, -1 } } };
    braid_exec_info info = info_of(tasks, 3, 8, 0);
    assert_int_equal(info.frame_alone_ns, 10000);
    assert_int_equal(info.frame_period_ns, 2000);
}

static void frames_that_share_nothing_divide_the_time(void **state)
{
    (void)state;
    const struct task tasks[] = { { 4000, { -1 }, { OWN, -1 } }, { 4000, { -1 }, { OWN, -1 } } };
    braid_exec_info info = info_of(tasks, 2, 4, 0);
    assert_int_equal(info.frame_alone_ns, 8000);
    assert_int_equal(info.frame_period_ns, 2000);
}

static void a_loop_takes_what_its_iterations_take(void **state)
{
    (void)state;
    const struct task loop = { 1000, { -1 }, { OWN, -1 }, .times = 4 };
    braid_exec_info info = info_of(&loop, 1, 4, 0);
    assert_int_equal(info.frame_alone_ns, 4000);
    assert_int_equal(info.frame_period_ns, 1000);
    assert_int_equal(info_of(&loop, 1, 4, 1).frame_period_ns, 4000);
}

static void a_gpu_makes_calls_that_compute_one_after_another(void **state)
{
    (void)state;
    const struct task calls[] = { { 4000, { -1 }, { OWN, -1 }, .is_host_call = true },
                                  { 4000, { -1 }, { OWN, -1 }, .is_host_call = true } };
    braid_exec_info info = info_of(calls, 2, 4, 0);
    assert_int_equal(info.frame_alone_ns, 8000);
    assert_int_equal(info.frame_period_ns, 8000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(nodes_that_pass_on_one_state_gain_nothing),
        owning_test(a_pipeline_takes_what_its_longest_circle_takes),
        owning_test(one_frame_in_flight_is_one_alone),
        owning_test(a_full_device_gains_nothing),
        owning_test(a_node_that_may_start_later_holds_nothing_up),
        owning_test(frames_that_share_nothing_divide_the_time),
        owning_test(a_loop_takes_what_its_iterations_take),
        owning_test(a_gpu_makes_calls_that_compute_one_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
