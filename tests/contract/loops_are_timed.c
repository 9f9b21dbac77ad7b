// SPDX-License-Identifier: Apache-2.0
// Where an exec keeps times, a loop has those of all its iterations together. A node inside has the
// number of its runs, their mean, and the spread of the frames' means.
#include "contract/counting.h"
#include "contract/groups.h"
#include "support/wide_plan.h"

enum { busy_ns = 20000, slack_ns = 4000, kept = 3, num_left = 4, num_times = 3 };

// Two loops, one inside the other, and branches of which one arm runs.
struct timed {
    struct counting counting;
    braid_node outer, busy, inner, often, branch, taken, left_out;
    uint64_t *seen; // when the busy node began and ended last
};

static struct timed make_timed(struct contract *contract)
{
    struct timed timed = { .counting = begin_counting(contract, num_left) };
    const struct counting *counting = &timed.counting;
    braid_graph *graph = counting->graph;
    uint32_t *more = contract_numbers(contract, 1);
    braid_resource own = add_word(graph, "own", more);
    timed.seen = contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * sizeof(uint64_t));
    timed.outer = begin_loop(
        graph,
        (braid_loop){ .node.name = "outer", .condition = counting->left, .unbounded = true });
    timed.busy = add_busy(graph, (braid_node_options){ .name = "busy" }, timed.seen, busy_ns);
    add_body(counting);
    timed.inner = begin_loop(graph, (braid_loop){ .times = num_times });
    timed.often = add_axpy(graph, (braid_node_options){ USES({ own, BRAID_READ_WRITE }) }, more,
                           more, 1, 1, 1);
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_end(graph));
    timed.branch = begin_branch(graph, counting->sum); // which is 4 by then
    timed.taken = add_axpy(graph, (braid_node_options){ USES({ own, BRAID_READ_WRITE }) }, more,
                           more, 1, 1, 1);
    check_ok(braid_graph_else(graph));
    timed.left_out = add_axpy(graph, (braid_node_options){ USES({ own, BRAID_READ_WRITE }) }, more,
                              more, 1, 1, 1);
    check_ok(braid_graph_end(graph));
    return timed;
}

static braid_exec *exec_with_times(struct contract *contract, const braid_graph *graph,
                                   uint32_t num_kept)
{
    const braid_exec_options options = { .mode = contract->mode,
                                         .islands = islands_of_loops(contract),
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true,
                                         .frames_in_flight = contract_frames(),
                                         .frames_kept = num_kept };
    braid_exec *exec;
    braid_status status = braid_exec_create(contract->device, graph, &options, &exec);
    if (!plays_loops(contract) || drives_all_loops(contract)) {
        check_fails(status, BRAID_UNSUPPORTED,
                    plays_loops(contract) ? "the host drives " : "plays no ");
        skip_because(braid_error_get_message());
    }
    check_ok(status);
    contract_own_exec(contract, exec);
    return exec;
}

static void check_runs(const braid_timings *timings, braid_node node, uint64_t num_a_frame)
{
    const braid_node_timing *timing = &timings->nodes[node.index];
    assert_int_equal(timing->num_runs, kept * num_a_frame);
    assert_int_equal(timing->timed_by == BRAID_TIMED_NOT, num_a_frame == 0);
    assert_true(timing->time.least_ns <= timing->mean_ns);
    assert_true(timing->mean_ns <= timing->time.most_ns);
    assert_in_range(timing->time.median_ns, timing->time.least_ns, timing->time.most_ns);
}

static uint64_t find_sum(const braid_timings *timings, braid_node node)
{
    return timings->nodes[node.index].mean_ns * timings->nodes[node.index].num_runs;
}

static void nodes_inside_have_the_times_of_their_runs(void **state)
{
    struct contract *contract = *state;
    struct timed timed = make_timed(contract);
    braid_exec *exec = exec_with_times(contract, timed.counting.graph, kept);
    braid_timings timings;
    run_frames(exec); // more than are kept
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_int_equal(timings.frames_kept, kept);
    check_runs(&timings, timed.outer, 1);
    check_runs(&timings, timed.busy, num_left);
    check_runs(&timings, timed.inner, num_left);
    check_runs(&timings, timed.often, num_left * num_times);
    check_runs(&timings, timed.branch, 1);
    check_runs(&timings, timed.taken, 1);
    check_runs(&timings, timed.left_out, 0);
    const braid_node_timing *busy = &timings.nodes[timed.busy.index];
    assert_true(busy->time.least_ns + slack_ns >= busy_ns);
    assert_true(timings.nodes[timed.outer.index].time.least_ns + slack_ns >=
                num_left * (uint64_t)busy_ns);
    assert_true(find_sum(&timings, timed.inner) + kept * num_left * slack_ns >=
                find_sum(&timings, timed.often));
    const braid_interval *last = &timings.intervals[(kept - 1) * timings.num_nodes];
    assert_true(last[timed.outer.index].end_ns > last[timed.outer.index].start_ns);
    assert_int_equal(last[timed.busy.index].end_ns, 0);
}

static void a_frames_runs_are_one_mean(void **state)
{
    struct contract *contract = *state;
    struct timed timed = make_timed(contract);
    braid_exec *exec = exec_with_times(contract, timed.counting.graph, 1);
    braid_timings timings;
    run_frames(exec);
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_int_equal(timings.frames_kept, 1);
    const braid_node inside[] = { timed.busy, timed.inner, timed.often };
    for (int i = 0; i < 3; i++) {
        const braid_node_timing *timing = &timings.nodes[inside[i].index];
        assert_in_range(timing->num_runs, num_left, num_left * num_times);
        assert_int_equal(timing->time.least_ns, timing->mean_ns);
        assert_int_equal(timing->time.median_ns, timing->mean_ns);
        assert_int_equal(timing->time.most_ns, timing->mean_ns);
    }
}

static void frames_that_disable_a_node_have_no_runs_of_it(void **state)
{
    struct contract *contract = *state;
    struct timed timed = make_timed(contract);
    braid_exec *exec = exec_with_times(contract, timed.counting.graph, kept);
    braid_timings timings;
    check_ok(braid_exec_set(exec, timed.often, BRAID_TARGET_ENABLED, 0, &(bool){ false }));
    run_frames(exec);
    check_ok(braid_exec_get_timings(exec, &timings));
    check_runs(&timings, timed.often, 0);
    check_runs(&timings, timed.inner, num_left);
    check_runs(&timings, timed.busy, num_left);
}

// The least time of a loop is that of the frame, but for the nodes before and behind it.
static void lanes_are_busy_with_their_loops(void **state)
{
    struct contract *contract = *state;
    struct timed timed = make_timed(contract);
    braid_exec *exec = exec_with_times(contract, timed.counting.graph, kept);
    braid_timings timings;
    run_frames(exec);
    check_ok(braid_exec_get_timings(exec, &timings));
    uint64_t busy = 0;
    for (uint32_t i = 0; i < timings.num_lanes; i++)
        busy += timings.lanes[i].busy_ns;
    assert_true(busy + slack_ns >= num_left * (uint64_t)busy_ns);
}

static void costs_are_those_of_a_run(void **state)
{
    struct contract *contract = *state;
    struct timed timed = make_timed(contract);
    braid_exec *exec = exec_with_times(contract, timed.counting.graph, kept);
    check_ok(braid_exec_measure(exec, timed.counting.graph, kept));
    braid_timings timings;
    check_ok(braid_exec_get_timings(exec, &timings));
    braid_schedule *schedule;
    braid_placement busy, outer, inside;
    uint64_t once_ns = 0;
    check_ok(braid_schedule_create(timed.counting.graph,
                                   &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    check_ok(braid_schedule_get_placement(schedule, timed.busy, &busy));
    check_ok(braid_schedule_get_placement(schedule, timed.outer, &outer));
    uint64_t cost_ns = busy.end_ns - busy.start_ns;
    uint64_t median_ns = timings.nodes[timed.busy.index].time.median_ns;
    assert_in_range(cost_ns, 1, median_ns);
    for (uint32_t i = timed.outer.index + 1; i < timed.branch.index; i++) {
        check_ok(braid_schedule_get_placement(
            schedule, braid_graph_get_node(timed.counting.graph, i), &inside));
        uint64_t end_ns = i == timed.often.index ? 0 : inside.end_ns - outer.start_ns;
        once_ns = end_ns > once_ns ? end_ns : once_ns;
    }
    assert_int_equal(outer.end_ns - outer.start_ns, num_left * once_ns); // as often as it ran
    braid_schedule_destroy(schedule);
}

static braid_status fail_if_told(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    return *(const bool *)user ? BRAID_DEVICE_ERROR : BRAID_OK;
}

// The launch fails before it comes to the loop.
static void frames_before_a_failed_launch_keep_their_runs(void **state)
{
    struct contract *contract = *state;
    if (contract->mode != BRAID_MODE_STREAMS || contract_frames() > 1)
        skip_because("the queue call is not made by each launch, or slots keep their own frames");
    bool fails = false;
    struct counting counting = begin_counting(contract, 0);
    braid_node call =
        add_queue_call(counting.graph, (braid_node_options){ 0 }, fail_if_told, &fails);
    braid_node loop =
        begin_loop(counting.graph, (braid_loop){ .node = { AFTER(call) }, .times = 1 });
    braid_node step =
        add_axpy(counting.graph, (braid_node_options){ USES({ counting.sum, BRAID_READ_WRITE }) },
                 counting.numbers + 1, counting.numbers + 1, 1, 1, 1);
    check_ok(braid_graph_end(counting.graph));
    braid_exec *exec = exec_with_times(contract, counting.graph, kept);
    const uint64_t times[kept + 1] = { 1, 2, 40, 3 };
    for (int i = 0; i <= kept; i++) {
        fails = i == 2;
        check_ok(braid_exec_set(exec, loop, BRAID_TARGET_TIMES, 0, &times[i]));
        assert_int_equal(braid_exec_launch(exec, NULL), fails ? BRAID_DEVICE_ERROR : BRAID_OK);
        check_ok(braid_exec_wait(exec));
    }
    braid_timings timings;
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_int_equal(timings.frames_kept, kept - 1);
    assert_int_equal(timings.nodes[step.index].num_runs, times[1] + times[3]);
}

int run_timed_loops(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(nodes_inside_have_the_times_of_their_runs),
        contract_test(a_frames_runs_are_one_mean),
        contract_test(frames_that_disable_a_node_have_no_runs_of_it),
        contract_test(lanes_are_busy_with_their_loops),
        contract_test(costs_are_those_of_a_run),
        contract_test(frames_before_a_failed_launch_keep_their_runs),
    };
    return contract_run("loops_are_timed", tests);
}
