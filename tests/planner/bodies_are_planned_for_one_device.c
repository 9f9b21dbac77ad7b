// SPDX-License-Identifier: Apache-2.0
// In a plan for several devices all of a loop or branch is on one: the one that a node inside
// names, or the one with which the frame is shortest. A plan that leaves its memory stale is
// refused.
#include <braid/braid.h>

#include "graph/placed.h"
#include "graph/regions.h"
#include "plan/schedule.h"
#include "planner/places_testing.h"
#include "support/failing_memory.h"
#include "support/wide_plan.h"

enum { BYTES = 8 };

enum { START, WRITE, LOOP, LESS, SET, READ, NUM_NODES }; // the program's nodes; copies behind them

struct bodies {
    braid_graph *graph;
    braid_resource left, out, found;
    braid_node nodes[NUM_NODES];
};

static braid_node begin_loop(braid_graph *graph, braid_loop loop)
{
    braid_node node;
    check_ok(braid_graph_begin_loop(graph, &loop, &node));
    return node;
}

// Both words are written on the first place. The loop, of which one node is on `place`, counts one
// down and overwrites the other, which is read on the first place.
static struct bodies make_bodies(uint32_t place)
{
    struct bodies bodies = { .graph = new_graph() };
    braid_graph *graph = bodies.graph;
    bodies.left = add_home(graph, "left", BYTES, 1);
    bodies.out = add_home(graph, "out", BYTES, 1);
    bodies.found = add_home(graph, "found", BYTES, 1);
    const struct user users[NUM_NODES] = {
        [START] = { "start", 10, 1, { bodies.left }, { BRAID_WRITE }, 1 },
        [WRITE] = { "write", 10, 1, { bodies.out }, { BRAID_WRITE }, 1 },
        [LESS] = { "less", 1000, 0, { bodies.left }, { BRAID_READ_WRITE }, 1 },
        [SET] = { "set", 8, place, { bodies.out, bodies.left }, { BRAID_WRITE, BRAID_READ }, 2 },
        [READ] = { "read", 10, 1, { bodies.out, bodies.found }, { BRAID_READ, BRAID_WRITE }, 2 },
    };
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        if (i == LOOP)
            bodies.nodes[i] = begin_loop(graph, (braid_loop){ .node.name = "count",
                                                              .condition = bodies.left,
                                                              .most = 9,
                                                              .expected = 4,
                                                              .tests_first = true });
        else
            bodies.nodes[i] = add_user(graph, &users[i]);
        if (i == SET)
            check_ok(braid_graph_end(graph));
    }
    return bodies;
}

// The words go there before the loop, since it may have no iteration, and come home behind it.
static void a_loop_has_what_it_may_leave_as_it_was(void **state)
{
    (void)state;
    struct bodies bodies = make_bodies(2);
    braid_schedule *schedule = plan_on_devices(bodies.graph, 2, 1);
    braid_schedule_info info = info_of(schedule);
    assert_int_equal(info.num_copies, 4);
    for (uint32_t i = 0; i < info.num_copies; i++)
        assert_int_equal(info.copies[i].to, i < 2 ? 2 : 1);
    for (uint32_t i = 0; i < NUM_NODES; i++)
        assert_int_equal(placement_of(schedule, bodies.nodes[i]).place,
                         i >= LOOP && i <= SET ? 2 : 1);
}

// A loop of 4 * 1008 ns takes 1008 ns on a device that is four times as fast. Its cost is scaled
// once, and that of a copy is not.
static void a_loop_runs_where_the_frame_is_shortest(void **state)
{
    (void)state;
    const uint32_t speeds[] = { 1000, 4000 };
    const braid_place_model model = { .num_places = 2,
                                      .speeds = speeds,
                                      .link = { .latency_ns = 100 } };
    const braid_schedule_options options = { .costs = &(braid_cost_model){ .max_concurrent = 1 },
                                             .places = &model };
    struct bodies bodies = make_bodies(0);
    braid_schedule *schedule = plan_with(bodies.graph, &options);
    braid_placement loop = placement_of(schedule, bodies.nodes[LOOP]);
    braid_placement less = placement_of(schedule, bodies.nodes[LESS]);
    assert_int_equal(loop.place, 2);
    assert_int_equal(less.place, 2);
    assert_int_equal(less.end_ns - less.start_ns, 250);
    assert_int_equal(loop.end_ns - loop.start_ns, 4 * (250 + 2));
    braid_schedule_info info = info_of(schedule);
    for (uint32_t i = 0; i < info.num_copies; i++) {
        braid_node copy = { .graph = bodies.nodes[LOOP].graph, .index = info.copies[i].node };
        braid_placement there = placement_of(schedule, copy);
        assert_int_equal(there.end_ns - there.start_ns, 100);
    }
}

// A lane hint in a body means a lane of the body.
static void hints_inside_bind_nothing_outside(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource left = add_home(graph, "left", BYTES, 1);
    struct user user = { "less", 10, 1, { left }, { BRAID_READ_WRITE }, 1 };
    user.lane_hint = 5;
    begin_loop(graph, (braid_loop){ .times = 2 });
    add_user(graph, &user);
    check_ok(braid_graph_end(graph));
    user.name = "elsewhere";
    user.place = 2;
    braid_node elsewhere = add_user(graph, &user);
    braid_schedule *schedule = plan_on_devices(graph, 2, 1);
    assert_int_equal(placement_of(schedule, elsewhere).place, 2);
}

// Edges across the border of a loop are those of its node. Those inside may go against the order of
// adding.
static void edges_lead_into_a_loop(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource words[2];
    for (uint32_t i = 0; i < 2; i++)
        words[i] = add_home(graph, i ? "b" : "a", BYTES, 1);
    begin_loop(graph, (braid_loop){ .times = 2 });
    struct user user = { "first", 10, 0, { words[0] }, { BRAID_READ }, 1 };
    braid_node first = add_user(graph, &user);
    user = (struct user){ "second", 10, 0, { words[0] }, { BRAID_READ }, 1 };
    braid_node second = add_user(graph, &user);
    check_ok(braid_graph_end(graph));
    user = (struct user){ "before", 10, 2, { words[1] }, { BRAID_WRITE }, 1 };
    braid_node before = add_user(graph, &user);
    new_edge(graph, before, second);
    new_edge(graph, second, first);
    braid_schedule *schedule = plan_on_devices(graph, 2, 1);
    assert_true(placement_of(schedule, before).end_ns <= placement_of(schedule, second).start_ns);
    assert_true(placement_of(schedule, second).end_ns <= placement_of(schedule, first).start_ns);
}

static void a_loop_that_no_output_needs_is_nowhere(void **state)
{
    (void)state;
    struct bodies bodies = make_bodies(2);
    braid_resource seen = add_home(bodies.graph, "seen", BYTES, 1);
    const struct user user = { "see", 10, 2, { seen }, { BRAID_READ_WRITE }, 1 };
    begin_loop(bodies.graph, (braid_loop){ .times = 2 });
    add_user(bodies.graph, &user);
    check_ok(braid_graph_end(bodies.graph));
    check_ok(braid_graph_set_output(bodies.graph, seen));
    braid_schedule *schedule = plan_on_devices(bodies.graph, 2, 1);
    assert_int_equal(info_of(schedule).num_copies, 2);
    assert_int_equal(placement_of(schedule, bodies.nodes[LOOP]).lane, BRAID_NO_LANE);
}

static void planning_may_run_out_of_memory(void **state)
{
    (void)state;
    const braid_place_model model = { .num_places = 2 };
    const braid_schedule_options options = { .costs = &free_costs, .places = &model };
    struct bodies bodies = make_bodies(2);
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        braid_schedule *schedule = NULL;
        failing_memory_arm(nth);
        braid_status status = braid_schedule_create(bodies.graph, &options, &schedule);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
        braid_schedule_destroy(schedule);
    }
}

// ---- plans that are wrong ----

static struct graph_node *node_of(struct placed *placed, uint32_t node)
{
    return &((struct graph_node *)placed->graph->nodes.items)[node];
}

static struct graph_region *region_of(struct placed *placed)
{
    return placed->graph->regions.items;
}

// The second copy there has what the loop may leave as it was.
static void forget_what_is_overwritten(struct placed *placed)
{
    put_in_sequence(placed, NUM_NODES + 1, placed->graph->sequence.num - 1);
}

static void forget_the_condition(struct placed *placed)
{
    put_in_sequence(placed, NUM_NODES, placed->graph->sequence.num - 1);
}

static void part(struct placed *placed)
{
    node_of(placed, LESS)->place = 1;
}

static void part_from_all(struct placed *placed)
{
    node_of(placed, LOOP)->place = 1;
}

static void read_at_home(struct placed *placed)
{
    region_of(placed)->condition = 0;
}

static void have_no_condition(struct placed *placed)
{
    region_of(placed)->condition = GRAPH_NONE;
}

static void be_longer(struct placed *placed)
{
    region_of(placed)->num++;
}

static void read_another_word(struct placed *placed)
{
    struct graph_address *addresses = placed->graph->addresses.items;
    while (addresses->node != LOOP)
        addresses++;
    addresses->resource++;
}

static void come_back_early(struct placed *placed)
{
    put_in_sequence(placed, NUM_NODES + 2, find_in_sequence(placed, LOOP));
}

static void a_wrong_plan_is_told_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        void (*lie)(struct placed *placed);
        const char *text;
    } lies[] = {
        { forget_what_is_overwritten, "has node 2 'count' find nothing in 'out on place 2'" },
        { forget_the_condition, "has node 2 'count' find nothing in 'left on place 2'" },
        { part, "puts node 3 'less' on place 1, and node 2 'count', which it is in, on place 2" },
        { part_from_all, "and node 2 'count', which it is in, on place 1" },
        { read_at_home, "other loops or branches" },
        { have_no_condition, "other loops or branches" },
        { be_longer, "other loops or branches" },
        { read_another_word, "gives node 2 'count' other memory" },
        { come_back_early, "and not that of 2 'count'" },
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        struct bodies bodies = make_bodies(2);
        braid_schedule *schedule = plan_on_devices(bodies.graph, 2, 1);
        lies[i].lie(schedule->placed);
        check_fails(braid_schedule_verify(schedule, bodies.graph), BRAID_INTERNAL, lies[i].text);
        destroy_now(schedule);
        destroy_now(bodies.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_loop_has_what_it_may_leave_as_it_was),
        owning_test(a_loop_runs_where_the_frame_is_shortest),
        owning_test(hints_inside_bind_nothing_outside),
        owning_test(edges_lead_into_a_loop),
        owning_test(a_loop_that_no_output_needs_is_nowhere),
        owning_test(planning_may_run_out_of_memory),
        owning_test(a_wrong_plan_is_told_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
