// SPDX-License-Identifier: Apache-2.0
// A host call in a loop is changed from frame to frame: each iteration makes the call of its own
// frame, however many have run, and the changes take no more and more memory.
#include <stdatomic.h>
#include <time.h>

#include "contract/counting.h"
#include "contract/groups.h"
#include "support/failing_memory.h"

enum { times = 3, most_calls = 40 };

// The second call of a held counter waits.
struct counter {
    atomic_int num;
    atomic_bool is_held;
};

static void count_call(void *user)
{
    struct counter *counter = user;
    int num = atomic_fetch_add(&counter->num, 1) + 1;
    while (num == 2 && atomic_load(&counter->is_held))
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

static braid_exec *make_loop(struct contract *contract, struct counter *counter,
                             braid_node *out_call)
{
    braid_graph *graph = contract_graph(contract);
    begin_loop(graph, (braid_loop){ .times = times });
    *out_call = add_blocking(graph, (braid_node_options){ 0 }, count_call, counter);
    check_ok(braid_graph_end(graph));
    if (!contract_is_on_host())
        skip_because("a launch of a frame whose loops the host drives waits for room");
    return make_exec(contract, graph);
}

static void launch_with(braid_exec *exec, braid_node call, struct counter *counter)
{
    check_ok(braid_exec_set(exec, call, BRAID_TARGET_USER, 0, &(void *){ counter }));
    check_ok(braid_exec_launch(exec, NULL));
}

static void an_iteration_makes_no_call_of_a_later_frame(void **state)
{
    struct counter counters[most_calls] = { 0 };
    int num = 4 * (int)contract_frames();
    braid_node call;
    braid_exec *exec = make_loop(*state, counters, &call);
    atomic_store(&counters[0].is_held, true);
    launch_with(exec, call, &counters[0]);
    while (atomic_load(&counters[0].num) < 2)
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
    for (int i = 1; i <= num; i++)
        launch_with(exec, call, &counters[i]);
    atomic_store(&counters[0].is_held, false);
    check_ok(braid_exec_wait(exec));
    for (int i = 0; i <= num; i++)
        assert_int_equal(atomic_load(&counters[i].num), times);
}

static void changed_calls_do_not_gather(void **state)
{
    struct counter counters[2] = { 0 };
    uint64_t num_calls = 0;
    braid_node call;
    braid_exec *exec = make_loop(*state, counters, &call);
    for (int i = 0; i < most_calls; i++) {
        if (i == most_calls / 2)
            num_calls = failing_memory_num_calls();
        launch_with(exec, call, &counters[i % 2]);
        check_ok(braid_exec_wait(exec));
    }
    assert_int_equal(failing_memory_num_calls() - num_calls, 0);
}

// A parameter says how often, and then a setter; the loop with a condition takes them as its bound.
static void the_times_of_a_loop_change_from_frame_to_frame(void **state)
{
    struct contract *contract = *state;
    struct counting counting = begin_counting(contract, 4);
    braid_graph *graph = counting.graph;
    uint32_t *total = contract_numbers(contract, 1);
    braid_resource all = add_word(graph, "total", total);
    braid_parameter how_often;
    check_ok(braid_graph_add_parameter(graph, "times", sizeof(uint64_t), &how_often));
    braid_node fixed = begin_loop(graph, (braid_loop){ .times = 2 });
    add_step(graph, "more", all, total, 1);
    check_ok(braid_graph_end(graph));
    braid_node bounded = begin_loop(graph, (braid_loop){ .condition = counting.left, .most = 50 });
    add_body(&counting);
    check_ok(braid_graph_end(graph));
    const braid_parameter_use use = { .node = fixed, .target = BRAID_TARGET_TIMES };
    check_ok(braid_graph_use_parameter(graph, how_often, &use));
    braid_exec *exec = make_exec(contract, graph);
    check_ok(braid_exec_launch(exec, NULL));
    for (uint64_t frame = 1; frame < 5; frame++) {
        check_ok(braid_exec_set_parameter(exec, how_often, &(uint64_t){ 10 * frame }));
        check_ok(braid_exec_set(exec, bounded, BRAID_TARGET_TIMES, 0, &(uint64_t){ frame }));
        check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, total), 2 + 10 + 20 + 30 + 40);
    check_iterations(exec, fixed, 40);
    check_iterations(exec, bounded, 4); // the condition counts them
    check_ok(braid_exec_set_parameter(exec, how_often, &(uint64_t){ 0 }));
    for (uint64_t most = 0; most < 4; most++) {
        check_ok(braid_exec_set(exec, bounded, BRAID_TARGET_TIMES, 0, &most));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        check_iterations(exec, bounded, most);
        assert_int_equal(contract_number(contract, counting.numbers + 1), most);
        check_iterations(exec, fixed, 0);
    }
    assert_int_equal(contract_number(contract, total), 2 + 10 + 20 + 30 + 40);
}

int run_loop_calls(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(an_iteration_makes_no_call_of_a_later_frame),
        contract_test(changed_calls_do_not_gather),
        contract_test(the_times_of_a_loop_change_from_frame_to_frame),
    };
    return contract_run("each_iteration_makes_its_frames_call", tests);
}
