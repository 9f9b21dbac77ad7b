// SPDX-License-Identifier: Apache-2.0
// An exec that is asked to keeps the times of its last frames: of every node, wait, lane and frame,
// on the same plan, and a graph takes its costs from them.
#include <stdlib.h>
#include <time.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/failing_memory.h"
#include "support/wide_plan.h"

enum { busy_ns = 400000, slack_ns = 4000, kept = 3 }; // events tell times to half a microsecond

static braid_exec *exec_in_flight(struct contract *contract, const braid_graph *graph,
                                  uint32_t frames, uint32_t num_kept)
{
    const braid_exec_options options = { .mode = contract->mode,
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true,
                                         .islands = contract_islands(),
                                         .frames_kept = num_kept,
                                         .frames_in_flight = frames };
    braid_exec *exec;
    braid_status status = braid_exec_create(contract->device, graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED && contract->mode == BRAID_MODE_GRAPH)
        skip_because(braid_error_get_message());
    check_ok(status);
    contract_own_exec(contract, exec);
    return exec;
}

static braid_exec *exec_with_times(struct contract *contract, const braid_graph *graph)
{
    return exec_in_flight(contract, graph, 1, kept);
}

static void run_frame(braid_exec *exec)
{
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
}

static uint64_t length_of(braid_interval interval)
{
    return interval.end_ns - interval.start_ns;
}

// Two busy nodes at once, and one behind both.
struct fork {
    braid_graph *graph;
    braid_node left, right, behind;
    uint64_t *seen; // on the device: when each began and ended, by itself
};

static struct fork make_fork(struct contract *contract)
{
    struct fork fork = { .graph = contract_graph(contract) };
    fork.seen = contract_memory(contract, BRAID_MEMORY_DEVICE, 6 * sizeof(uint64_t));
    fork.left = add_busy(fork.graph, (braid_node_options){ .name = "left" }, fork.seen, busy_ns);
    fork.right =
        add_busy(fork.graph, (braid_node_options){ .name = "right" }, fork.seen + 2, 3 * busy_ns);
    fork.behind =
        add_busy(fork.graph, (braid_node_options){ AFTER(fork.left, fork.right), .name = "behind" },
                 fork.seen + 4, busy_ns);
    return fork;
}

static void nodes_take_as_long_as_they_see_themselves(void **state)
{
    struct contract *contract = *state;
    struct fork fork = make_fork(contract);
    braid_exec *exec = exec_with_times(contract, fork.graph);
    run_frame(exec);
    braid_interval seen[3];
    braid_timings timings;
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_int_equal(timings.frames_kept, 1);
    assert_int_equal(timings.num_nodes, 3);
    const braid_interval *intervals = timings.intervals;
    contract_read(contract, seen, fork.seen, sizeof(seen));
    for (int i = 0; i < 3; i++) {
        assert_true(length_of(intervals[i]) + slack_ns >= length_of(seen[i]));
        assert_int_equal(timings.nodes[i].time.median_ns, length_of(intervals[i]));
    }
    assert_true(intervals[2].start_ns + slack_ns >= intervals[0].end_ns);
    assert_true(intervals[2].start_ns + slack_ns >= intervals[1].end_ns);
}

// The lane that waits began to when its own node had ended, and went on when the other had.
static void waits_take_as_long_as_what_they_wait_for(void **state)
{
    struct contract *contract = *state;
    struct fork fork = make_fork(contract);
    braid_exec *exec = exec_with_times(contract, fork.graph);
    run_frame(exec);
    braid_timings timings;
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_int_equal(timings.num_lanes, 2);
    assert_int_equal(timings.num_waits, 1);
    const braid_wait_timing wait = timings.waits[0];
    assert_int_equal(wait.node, fork.behind.index);
    assert_int_not_equal(wait.lane, wait.waited_for_lane);
    const braid_interval *intervals = timings.intervals;
    uint64_t waited_for = intervals[wait.waited_for].end_ns,
             own = intervals[!wait.waited_for].end_ns;
    uint64_t least = waited_for > own ? waited_for - own : 0;
    assert_true(wait.wait.median_ns + slack_ns >= least);

    braid_lane_timing lane = timings.lanes[wait.lane];
    assert_int_equal(lane.num_nodes, 2);
    assert_int_equal(lane.waiting_ns, wait.wait.median_ns);
    bool inside = contract_islands() == BRAID_ISLANDS_WHOLE;
    assert_int_equal(timings.island_wait_ns, inside ? lane.waiting_ns : 0);
    if (lane.waiting_ns)
        assert_int_equal(lane.waited_for, wait.waited_for);
    assert_true(lane.busy_ns >= length_of(intervals[fork.behind.index]));
    lane = timings.lanes[wait.waited_for_lane];
    assert_int_equal(lane.num_nodes, 1);
    assert_int_equal(lane.waiting_ns, 0);
    assert_int_equal(lane.waited_for, BRAID_NO_NODE);
}

static void a_frame_is_as_long_as_its_lanes(void **state)
{
    struct contract *contract = *state;
    struct fork fork = make_fork(contract);
    braid_exec *exec = exec_with_times(contract, fork.graph);
    run_frame(exec);
    braid_timings timings;
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_true(timings.frame.median_ns + slack_ns >= 4 * busy_ns);
    for (uint32_t i = 0; i < timings.num_lanes; i++) {
        const braid_lane_timing lane = timings.lanes[i];
        uint64_t whole = lane.busy_ns + lane.waiting_ns + lane.idle_ns;
        assert_true(whole >= timings.frame.median_ns);
        assert_true(whole <= timings.frame.median_ns + slack_ns);
    }
}

static void the_last_frames_are_kept_in_their_order(void **state)
{
    struct contract *contract = *state;
    struct fork fork = make_fork(contract);
    braid_exec *exec = exec_with_times(contract, fork.graph);
    braid_timings timings;
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_int_equal(timings.frames_kept, 0);
    for (uint32_t frame = 1; frame <= kept + 2; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_get_timings(exec, &timings)); // waits for it
        assert_int_equal(timings.frames_kept, frame < kept ? frame : kept);
        assert_true(timings.frame.least_ns <= timings.frame.median_ns &&
                    timings.frame.median_ns <= timings.frame.most_ns);
    }
    for (int frame = 1; frame < kept; frame++) {
        const braid_interval *own = timings.intervals + frame * 3, *before = own - 3;
        for (int i = 0; i < 2; i++)
            assert_true(own[i].start_ns + slack_ns >= before[2].end_ns);
    }
}

static void call_nothing(void *user)
{
    *(int *)user += 1;
}

static void copies_calls_and_preludes_are_nodes_too(void **state)
{
    struct contract *contract = *state;
    uint32_t *numbers = contract_numbers(contract, 9);
    uint64_t *seen = contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * sizeof(uint64_t));
    int num_calls = 0;
    braid_graph *graph = contract_graph(contract);
    braid_node nodes[6];
    nodes[0] = add_fill(graph, (braid_node_options){ 0 }, numbers, 7, 4);
    nodes[1] = add_copy(graph, (braid_node_options){ AFTER(nodes[0]) }, numbers + 4, numbers, 16);
    nodes[2] = add_host(graph, (braid_node_options){ AFTER(nodes[1]) }, call_nothing, &num_calls);
    nodes[3] = add_busy(graph, (braid_node_options){ AFTER(nodes[2]) }, seen, busy_ns);
    nodes[4] = add_fill(graph, (braid_node_options){ .prelude_of = nodes[3] }, numbers + 8, 9, 1);
    nodes[5] = add_empty(graph, (braid_node_options){ AFTER(nodes[3]) });
    braid_exec *exec = exec_with_times(contract, graph);
    run_frame(exec);
    assert_int_equal(num_calls, 1);
    braid_timings timings;
    check_ok(braid_exec_get_timings(exec, &timings));
    const braid_interval *at = timings.intervals;
    for (int i = 0; i < 6; i++)
        assert_true(at[i].start_ns > 0 && at[i].end_ns >= at[i].start_ns);
    static const int order[][2] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 4, 3 }, { 3, 5 } };
    for (int i = 0; i < 5; i++)
        assert_true(at[order[i][1]].start_ns + slack_ns >= at[order[i][0]].end_ns);
    assert_int_equal(at[5].start_ns, at[5].end_ns);
}

static void check_num_runs(braid_exec *exec, braid_node node, uint64_t num)
{
    braid_timings timings;
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_int_equal(timings.frames_kept, kept);
    assert_int_equal(timings.nodes[node.index].num_runs, num);
    assert_int_equal(timings.nodes[node.index].timed_by == BRAID_TIMED_NOT, num == 0);
    assert_int_equal(timings.nodes[!node.index].num_runs, kept);
}

// By a parameter, by rows of it, and by rows of another launch's frames.
static void frames_that_disable_a_node_are_no_runs_of_it(void **state)
{
    struct contract *contract = *state;
    static const uint32_t on[] = { 1, 0, 1, 1, 0 };
    braid_graph *graph = contract_graph(contract);
    uint32_t *numbers = contract_numbers(contract, 2);
    braid_parameter parameter;
    braid_node first = add_axpy(graph, (braid_node_options){ 0 }, numbers, numbers, 1, 1, 1);
    braid_node node =
        add_axpy(graph, (braid_node_options){ AFTER(first) }, numbers + 1, numbers, 1, 1, 1);
    check_ok(braid_graph_add_parameter(graph, "on", sizeof(*on), &parameter));
    check_ok(braid_graph_use_parameter(
        graph, parameter, &(braid_parameter_use){ .node = node, .target = BRAID_TARGET_ENABLED }));
    braid_exec *exec = exec_in_flight(contract, graph, contract_frames(), kept);
    for (int i = 0; i < 5; i++) {
        check_ok(braid_exec_set_parameter(exec, parameter, &on[i]));
        run_frame(exec);
    }
    check_num_runs(exec, node, 2);
    check_ok(braid_exec_launch_many(exec, NULL, kept, NULL, 0));
    check_num_runs(exec, node, 0);
    check_ok(
        braid_exec_launch_many(exec, NULL, 4, &(braid_parameter_rows){ parameter, on + 1, 4 }, 1));
    check_num_runs(exec, node, 2);
    check_ok(braid_exec_set_parameter(exec, parameter, &on[0]));
    check_ok(braid_exec_launch_many(exec, NULL, 2, NULL, 0));
    check_num_runs(exec, node, 2);
    run_frame(exec);
    check_num_runs(exec, node, kept);
}

static void measured_costs_are_planned_with(void **state)
{
    struct contract *contract = *state;
    struct fork fork = make_fork(contract);
    braid_exec *exec = exec_with_times(contract, fork.graph);
    check_ok(braid_exec_measure(exec, fork.graph, 0));
    braid_schedule *schedule;
    check_ok(braid_schedule_create(fork.graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &schedule));
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    assert_int_equal(info.num_guessed, 0);
    for (uint32_t i = 0; i < 3; i++) {
        braid_placement placement;
        check_ok(braid_schedule_get_placement(schedule, braid_graph_get_node(fork.graph, i),
                                              &placement));
        uint64_t cost_ns = placement.end_ns - placement.start_ns;
        assert_true(cost_ns + 2 * slack_ns >= (i == 1 ? 3 : 1) * busy_ns);
    }
    braid_schedule_destroy(schedule);
}

// Each frame's two nodes wait for those of the frame before, wherever they are played. More frames
// than are kept, and a number of them that slots do not share out evenly.
static void times_of_frames_in_flight_are_of_one_clock(void **state)
{
    enum { depth = 3, num_kept = 4, num_launched = 9 };
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint64_t *seen = contract_memory(contract, BRAID_MEMORY_DEVICE, 4 * sizeof(uint64_t));
    braid_resource shared = add_resource(graph, "shared"), own = add_resource(graph, "own");
    add_busy(graph, (braid_node_options){ USES({ shared, BRAID_READ_WRITE }) }, seen, busy_ns);
    add_busy(graph, (braid_node_options){ USES({ own, BRAID_READ_WRITE }) }, seen + 2, busy_ns);
    braid_exec *exec = exec_in_flight(contract, graph, depth, num_kept);
    braid_stream *stream = contract_stream(contract);
    braid_timings timings = { 0 };
    for (uint32_t frame = 1; frame <= num_launched; frame++) {
        check_ok(braid_exec_launch(exec, stream));
        if (frame % 2)
            check_ok(braid_exec_get_timings(exec, &timings));
        assert_true(frame % 2 == 0 || timings.frames_kept == (frame < num_kept ? frame : num_kept));
        for (size_t i = 2; i < 2 * timings.frames_kept; i++)
            assert_true(timings.intervals[i].start_ns + slack_ns >=
                        timings.intervals[i - 2].end_ns);
    }
    for (size_t i = 0; i < 2 * timings.frames_kept; i++)
        assert_true(length_of(timings.intervals[i]) + slack_ns >= busy_ns);
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    assert_int_equal(timings.num_waits, info.num_frame_waits);
    for (uint64_t i = 0; i < timings.num_waits; i++) {
        assert_int_equal(timings.waits[i].frames_before, 1);
        assert_int_equal(timings.waits[i].waited_for, timings.waits[i].node);
    }
}

static uint64_t host_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void note_time(void *user)
{
    *(uint64_t *)user = host_now_ns();
}

// A call knows by the host's own clock when it ran, and that is within what is told of it.
static void times_are_by_the_hosts_clock(void **state)
{
    struct contract *contract = *state;
    uint64_t *seen = contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * sizeof(uint64_t));
    uint64_t called_ns[kept] = { 0 }, call_ns = 0, before_ns[kept], after_ns[kept];
    braid_graph *graph = contract_graph(contract);
    braid_node node = add_busy(graph, (braid_node_options){ 0 }, seen, busy_ns / 4);
    node = add_host(graph, (braid_node_options){ AFTER(node) }, note_time, &call_ns);
    braid_exec *exec = exec_with_times(contract, graph);
    for (int i = 0; i < kept; i++) {
        before_ns[i] = host_now_ns();
        check_ok(braid_exec_launch(exec, NULL));
        after_ns[i] = host_now_ns();
        check_ok(braid_exec_wait(exec));
        called_ns[i] = call_ns;
    }
    braid_timings timings;
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_int_equal(timings.frames_kept, kept);
    for (uint32_t i = 0; i < kept; i++) {
        const braid_frame_timing timing = timings.frames[i];
        const braid_interval *at = timings.intervals + (size_t)2 * i;
        uint64_t error_ns = timing.error_ns + slack_ns;
        assert_true(timing.error_ns > 0);
        assert_true(before_ns[i] <= timing.launch.start_ns);
        assert_true(timing.launch.start_ns <= timing.launch.end_ns);
        assert_true(timing.launch.end_ns <= after_ns[i]);
        assert_true(timing.frame.start_ns + error_ns >= timing.launch.start_ns);
        assert_true(timing.frame.start_ns <= at[0].start_ns + slack_ns);
        assert_true(timing.frame.end_ns + slack_ns >= at[1].end_ns);
        assert_true(called_ns[i] + error_ns >= at[1].start_ns);
        assert_true(called_ns[i] <= at[1].end_ns + error_ns);
    }
}

static void frames_with_times_allocate_nothing(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint32_t *numbers = contract_numbers(contract, 2);
    for (uint32_t i = 0; i < 2; i++)
        add_axpy(graph, (braid_node_options){ 0 }, numbers + i, numbers + i, 1, 1, 1);
    braid_exec *exec = exec_with_times(contract, graph);
    for (int i = 0; i < kept + 1; i++)
        run_frame(exec);
    uint64_t before = failing_memory_num_calls();
    for (int i = 0; i < 50; i++)
        run_frame(exec);
    assert_int_equal(failing_memory_num_calls() - before, 0);
    assert_int_equal(contract_number(contract, numbers), 50 + kept + 1);
}

// Every allocation fails once: what comes of it is a whole exec, or an error and nothing kept.
static void an_exec_with_times_is_made_whole_or_not_at_all(void **state)
{
    struct contract *contract = *state;
    struct fork fork = make_fork(contract);
    braid_exec *first = exec_with_times(contract, fork.graph); // pools and kernels are there now
    contract_destroy_exec(contract, first);
    const braid_exec_options options = { .mode = contract->mode,
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true,
                                         .frames_kept = kept };
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        braid_exec *exec = NULL;
        failing_memory_arm(nth);
        braid_status status = braid_exec_create(contract->device, fork.graph, &options, &exec);
        failed = failing_memory_disarm();
        assert_true(!status == !!exec);
        if (!status)
            run_frame(exec);
        braid_exec_destroy(exec);
    }
}

// The arrays are allocated by the first call: each allocation of it fails once.
static void a_reading_that_finds_no_memory_can_be_repeated(void **state)
{
    skip_if_left_out(braid_exec_get_timings(NULL, NULL));
    struct contract *contract = *state;
    struct fork fork = make_fork(contract);
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        braid_exec *exec = exec_with_times(contract, fork.graph);
        run_frame(exec);
        braid_timings timings = { .frames_kept = 9 };
        failing_memory_arm(nth);
        braid_status status = braid_exec_get_timings(exec, &timings);
        failed = failing_memory_disarm();
        if (status) {
            assert_int_equal(status, BRAID_NO_MEMORY);
            assert_int_equal(timings.frames_kept, 9);
            check_ok(braid_exec_get_timings(exec, &timings));
        }
        assert_int_equal(timings.frames_kept, 1);
        assert_true(timings.nodes[0].time.median_ns > 0);
        contract_destroy_exec(contract, exec);
    }
}

static void what_is_not_there_is_refused_by_name(void **state)
{
    struct contract *contract = *state;
    struct fork fork = make_fork(contract);
    const braid_schedule_options plan = { .costs = &free_costs };
    if (contract_profile())
        skip_because("all execs keep times");
    braid_exec *without = contract_exec_planned(contract, fork.graph, &plan);
    braid_timings timings;
    check_fails(braid_exec_get_timings(without, &timings), BRAID_UNSUPPORTED,
                "braid_exec_options.frames_kept is 0");
    check_fails(braid_exec_measure(without, fork.graph, 1), BRAID_UNSUPPORTED,
                "braid_exec_options.frames_kept is 0");
    braid_exec *exec = exec_with_times(contract, fork.graph);
    braid_graph *other = contract_graph(contract);
    check_fails(braid_exec_measure(exec, other, 1), BRAID_INVALID_ARGUMENT, "another graph");
    check_fails(braid_exec_get_timings(NULL, &timings), BRAID_INVALID_ARGUMENT, "exec is NULL");
    check_fails(braid_exec_get_timings(exec, NULL), BRAID_INVALID_ARGUMENT, "out_timings is NULL");
}

int run_times(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(nodes_take_as_long_as_they_see_themselves),
        contract_test(waits_take_as_long_as_what_they_wait_for),
        contract_test(a_frame_is_as_long_as_its_lanes),
        contract_test(the_last_frames_are_kept_in_their_order),
        contract_test(copies_calls_and_preludes_are_nodes_too),
        contract_test(frames_that_disable_a_node_are_no_runs_of_it),
        contract_test(measured_costs_are_planned_with),
        contract_test(times_of_frames_in_flight_are_of_one_clock),
        contract_test(times_are_by_the_hosts_clock),
        contract_test(frames_with_times_allocate_nothing),
        contract_test(an_exec_with_times_is_made_whole_or_not_at_all),
        contract_test(a_reading_that_finds_no_memory_can_be_repeated),
        contract_test(what_is_not_there_is_refused_by_name),
    };
    return contract_run("frames_keep_their_times", tests);
}
