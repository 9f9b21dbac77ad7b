// SPDX-License-Identifier: Apache-2.0
// The number of lanes follows the predicted makespan: one where the gain is small, the fewest on a
// tie, never more than allowed.
#include "planner/corpus.h"
#include "planner/plan_testing.h"
#include "support/wide_plan.h"

static void lanes_that_are_free_are_used(void **state)
{
    (void)state;
    braid_graph *graph = chains(6, 20, 1000);
    assert_int_equal(plan_info(graph, (braid_schedule_options){ .costs = &free_costs }).num_lanes,
                     6);
    assert_int_equal(
        plan_info(graph, (braid_schedule_options){ .costs = &free_costs, .max_lanes = 3 })
            .num_lanes,
        3);
    // Five lanes are no faster than three: some lane has two chains in either case.
    assert_int_equal(
        plan_info(graph, (braid_schedule_options){ .costs = &free_costs, .max_lanes = 5 })
            .num_lanes,
        5);
}

// Numbers that are neither a power of two nor half as much again.
static void every_small_number_of_lanes_is_tried(void **state)
{
    (void)state;
    for (uint32_t num = 2; num <= 11; num++) {
        braid_graph *graph = chains(num, 4, 1000);
        braid_schedule_info info =
            plan_info(graph, (braid_schedule_options){ .costs = &free_costs });
        assert_int_equal(info.num_lanes, num);
        assert_int_equal(info.makespan_ns, info.bound_ns);
        destroy_now(graph);
    }
}

static void a_tie_takes_the_fewest(void **state)
{
    (void)state;
    // Four nodes of 10 and a chain of 40 beside them: two lanes do what five could.
    braid_graph *graph = new_graph();
    new_node(graph, NULL, 40, NO_NODE, NO_NODE);
    for (int i = 0; i < 4; i++)
        new_node(graph, NULL, 10, NO_NODE, NO_NODE);
    braid_schedule_info info = plan_info(graph, (braid_schedule_options){ .costs = &free_costs });
    assert_int_equal(info.num_lanes, 2);
    assert_int_equal(info.makespan_ns, 40);
}

static void a_small_gain_is_not_worth_a_lane(void **state)
{
    (void)state;
    // One long chain and a little work beside it: 1 % could be gained.
    braid_graph *graph = chains(1, 100, 100);
    new_node(graph, NULL, 100, NO_NODE, NO_NODE);
    braid_schedule_info info =
        plan_info(graph, (braid_schedule_options){ .costs = &free_costs, .max_lanes = 8 });
    assert_int_equal(info.num_lanes, 1);
    assert_int_equal(info.num_waits, 0);
    info = plan_info(graph, (braid_schedule_options){
                                .costs = &free_costs, .max_lanes = 8, .fixed_lanes = true });
    assert_int_equal(info.num_lanes, 2);
}

static void two_lanes_are_taken_for_a_few_percent(void **state)
{
    (void)state;
    braid_graph *graph = chains(1, 100, 100);
    new_node(graph, NULL, 300, NO_NODE, NO_NODE);
    assert_int_equal(plan_info(graph, (braid_schedule_options){ .costs = &free_costs }).num_lanes,
                     2);
}

// If there are 16 chains, 9 to 15 lanes run no more at a time than 8 in the end.
static void a_gain_behind_numbers_that_gain_nothing_is_found(void **state)
{
    (void)state;
    braid_graph *graph = chains(16, 5, 10);
    braid_schedule_info info = plan_info(graph, (braid_schedule_options){ .costs = &free_costs });
    assert_int_equal(info.num_lanes, 16);
    assert_int_equal(info.makespan_ns, 50);
    braid_graph *seven = chains(7, 5, 10);
    assert_int_equal(plan_info(seven, (braid_schedule_options){ .costs = &free_costs }).num_lanes,
                     7);
}

// Anomalies of list scheduling: what fewer lanes do better is taken from them.
static void more_lanes_never_make_a_longer_plan(void **state)
{
    (void)state;
    struct random random = { 21 };
    uint32_t from[480], to[480], num_nodes;
    size_t num_edges;
    const int step = corpus_step() > 1 ? 7 : 1; // no divisor of what the options alternate by
    for (int trial = 0; trial < 100; trial += step) {
        braid_graph *graph = random_graph(&random, 120, &num_nodes, from, to, &num_edges);
        braid_cost_model costs = { 0 };
        braid_schedule_options options = { .costs = &costs, .fixed_lanes = trial % 4 >= 2 };
        if (trial % 2)
            costs = (braid_cost_model){ .wait_ns = 40, .root_ns = 20 };
        if (trial % 2 && !options.fixed_lanes)
            costs.issue_ns = trial % 3 ? 40 : 0;
        costs.host_issues = trial % 5 == 0;
        uint64_t best = UINT64_MAX;
        for (options.max_lanes = 1; options.max_lanes <= 14; options.max_lanes++) {
            braid_schedule_info info = plan_info(graph, options);
            uint64_t length = options.fixed_lanes ? info.makespan_ns : info.expected_ns;
            // Where issuing takes time, less than what a lane must gain.
            assert_true(length <= best + (costs.issue_ns ? best / 59 : 0));
            best = length < best ? length : best;
        }
        destroy_now(graph);
    }
}

// Wide enough for numbers of lanes that are not tried but as the limit.
static void more_lanes_never_make_a_longer_plan_of_a_wide_graph(void **state)
{
    (void)state;
    struct random random = { 23 };
    for (int trial = 0; trial < 30; trial++) {
        braid_graph *graph = new_graph();
        for (uint32_t i = 0; i < 150; i++) {
            uint32_t first = i > 40 ? i - 40 : 0, num = i - first;
            bool is_root = i < 20 || random_chance(&random, 20);
            new_node(graph, NULL, 1 + random_below(&random, 100),
                     is_root ? NO_NODE
                             : braid_graph_get_node(graph, first + random_below(&random, num)),
                     NO_NODE);
        }
        braid_schedule_options options = { .costs = &(braid_cost_model){ .wait_ns =
                                                                             trial % 2 ? 30 : 0 } };
        uint64_t best = UINT64_MAX;
        for (options.max_lanes = 10; options.max_lanes <= 28; options.max_lanes++) {
            uint64_t length = plan_info(graph, options).expected_ns;
            assert_true(length <= best);
            best = length;
        }
        destroy_now(graph);
    }
}

// So many edges that trying all numbers of lanes takes a while: they are tried all the same.
static void more_lanes_never_make_a_longer_plan_of_a_dense_graph(void **state)
{
    enum { NODES = 1000, EDGES = 180, BACK = 40 };
    (void)state;
    struct random random = { 24 };
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < NODES; i++) {
        braid_node after[EDGES];
        uint32_t first = i > BACK ? i - BACK : 0;
        for (uint32_t e = 0; e < EDGES && i > 0; e++)
            after[e] = braid_graph_get_node(graph, first + random_below(&random, i - first));
        const braid_empty node = { .node = { .cost_ns = 1 + random_below(&random, 1000),
                                             .after = after,
                                             .num_after = i > 0 ? EDGES : 0 } };
        check_ok(braid_graph_add_empty(graph, &node, NULL));
    }
    braid_schedule_options options = { .fixed_lanes = true,
                                       .costs =
                                           &(braid_cost_model){ .wait_ns = 250, .root_ns = 250 } };
    uint64_t best = UINT64_MAX;
    for (options.max_lanes = 6; options.max_lanes <= 12; options.max_lanes++) {
        uint64_t length = plan_info(graph, options).makespan_ns;
        assert_true(length <= best);
        best = length;
    }
}

// With a lane for all as well.
static void no_plan_is_shorter_than_its_bound(void **state)
{
    (void)state;
    struct random random = { 22 };
    uint32_t from[480], to[480], num_nodes;
    size_t num_edges;
    for (int trial = 0; trial < 200; trial++) {
        braid_graph *graph = random_graph(&random, 120, &num_nodes, from, to, &num_edges);
        braid_cost_model costs = { 0 };
        braid_schedule_options options =
            trial % 2 ? wide_plan() : (braid_schedule_options){ .costs = &costs };
        costs.max_concurrent = 1 + random_below(&random, 4);
        costs.wait_ns = random_below(&random, 30);
        braid_schedule_info info = plan_info(graph, options);
        assert_true(info.makespan_ns >= info.bound_ns);
        destroy_now(graph);
    }
    braid_graph *graph = chains(4, 5, 10);
    braid_schedule_options two = wide_plan();
    braid_cost_model ordering = *two.costs;
    two.costs = &ordering;
    ordering.max_concurrent = 2;
    assert_int_equal(plan_info(graph, two).makespan_ns, 100);
}

static void models_beyond_the_clock_are_refused(void **state)
{
    (void)state;
    braid_graph *graph = chains(4, 5, 10);
    const braid_cost_model models[] = {
        { .node_ns = UINT64_C(1) << 60 },
        { .wait_ns = UINT64_C(1) << 60 },
        { .issue_ns = UINT64_C(1) << 60 },
        { .issue_wait_ns = UINT64_C(1) << 60 },
    };
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        braid_schedule *schedule;
        braid_schedule_options options = { .costs = &models[i] };
        assert_int_equal(braid_schedule_create(graph, &options, &schedule), BRAID_INVALID_ARGUMENT);
    }
}

static void unbounded_host_call(void *user)
{
    (void)user;
}

// Two host calls and a chain of kernels, none with a cost: nothing waits for what may be long.
static void unknown_costs_are_planned_to_run_side_by_side(void **state)
{
    (void)state;
    static const braid_kernel kernel = { .name = "filter", .source = "not compiled" };
    braid_graph *graph = new_graph();
    braid_node last = NO_NODE, calls[2];
    for (uint32_t i = 0; i < 7; i++) {
        const braid_kernel_node launch = {
            .node = { .after = &last, .num_after = i > 0 },
            .kernel = &kernel,
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &last));
    }
    for (int i = 0; i < 2; i++)
        check_ok(braid_graph_add_host_call(graph, &(braid_host_call){ .call = unbounded_host_call },
                                           &calls[i]));
    braid_schedule_options options = {
        .costs =
            &(braid_cost_model){
                .default_cost_ns = 10000, .wait_ns = 300, .root_ns = 3000, .max_concurrent = 4 },
    };
    braid_schedule *schedule = plan_with(graph, &options);
    assert_int_equal(info_of(schedule).num_lanes, 3);
    assert_int_equal(info_of(schedule).num_guessed, 9);
    assert_int_equal(info_of(schedule).makespan_ns, 1000000 + 2 * 3000);
    for (int i = 0; i < 2; i++)
        assert_int_equal(placement_of(schedule, calls[i]).start_ns, 0);
    for (uint32_t i = 0; i < 9; i++)
        check_ok(braid_graph_set_cost(graph, braid_graph_get_node(graph, i), 10));
    assert_int_equal(plan_info(graph, options).num_guessed, 0);
}

static void work_shorter_than_a_wait_stays_on_one_lane(void **state)
{
    (void)state;
    // Forks and joins of nodes that take less than ordering them across lanes.
    braid_graph *graph = new_graph();
    braid_node last = NO_NODE;
    for (int i = 0; i < 50; i++) {
        braid_node left = new_node(graph, NULL, 10, last, NO_NODE);
        braid_node right = new_node(graph, NULL, 10, last, NO_NODE);
        last = new_node(graph, NULL, 10, left, right);
    }
    braid_cost_model dear = { .node_ns = 5, .wait_ns = 200, .root_ns = 500 };
    assert_int_equal(plan_info(graph, (braid_schedule_options){ .costs = &dear }).num_lanes, 1);
    assert_int_equal(plan_info(graph, (braid_schedule_options){ .costs = &free_costs }).num_lanes,
                     2);
}

static void roots_of_lanes_cost_time(void **state)
{
    (void)state;
    braid_graph *graph = chains(64, 1, 1000);
    braid_cost_model model = { .root_ns = 1000 };
    braid_schedule_info info = plan_info(graph, (braid_schedule_options){ .costs = &model });
    assert_int_equal(info.num_lanes, 8); // 8 lanes: 8 x 1000 + 7 x 1000
    assert_int_equal(info.makespan_ns, 15000);
}

static void a_device_that_runs_few_at_once_gets_few_lanes(void **state)
{
    (void)state;
    braid_graph *graph = chains(32, 4, 1000);
    braid_cost_model model = { .max_concurrent = 4 };
    braid_schedule_info info = plan_info(graph, (braid_schedule_options){ .costs = &model });
    assert_int_equal(info.num_lanes, 4);
    assert_int_equal(info.bound_ns, 32000);
    // Forced to more lanes, the plan knows that they do not all run.
    info = plan_info(
        graph, (braid_schedule_options){ .costs = &model, .max_lanes = 16, .fixed_lanes = true });
    assert_int_equal(info.makespan_ns, 32000);
}

// `width` chains of kernels with that many blocks of 256 threads.
static braid_graph *kernel_chains(uint32_t width, uint32_t length, uint32_t num_blocks)
{
    static const braid_kernel kernel = { .name = "kernel", .source = "not compiled" };
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < width * length; i++) {
        braid_node before = i < width ? NO_NODE : braid_graph_get_node(graph, i - width);
        const braid_kernel_node launch = {
            .node = { .after = &before, .num_after = i >= width, .cost_ns = 1000 },
            .kernel = &kernel,
            .grid = { num_blocks, 1, 1 },
            .block = { 256, 1, 1 },
        };
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    }
    return graph;
}

static void kernels_that_fill_the_device_get_few_lanes(void **state)
{
    (void)state;
    braid_schedule_options options = { .costs = &(braid_cost_model){ .max_threads = 8192 } };
    const struct {
        uint32_t num_blocks, num_lanes;
        uint64_t makespan_ns;
    } cases[] = {
        { 1, 8, 16000 },           // all at once
        { 8, 4, 32000 },           // four at once
        { 16, 2, 64000 },          // two
        { 32, 1, 128000 },         // one
        { UINT32_MAX, 1, 128000 }, // one that is larger than the device
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        braid_graph *graph = kernel_chains(8, 16, cases[i].num_blocks);
        braid_schedule_info info = plan_info(graph, options);
        assert_int_equal(info.num_lanes, cases[i].num_lanes);
        assert_int_equal(info.makespan_ns, cases[i].makespan_ns);
        // Forced to more lanes, the plan knows that they do not all run.
        braid_schedule_options fixed = options;
        fixed.max_lanes = 8;
        fixed.fixed_lanes = true;
        assert_int_equal(plan_info(graph, fixed).makespan_ns, cases[i].makespan_ns);
        destroy_now(graph);
    }
}

static void kernels_that_fill_the_device_start_behind_each_other_on_two_lanes(void **state)
{
    (void)state;
    braid_graph *graph = kernel_chains(8, 16, 32);
    braid_cost_model model = { .node_ns = 40, .wait_ns = 60, .max_threads = 8192 };
    assert_int_equal(plan_info(graph, (braid_schedule_options){ .costs = &model }).num_lanes, 2);
    // Where all fit, that would not be worth it.
    braid_graph *chain = chains(1, 100, 1000);
    new_node(chain, NULL, 1900, NO_NODE, NO_NODE);
    assert_int_equal(plan_info(chain, (braid_schedule_options){ .costs = &model }).num_lanes, 1);
}

static void nodes_that_can_only_be_started_one_by_one_get_few_lanes(void **state)
{
    (void)state;
    braid_graph *graph = chains(32, 16, 1000);
    braid_cost_model model = { .node_ns = 500, .wait_ns = 800 };
    assert_int_equal(plan_info(graph, (braid_schedule_options){ .costs = &model }).num_lanes, 32);
    // One start takes as long as a third of a node: three lanes keep the device busy, and a few
    // more only make up for lanes that wait for their turn.
    model.issue_ns = 500;
    uint32_t num_lanes = plan_info(graph, (braid_schedule_options){ .costs = &model }).num_lanes;
    assert_in_range(num_lanes, 3, 8);
    // As long as the whole node: further lanes gain nothing.
    model.issue_ns = 3000;
    assert_int_equal(plan_info(graph, (braid_schedule_options){ .costs = &model }).num_lanes, 1);
    // The option stands above the prediction.
    const braid_schedule_options fixed = { .costs = &model, .max_lanes = 16, .fixed_lanes = true };
    assert_int_equal(plan_info(graph, fixed).num_lanes, 16);
}

static void waits_take_time_also_where_they_delay_nothing(void **state)
{
    (void)state;
    // Two chains, and in each step an edge from one to the other's step after the next.
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < 200; i++) {
        braid_node before = i < 2 ? NO_NODE : braid_graph_get_node(graph, i - 2);
        braid_node across = i < 5 ? NO_NODE : braid_graph_get_node(graph, i - 5);
        new_node(graph, NULL, 10, before, across);
    }
    braid_cost_model costs = { .node_ns = 5 };
    const braid_schedule_options options = { .costs = &costs, .max_lanes = 2 };
    braid_schedule_info info = plan_info(graph, options);
    assert_int_equal(info.num_lanes, 2);
    assert_true(info.num_waits > 100);
    costs.issue_wait_ns = 50;
    assert_int_equal(plan_info(graph, options).num_lanes, 1);
}

static void the_predicted_makespan_charges_nodes_and_waits(void **state)
{
    (void)state;
    // top, then left and right, then bottom.
    braid_graph *graph = new_graph();
    braid_node top = new_node(graph, NULL, 1000, NO_NODE, NO_NODE);
    braid_node left = new_node(graph, NULL, 1000, top, NO_NODE);
    braid_node right = new_node(graph, NULL, 1000, top, NO_NODE);
    new_node(graph, NULL, 1000, left, right);
    braid_cost_model model = { .node_ns = 10, .wait_ns = 100, .root_ns = 7 };
    braid_schedule_info info = plan_info(
        graph, (braid_schedule_options){ .costs = &model, .max_lanes = 2, .fixed_lanes = true });
    assert_int_equal(info.one_lane_ns, 4030);
    assert_int_equal(info.work_ns, 4000);
    assert_int_equal(info.critical_path_ns, 3020);
    // top, wait, right, then bottom on the lane of the later one.
    assert_int_equal(info.makespan_ns, 1000 + 100 + 1000 + 10 + 1000 + 7);
}

static void unknown_costs_are_the_default(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource buffer = new_resource(graph, "x");
    static char memory[8];
    braid_access access = { buffer, BRAID_WRITE };
    braid_copy copy = { .to = memory, .from = memory + 4, .bytes = 4 };
    copy.node.accesses = &access;
    copy.node.num_accesses = 1;
    check_ok(braid_graph_add_copy(graph, &copy, NULL));
    copy.node.cost_ns = 70;
    check_ok(braid_graph_add_copy(graph, &copy, NULL));
    new_user(graph, "join", buffer, BRAID_READ, NO_RESOURCE, 0);
    assert_int_equal(plan_info(graph, (braid_schedule_options){ .costs = &free_costs }).work_ns,
                     72);
    braid_cost_model model = { .default_cost_ns = 500 };
    // A node without work costs next to nothing whatever the default.
    assert_int_equal(plan_info(graph, (braid_schedule_options){ .costs = &model }).work_ns, 571);
}

static void an_empty_graph_has_an_empty_plan(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_schedule *schedule = plan_with(graph, NULL);
    assert_int_equal(info_of(schedule).num_steps, 0);
    assert_int_equal(info_of(schedule).num_critical, 0);
    assert_int_equal(info_of(schedule).num_lanes, 0);
    assert_int_equal(info_of(schedule).makespan_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(lanes_that_are_free_are_used),
        owning_test(every_small_number_of_lanes_is_tried),
        owning_test(a_tie_takes_the_fewest),
        owning_test(a_small_gain_is_not_worth_a_lane),
        owning_test(two_lanes_are_taken_for_a_few_percent),
        owning_test(a_gain_behind_numbers_that_gain_nothing_is_found),
        owning_test(more_lanes_never_make_a_longer_plan),
        owning_test(more_lanes_never_make_a_longer_plan_of_a_wide_graph),
        owning_test(more_lanes_never_make_a_longer_plan_of_a_dense_graph),
        owning_test(no_plan_is_shorter_than_its_bound),
        owning_test(models_beyond_the_clock_are_refused),
        owning_test(unknown_costs_are_planned_to_run_side_by_side),
        owning_test(work_shorter_than_a_wait_stays_on_one_lane),
        owning_test(roots_of_lanes_cost_time),
        owning_test(a_device_that_runs_few_at_once_gets_few_lanes),
        owning_test(kernels_that_fill_the_device_get_few_lanes),
        owning_test(kernels_that_fill_the_device_start_behind_each_other_on_two_lanes),
        owning_test(nodes_that_can_only_be_started_one_by_one_get_few_lanes),
        owning_test(waits_take_time_also_where_they_delay_nothing),
        owning_test(the_predicted_makespan_charges_nodes_and_waits),
        owning_test(unknown_costs_are_the_default),
        owning_test(an_empty_graph_has_an_empty_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
