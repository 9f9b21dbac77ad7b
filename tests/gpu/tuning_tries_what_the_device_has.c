// SPDX-License-Identifier: Apache-2.0
// Where a plan starts kernels early or has islands, tuning tries it without them too; a driver that
// fails meanwhile fails the tuning, which leaves nothing behind.
#include <string.h>

#include <braid/timings.h>
#include <braid/tune.h>

#include "gpu/gpu_testing.h"
#include "gpu/island_graph.h"
#include "support/check.h"
#include "support/wide_plan.h"
#include "support/without_islands.h"

enum { CHAIN = 12, EARLY_NS = 5000, ISLAND_NS = 2000 };

struct tried {
    int num, num_not_early, num_without_islands, num_whole, num_blind;
};

static void note(const braid_tune_trial *trial, void *user)
{
    struct tried *tried = user;
    const braid_exec_options *way = trial->way;
    tried->num++;
    tried->num_not_early += way->no_early_start;
    tried->num_without_islands += way->islands == BRAID_ISLANDS_NEVER;
    tried->num_whole += way->islands == BRAID_ISLANDS_WHOLE;
    tried->num_blind += way->ignore_costs;
    assert_int_equal(way->ignore_costs, strstr(trial->name, ", costs ignored") != NULL);
    assert_int_equal(way->no_early_start, strstr(trial->name, ", no early starts") != NULL);
    assert_int_equal(way->islands == BRAID_ISLANDS_NEVER,
                     strstr(trial->name, ", no islands") != NULL);
    assert_int_equal(way->islands == BRAID_ISLANDS_WHOLE,
                     strstr(trial->name, ", one island") != NULL);
}

static braid_status tune(braid_device *device, braid_graph *graph, struct tried *tried)
{
    *tried = (struct tried){ 0 };
    const braid_tune_options options = {
        .budget_ns = 1, .max_lanes = 2, .keep_costs = true, .report = note, .user = tried
    };
    braid_exec_options way;
    return braid_graph_tune(graph, device, &options, &way);
}

static braid_graph *make_chain(const struct frame *frame)
{
    braid_node node = { 0 };
    uint32_t *to = frame->words, c = 0;
    braid_graph *graph = own_graph();
    for (int i = 0; i < CHAIN; i++) {
        const braid_kernel_node launch = {
            .node = { .after = &node, .num_after = i > 0, .cost_ns = EARLY_NS },
            .kernel = &island_outsider,
            BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(c))
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &node));
    }
    return graph;
}

static void early_starts_are_done_without_too(void **state)
{
    (void)state;
    struct frame frame = { 0 };
    struct tried tried;
    check_ok(frame_open(&frame, "cuda"));
    braid_graph *graph = make_chain(&frame);
    check_ok(tune(frame.device, graph, &tried));
    assert_int_equal(tried.num_not_early, 2); // one in each mode
    assert_int_equal(tried.num_blind, 0);     // what costs say is what is assumed without
    assert_true(tried.num > tried.num_not_early);
    frame_finish(&frame);
}

static void islands_are_done_without_too(void **state)
{
    (void)state;
    skip_without_islands();
    struct tried tried;
    struct island_graph made = { .seed = 1, .cost_ns = ISLAND_NS };
    braid_device *device = own_device("cuda");
    island_graph_make(&made, device);
    check_ok(tune(device, made.graph, &tried));
    assert_true(tried.num_without_islands >= 1);
    assert_int_equal(tried.num_whole, 1);
    assert_int_equal(tried.num_blind, 2); // one in each mode
}

static bool is_one_island(braid_device *device, const braid_graph *graph)
{
    braid_exec_info info;
    braid_exec *exec = own_exec(device, graph, NULL);
    braid_exec_get_info(exec, &info);
    bool is_one = strstr(info.reason, "one island") != NULL; // a text of the exec's
    destroy_now(exec);
    return is_one;
}

// More blocks of a call than a lane has groups run in turn inside.
static void wide_kernels_are_no_island_by_themselves(void **state)
{
    (void)state;
    braid_exec *exec;
    struct island_graph made = { .seed = 1, .most_blocks = 600, .cost_ns = 4000 };
    assert_true(standin_configure("BRAID_STANDIN_MULTIPROCESSORS", "132"));
    braid_device *device = own_device("cuda");
    island_graph_make(&made, device);
    assert_false(is_one_island(device, made.graph));
    braid_schedule_info nodes, whole;
    check_ok(braid_exec_create(device, made.graph, NULL, &exec));
    braid_schedule_get_info(braid_exec_get_schedule(exec), &nodes);
    braid_exec_destroy(exec);
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE };
    check_ok(braid_exec_create(device, made.graph, &options, &exec));
    braid_schedule_get_info(braid_exec_get_schedule(exec), &whole);
    braid_exec_destroy(exec);
    assert_true(whole.expected_ns > nodes.expected_ns * 3 / 2);
}

static uint64_t measured_cost(const struct frame *frame, braid_graph *graph, const char *clock_ns)
{
    braid_schedule *schedule;
    braid_placement placement;
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .frames_kept = 3 };
    assert_true(standin_configure("BRAID_STANDIN_CLOCK_NS", clock_ns));
    braid_exec *exec = own_exec(frame->device, graph, &options);
    check_ok(braid_exec_measure(exec, graph, 0));
    destroy_now(exec);
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    check_ok(braid_schedule_get_placement(schedule, braid_graph_get_node(graph, 1), &placement));
    braid_schedule_destroy(schedule);
    return placement.end_ns - placement.start_ns;
}

// A kernel and the event behind it are one step each of the stand-in's clock, and events tell half
// a microsecond.
static void costs_are_no_shorter_than_times_can_tell(void **state)
{
    (void)state;
    struct frame frame = { 0 };
    check_ok(frame_open(&frame, "cuda"));
    braid_graph *graph = make_chain(&frame);
    assert_int_equal(measured_cost(&frame, graph, "100"), 500);
    uint64_t longer_ns = measured_cost(&frame, graph, "20000");
    uint64_t longest_ns = measured_cost(&frame, graph, "30000");
    assert_true(longer_ns > 500);
    assert_int_equal(longest_ns - longer_ns, 20000);
    frame_finish(&frame);
}

static void a_driver_that_fails_ends_it(void **state)
{
    (void)state;
    static const char *const rules[] = { "cuGraphInstantiateWithFlags:1=2",
                                         "cuGraphInstantiateWithFlags:4=2", "cuGraphLaunch:1=2",
                                         "cuGraphLaunch:4=2", "cuLaunchKernel:2=2" };
    struct frame frame = { 0 };
    struct tried tried;
    check_ok(frame_open(&frame, "cuda"));
    braid_graph *graph = make_chain(&frame);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        fail_calls(rules[i]);
        check_fails(tune(frame.device, graph, &tried), BRAID_NO_MEMORY, "");
        assert_int_equal(tried.num, 0);
        reset_standin();
        check_ok(tune(frame.device, graph, &tried));
        assert_true(tried.num > 0);
    }
    frame_finish(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(early_starts_are_done_without_too),
        standin_test(islands_are_done_without_too),
        standin_test(wide_kernels_are_no_island_by_themselves),
        standin_test(costs_are_no_shorter_than_times_can_tell),
        standin_test(a_driver_that_fails_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
