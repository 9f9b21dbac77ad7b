// SPDX-License-Identifier: Apache-2.0
// Nodes of a bundle share a lane, not their edges: each waits for what it needs itself, and others
// wait for it alone.
#include "planner/minimum.h"
#include "planner/plan_testing.h"
#include "support/wide_plan.h"

#define MOST_NODES 90
#define MOST_EDGES 400

static braid_node costly_prelude(braid_graph *graph, braid_node main, uint64_t cost_ns)
{
    braid_empty part = { .node = { .cost_ns = cost_ns, .prelude_of = main } };
    braid_node node;
    check_ok(braid_graph_add_empty(graph, &part, &node));
    return node;
}

// The loops share an allocator through their preludes, and nothing else.
static void loops_overlap_whose_preludes_do_not(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource pool = new_resource(graph, "pool");
    braid_node loops[2], generate[2];
    for (int i = 0; i < 2; i++) {
        loops[i] = new_node(graph, i ? "loop B" : "loop A", 100, NO_NODE, NO_NODE);
        generate[i] = new_prelude(graph, loops[i], i ? "gen B" : "gen A", pool, BRAID_EXCLUSIVE);
        check_ok(braid_graph_set_cost(graph, generate[i], 5));
    }
    braid_schedule *schedule = plan_with(graph, NULL);
    braid_schedule_info info = info_of(schedule);
    assert_int_equal(info.num_lanes, 2);
    assert_int_equal(info.critical_path_ns, 110);
    assert_int_equal(info.bound_ns, 110);
    assert_int_equal(info.makespan_ns, 110);
    assert_int_equal(info.num_waits, 1);
    assert_int_equal(placement_of(schedule, generate[1]).start_ns, 5);
    assert_int_equal(info.num_serialisations, 1);
    assert_int_equal(
        num_serialised(schedule, generate[0], generate[1], BRAID_SERIALISED_BY_RESOURCE, "pool"),
        1);
    check_explains(schedule, loops[0], loops[1],
                   "free; their bundles are serialised by pool (held by gen A of loop A, held by "
                   "gen B of loop B)");
}

// The loop waits long after its prelude has run, for whom others wait.
static void others_wait_for_the_prelude_alone(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node slow = new_node(graph, "slow", 100, NO_NODE, NO_NODE);
    braid_node loop = new_node(graph, "loop", 10, slow, NO_NODE);
    braid_node prelude = costly_prelude(graph, loop, 5);
    braid_node other = new_node(graph, "other", 105, prelude, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 3);
    assert_int_equal(placement_of(schedule, prelude).start_ns, 0);
    assert_int_equal(placement_of(schedule, other).start_ns, 5);
    assert_int_equal(info_of(schedule).makespan_ns, 110);
}

// There is other work for the lane on which the prelude would wait.
static void a_bundle_holds_no_lane_that_others_need(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node slow = new_node(graph, "slow", 100, NO_NODE, NO_NODE);
    braid_node loop = new_node(graph, "loop", 200, slow, NO_NODE);
    braid_node prelude = costly_prelude(graph, loop, 5);
    new_node(graph, "other", 90, NO_NODE, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 2);
    assert_int_equal(placement_of(schedule, loop).start_ns, 100);
    assert_in_range(placement_of(schedule, prelude).end_ns, 5, 100);
    assert_int_equal(info_of(schedule).makespan_ns, 300);
}

// A bundle may start early and hold its lane idle, or late: here "early" is 30 shorter, since the
// prelude frees the user long before the loop can run.
static void a_bundle_starts_early_where_others_gain(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node slow = new_node(graph, "slow", 100, NO_NODE, NO_NODE);
    braid_node loop = new_node(graph, "loop", 70, slow, NO_NODE);
    braid_node prelude = costly_prelude(graph, loop, 30);
    braid_node user = new_node(graph, "user", 100, prelude, NO_NODE);
    new_node(graph, "other", 40, NO_NODE, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 3);
    assert_int_equal(placement_of(schedule, user).start_ns, 40);
    assert_int_equal(info_of(schedule).makespan_ns, 170);
}

// The last loop's turn comes when its prelude need not wait, 20 before what the loop waits for has
// ended: then the lane beside is idle. At that end there is a lane that waits for nothing, behind
// the first loop, where it would end 20 later. At once, it would hold up the loop in the middle.
static void a_bundle_starts_so_that_its_last_node_need_not_wait(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node first = new_node(graph, "first", 80, NO_NODE, NO_NODE);
    braid_node clear = costly_prelude(graph, first, 10);
    braid_node last = new_node(graph, "last", 30, clear, first);
    braid_node list = costly_prelude(graph, last, 20);
    braid_node middle = new_node(graph, "middle", 50, NO_NODE, NO_NODE);
    new_edge(graph, clear, costly_prelude(graph, middle, 10));
    braid_schedule *schedule = plan_on(graph, 2);
    assert_int_equal(placement_of(schedule, list).lane, placement_of(schedule, middle).lane);
    assert_int_equal(info_of(schedule).makespan_ns, 120);
}

// The wait takes 20 after an end at 70, and the loop stands 90 behind the start of its bundle.
static void a_wait_of_a_later_node_delays_no_start(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node slow = new_node(graph, "slow", 70, NO_NODE, NO_NODE);
    braid_node loop = new_node(graph, "loop", 70, slow, NO_NODE);
    costly_prelude(graph, loop, 90);
    braid_schedule_options options = {
        .max_lanes = 2,
        .fixed_lanes = true,
        .costs = &(braid_cost_model){ .wait_ns = 20 },
    };
    braid_schedule *schedule = plan_with(graph, &options);
    assert_int_equal(info_of(schedule).num_lanes, 2);
    assert_int_equal(placement_of(schedule, loop).start_ns, 90);
    assert_int_equal(info_of(schedule).makespan_ns, 160);
}

struct bundled {
    braid_graph *graph;
    uint32_t num_nodes, num_units;
    uint32_t unit_of[MOST_NODES]; // in the order of adding, in which edges between bundles go
    uint32_t from[MOST_EDGES], to[MOST_EDGES];
    size_t num_edges;
};

// Bundles of one to five nodes, with edges from any node to any of a later bundle.
static void fill_bundled(struct bundled *bundled, struct random *random)
{
    *bundled = (struct bundled){ .graph = new_graph() };
    bundled->num_units = 2 + random_below(random, 16);
    for (uint32_t unit = 0; unit < bundled->num_units; unit++) {
        uint32_t size = 1 + random_below(random, 5);
        braid_node main = NO_NODE;
        for (uint32_t i = 0; i < size; i++) {
            braid_empty part = { .node.cost_ns = 1 + random_below(random, 50) };
            if (i > 0 && random_chance(random, 60))
                part.node.prelude_of = main;
            else if (i > 0)
                part.node.epilogue_of = main;
            check_ok(braid_graph_add_empty(bundled->graph, &part, i ? NULL : &main));
            bundled->unit_of[bundled->num_nodes++] = unit;
        }
    }
    uint32_t wanted = random_below(random, bundled->num_nodes * 3);
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t from = random_below(random, bundled->num_nodes);
        uint32_t to = random_below(random, bundled->num_nodes);
        if (bundled->unit_of[from] >= bundled->unit_of[to])
            continue;
        bundled->from[bundled->num_edges] = from;
        bundled->to[bundled->num_edges++] = to;
        new_edge(bundled->graph, braid_graph_get_node(bundled->graph, from),
                 braid_graph_get_node(bundled->graph, to));
    }
}

// Plays the lanes through without the planner: a node starts as soon as its lane is free and all
// that it needs has ended, neither earlier nor later.
static void check_times(const struct bundled *bundled, const braid_schedule *schedule)
{
    braid_schedule_info info = info_of(schedule);
    uint64_t ready[MOST_NODES] = { 0 }, lane_ends[MOST_NODES] = { 0 }, last = 0;
    const braid_step *steps = info.steps;
    for (size_t i = 0; i < info.num_steps; i++) {
        if (steps[i].kind != BRAID_STEP_RUN)
            continue;
        uint32_t node = steps[i].node;
        braid_placement at = placement_of(schedule, braid_graph_get_node(bundled->graph, node));
        uint64_t free_ns = lane_ends[at.lane];
        assert_int_equal(at.start_ns, free_ns > ready[node] ? free_ns : ready[node]);
        lane_ends[at.lane] = at.end_ns;
        last = at.end_ns > last ? at.end_ns : last;
        for (size_t e = 0; e < bundled->num_edges; e++) {
            if (bundled->from[e] == node && at.end_ns > ready[bundled->to[e]])
                ready[bundled->to[e]] = at.end_ns;
        }
    }
    assert_int_equal(info.makespan_ns, last);
    assert_true(info.makespan_ns >= info.bound_ns);
    assert_true(info.makespan_ns <= info.one_lane_ns);
}

// plan_with proves each plan as well: nothing runs between the nodes of a bundle.
static void waits_are_the_fewest(void **state)
{
    (void)state;
    struct random random = { 11 };
    struct bundled bundled;
    for (int trial = 0; trial < 600; trial++) {
        fill_bundled(&bundled, &random);
        braid_schedule_options options = { .costs = &free_costs,
                                           .max_lanes = 1 + random_below(&random, 7),
                                           .fixed_lanes = true };
        if (random_chance(&random, 25))
            options = wide_plan();
        braid_schedule *schedule = plan_with(bundled.graph, &options);
        assert_int_equal(info_of(schedule).num_waits,
                         minimum_waits(schedule, bundled.num_nodes, bundled.from, bundled.to,
                                       bundled.num_edges));
        check_times(&bundled, schedule);
        destroy_now(schedule);
        destroy_now(bundled.graph);
    }
}

// Waits that cost something, few nodes at once, plans made again: all are proven.
static void every_way_of_planning_takes_bundles(void **state)
{
    (void)state;
    struct random random = { 12 };
    struct bundled bundled;
    for (int trial = 0; trial < 300; trial++) {
        fill_bundled(&bundled, &random);
        braid_schedule_options options = {
            .max_lanes = random_below(&random, 7),
            .costs = &(braid_cost_model){ .node_ns = random_below(&random, 5),
                                          .wait_ns = random_below(&random, 40),
                                          .max_concurrent = random_below(&random, 4) },
        };
        braid_schedule *schedule = plan_with(bundled.graph, &options);
        assert_true(info_of(schedule).makespan_ns >= info_of(schedule).bound_ns);
        destroy_now(schedule);
        destroy_now(bundled.graph);
    }
}

// Two bundles that each need the other's first node could run side by side, but not on one lane.
static void bundles_that_need_each_other_are_a_cycle(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_node a = new_node(graph, "a", 1, NO_NODE, NO_NODE);
    braid_node b = new_node(graph, "b", 1, NO_NODE, NO_NODE);
    new_edge(graph, costly_prelude(graph, a, 1), b);
    new_edge(graph, costly_prelude(graph, b, 1), a);
    braid_schedule *schedule;
    assert_int_equal(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule),
        BRAID_CYCLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(loops_overlap_whose_preludes_do_not),
        owning_test(others_wait_for_the_prelude_alone),
        owning_test(a_bundle_holds_no_lane_that_others_need),
        owning_test(a_bundle_starts_early_where_others_gain),
        owning_test(a_bundle_starts_so_that_its_last_node_need_not_wait),
        owning_test(a_wait_of_a_later_node_delays_no_start),
        owning_test(waits_are_the_fewest),
        owning_test(every_way_of_planning_takes_bundles),
        owning_test(bundles_that_need_each_other_are_a_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
