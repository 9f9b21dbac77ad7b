// SPDX-License-Identifier: Apache-2.0
// Islands are stretches of lanes in which nothing waits and nothing is waited for, as long as they
// can be where that pays, and none where it does not; the proof sees every other division.
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "islands/plan_divide.h"
#include "plan/schedule.h"
#include "planner/plan_testing.h"
#include "support/random_choice.h"

enum { NUM_NODES = 60, NUM_GRAPHS = 200 };

static const braid_cost_model model = {
    .default_cost_ns = 5000,
    .node_ns = 500,
    .wait_ns = 800,
    .max_concurrent = 128,
    .island_call_ns = 100,
};

static void noop(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static const braid_kernel with_source = { .name = "k", .cpu = noop, .source = "void k();" };
static const braid_kernel without = { .name = "w", .cpu = noop };

// Nodes without source; the rest are narrow.
struct made {
    braid_graph *graph;
    bool is_outside[NUM_NODES];
};

static struct made make_random(struct random *random, uint64_t cost_ns, uint32_t percent_outside)
{
    struct made made = { .graph = new_graph() };
    braid_node nodes[NUM_NODES];
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        struct random_choice choice;
        random_choose(random, &(struct random_shape){ .edges = 2, .reach = 4 }, nodes, i, NULL,
                      &choice);
        choice.options.cost_ns = cost_ns;
        made.is_outside[i] = random_chance(random, percent_outside);
        const braid_kernel_node launch = {
            .node = choice.options,
            .kernel = made.is_outside[i] ? &without : &with_source,
        };
        check_ok(braid_graph_add_kernel(made.graph, &launch, &nodes[i]));
    }
    return made;
}

static braid_schedule *plan(const braid_graph *graph, uint32_t lanes, const braid_cost_model *costs)
{
    const braid_schedule_options options = { .max_lanes = lanes,
                                             .fixed_lanes = true,
                                             .costs = costs };
    return own_schedule(graph, &options);
}

// Whether a wait or a record stands between two neighbours of a lane.
static bool is_cut(const braid_schedule *schedule, uint32_t first, uint32_t second)
{
    bool between = false;
    for (size_t i = 0; i < schedule->program.num_ops; i++) {
        const braid_step *step = &schedule->program.ops[i];
        if (step->lane != schedule->lane_of[first])
            continue;
        if (step->kind == BRAID_STEP_RUN && step->node == second)
            return false;
        if (step->kind != BRAID_STEP_RUN && between)
            return true;
        between |= step->kind == BRAID_STEP_RUN && step->node == first;
    }
    return false;
}

// Neighbours that may be together are, and no others.
static void check_stretches(const braid_schedule *schedule, const struct made *made)
{
    const uint32_t *island_of = schedule->division.island_of;
    for (uint32_t lane = 0; lane < schedule->info.num_lanes; lane++) {
        for (uint32_t i = schedule->lane_first[lane]; i + 1 < schedule->lane_first[lane + 1]; i++) {
            uint32_t a = schedule->lane_nodes[i], b = schedule->lane_nodes[i + 1];
            bool may = !made->is_outside[a] && !made->is_outside[b] && !is_cut(schedule, a, b);
            assert_int_equal(island_of[a] != PLAN_NONE && island_of[a] == island_of[b], may);
        }
    }
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        assert_true(!made->is_outside[i] || island_of[i] == PLAN_NONE);
        assert_int_equal(island_of[i] == PLAN_NONE, schedule->division.why_outside[i] != NULL);
    }
}

static void stretches_are_as_long_as_they_can_be(void **state)
{
    (void)state;
    struct random random = { 1 };
    unsigned num_islands = 0;
    for (uint32_t i = 0; i < NUM_GRAPHS; i++) {
        struct made made = make_random(&random, 300, 15);
        braid_schedule *schedule = plan(made.graph, 1 + i % 3, &model);
        check_ok(braid_schedule_verify(schedule, made.graph));
        if (schedule->info.num_islands)
            check_stretches(schedule, &made);
        num_islands += schedule->info.num_islands;
        destroy_now(schedule);
        destroy_now(made.graph);
    }
    print_message("summary: %u islands in %d graphs\n", num_islands, NUM_GRAPHS);
    assert_true(num_islands > NUM_GRAPHS);
}

// Times are those with islands: on one lane, calls instead of launches.
static void times_are_those_with_islands(void **state)
{
    (void)state;
    struct random random = { 2 };
    struct made made = make_random(&random, 1000, 0);
    braid_schedule *schedule = plan(made.graph, 1, &model);
    assert_int_equal(schedule->info.num_islands, 1);
    assert_int_equal(schedule->info.num_island_nodes, NUM_NODES);
    assert_int_equal(schedule->info.makespan_ns, NUM_NODES * 1000 + (NUM_NODES - 1) * 100);
}

// Blocks run on a lane, and on a chain of four groups.
static void blocks_run_in_turn(void **state)
{
    (void)state;
    struct island_fit fit = { .threads = 256, .blocks = 60 };
    const struct plan_room lane = { .groups = 1, .round_ns = 600, .max_threads = 132 * 2048 };
    struct plan_room room = lane;
    assert_int_equal(braid_plan_inside_ns(&fit, &lane, 4000), 60 * 4000);
    assert_int_equal(braid_plan_inside_ns(&fit, &lane, 100), 100 + 59 * 600);
    room.groups = braid_plan_groups_of(&fit, 1);
    assert_int_equal(room.groups, 4);
    assert_int_equal(braid_plan_inside_ns(&fit, &room, 4000), 15 * 4000);
    fit.blocks = 4 * 132 * 8; // the device is filled four times: a block alone takes a quarter
    assert_int_equal(braid_plan_inside_ns(&fit, &lane, 8000), fit.blocks * 2000);
    const struct island_fit copy = { .threads = 32, .blocks = 33, .is_move = true };
    assert_int_equal(braid_plan_inside_ns(&copy, &lane, 2300), 2300 + 2 * 600);
    room = (struct plan_room){ .groups = 1, .round_ns = 600, .shares_unit = true };
    assert_int_equal(braid_plan_inside_ns(&copy, &room, 2300), 2300 + 32 * 600);
    fit.blocks = UINT64_MAX / 2;
    assert_true(braid_plan_inside_ns(&fit, &lane, 8000) >= INT64_MAX / 2);
}

// A group alone needs none of the few barriers.
static void groups_are_whole_warps(void **state)
{
    (void)state;
    static const struct {
        uint32_t threads, groups;
    } rows[] = { { 20, 32 }, { 64, 14 }, { 96, 10 }, { 97, 8 }, { 1024, 1 }, { 0, 32 } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct island_fit fits[2] = { { .threads = rows[i].threads }, { .is_empty = true } };
        assert_int_equal(braid_plan_groups_of(fits, 2), rows[i].groups);
        fits[0].runs_alone = true;
        assert_int_equal(braid_plan_groups_of(fits, 2), 1);
    }
}

static uint32_t count_islands(uint64_t cost_ns, const braid_cost_model *costs)
{
    struct random random = { 3 };
    struct made made = make_random(&random, cost_ns, 0);
    braid_schedule *schedule = plan(made.graph, 1, costs);
    uint32_t num = schedule->info.num_islands;
    destroy_now(schedule);
    destroy_now(made.graph);
    return num;
}

static void none_are_made_that_do_not_pay(void **state)
{
    (void)state;
    braid_cost_model dear = model, none = model, early = model;
    dear.island_call_ns = 600;
    none.island_call_ns = 0;
    early.early_ns = 350; // what is left to gain is 50 ns a node
    assert_int_equal(count_islands(1000, &model), 1);
    assert_int_equal(count_islands(14000, &model), 0); // less than 3 %
    assert_int_equal(count_islands(1000, &dear), 0);
    assert_int_equal(count_islands(1000, &none), 0);
    assert_int_equal(count_islands(1000, &early), 1);
    assert_int_equal(count_islands(2000, &early), 0);
    braid_cost_model slow_start = model;
    slow_start.island_start_ns = (NUM_NODES - 1) * 400 - 1; // what all calls gain, but one
    assert_int_equal(count_islands(1, &model), 1);
    assert_int_equal(count_islands(1, &slow_start), 0); // less than 3 % is left
    slow_start.island_start_ns /= 2;
    assert_int_equal(count_islands(1, &slow_start), 1);
}

// Two kernels of many blocks, which one block of an island would run in turn.
static uint32_t count_wide(uint32_t blocks, uint32_t threads, uint64_t cost_ns,
                           const braid_cost_model *costs)
{
    braid_graph *graph = new_graph();
    braid_node node = { 0 };
    for (int i = 0; i < 6; i++) {
        const braid_node before = node;
        const braid_kernel_node launch = {
            .node = { .after = &before, .num_after = i > 0, .cost_ns = cost_ns },
            .kernel = &with_source,
            .grid = { blocks, 1, 1 },
            .block = { threads, 1, 1 },
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &node));
    }
    braid_schedule *schedule = plan(graph, 1, costs);
    uint32_t num = schedule->info.num_islands;
    check_ok(braid_schedule_verify(schedule, graph));
    destroy_now(schedule);
    destroy_now(graph);
    return num;
}

static void wide_kernels_stay_outside(void **state)
{
    (void)state;
    assert_int_equal(count_wide(4, 256, 1000, &model), 1); // all at once
    assert_int_equal(count_wide(5, 256, 1000, &model), 0); // one more round, of 1000 ns
    assert_int_equal(count_wide(5, 256, 100, &model), 1);  // each takes 100 ns
    assert_int_equal(count_wide(14, 64, 1000, &model), 1); // there are so many barriers
    assert_int_equal(count_wide(15, 64, 1000, &model), 0);
    assert_int_equal(count_wide(32, 32, 1000, &model), 1); // warps need none
    assert_int_equal(count_wide(1000, 256, 1000, &model), 0);
    assert_int_equal(count_wide(1, 256, 0, &model), 1);
    assert_int_equal(count_wide(2, 256, 0, &model), 0); // less than 3 %
    braid_cost_model slow_round = model;
    slow_round.island_round_ns = 600; // however little a round is said to take
    assert_int_equal(count_wide(5, 256, 1, &model), 1);
    assert_int_equal(count_wide(5, 256, 1, &slow_round), 0);
    assert_int_equal(count_wide(4, 256, 1, &slow_round), 1);
}

// How many of a chain of twelve are inside, one of which takes longer there. An island starts in
// 700 ns.
static uint32_t count_inside(uint32_t which, uint32_t blocks, uint64_t cost_ns)
{
    braid_cost_model costs = model;
    braid_graph *graph = new_graph();
    braid_node node = { 0 };
    costs.island_start_ns = 700;
    for (uint32_t i = 0; i < 12; i++) {
        const braid_node before = node;
        const braid_kernel_node launch = {
            .node = { .after = &before, .num_after = i > 0, .cost_ns = i == which ? cost_ns : 300 },
            .kernel = &with_source,
            .grid = { i == which ? blocks : 1, 1, 1 },
            .block = { 256, 1, 1 },
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &node));
    }
    braid_schedule *schedule = plan(graph, 1, &costs);
    const uint32_t num = schedule->info.num_island_nodes;
    assert_true(schedule->info.makespan_ns < schedule->division.plain_makespan_ns);
    check_ok(braid_schedule_verify(schedule, graph));
    destroy_now(schedule);
    destroy_now(graph);
    return num;
}

// If nobody told the cost, each block but the first counts for 350 ns, and a launch for 400.
static void few_blocks_are_inside_where_another_start_takes_longer(void **state)
{
    (void)state;
    assert_int_equal(count_inside(6, 2, 0), 12);
    assert_int_equal(count_inside(6, 4, 0), 12); // 650 ns longer
    assert_int_equal(count_inside(6, 5, 0), 11);
    assert_int_equal(count_inside(6, 16, 1000), 11); // three more rounds
    assert_int_equal(count_inside(6, 8, 1000), 12);  // one more: 600 ns longer
    assert_int_equal(count_inside(0, 4, 0), 11);     // it begins no island
    assert_int_equal(count_inside(11, 4, 0), 11);    // nor ends one
    assert_int_equal(count_inside(11, 2, 0), 12);
}

static void other_divisions_are_seen(void **state)
{
    (void)state;
    struct random random = { 5 };
    unsigned num = 0;
    for (uint32_t round = 0; round < 50; round++) {
        struct made made = make_random(&random, 300, 15);
        braid_schedule *schedule = plan(made.graph, 2, &model);
        uint32_t *island_of = schedule->division.island_of;
        for (uint32_t i = 0; schedule->info.num_islands && i < NUM_NODES; i++) {
            uint32_t lane = schedule->lane_of[i], at = schedule->lane_first[lane];
            while (schedule->lane_nodes[at] != i)
                at++;
            bool is_last = at + 1 == schedule->lane_first[lane + 1];
            uint32_t next = is_last ? PLAN_NONE : schedule->lane_nodes[at + 1];
            if (island_of[i] == PLAN_NONE || is_last || island_of[next] != PLAN_NONE ||
                !is_cut(schedule, i, next))
                continue;
            island_of[next] = island_of[i]; // over a wait or a record
            check_fails(braid_schedule_verify(schedule, made.graph), BRAID_INTERNAL, "inside");
            island_of[next] = schedule->info.num_islands;
            check_fails(braid_schedule_verify(schedule, made.graph), BRAID_INTERNAL, "has");
            island_of[next] = PLAN_NONE;
            num++;
        }
        check_ok(braid_schedule_verify(schedule, made.graph));
        destroy_now(schedule);
        destroy_now(made.graph);
    }
    print_message("summary: %u faults planted\n", num);
    assert_true(num > 30);
}

// Ten iterations of a kernel of 2 us; with `inner`, of so many of that.
static uint64_t length_of_loop(const braid_kernel *kernel, uint64_t inner, uint32_t num_islands)
{
    braid_cost_model costs = model;
    braid_graph *graph = new_graph();
    braid_placement placement;
    braid_node loop, node;
    costs.iteration_ns = 4500;
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 10 }, &loop));
    if (inner)
        check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = inner }, NULL));
    const braid_kernel_node launch = { .node.cost_ns = 2000, .kernel = kernel };
    check_ok(braid_graph_add_kernel(graph, &launch, &node));
    if (inner)
        check_ok(braid_graph_end(graph));
    check_ok(braid_graph_end(graph));
    braid_schedule *schedule = plan(graph, 1, &costs);
    check_ok(braid_plan_islands->divide(schedule, graph, &costs));
    assert_int_equal(schedule->info.num_islands, num_islands);
    check_ok(braid_schedule_get_placement(schedule, loop, &placement));
    assert_int_equal(placement.end_ns - placement.start_ns, schedule->info.makespan_ns);
    assert_int_equal(schedule->info.makespan_ns, schedule->info.expected_ns);
    check_ok(braid_schedule_verify(schedule, graph));
    if (num_islands) { // all of it is inside
        schedule->division.island_of[node.index] = PLAN_NONE;
        check_fails(braid_schedule_verify(schedule, graph), BRAID_INTERNAL, "not in the island");
    }
    destroy_now(schedule);
    destroy_now(graph);
    return placement.end_ns - placement.start_ns;
}

// A plan that was made without the time between iterations has nothing to save.
static void a_loop_that_is_one_kernel_never_takes_less_than_its_calls(void **state)
{
    (void)state;
    braid_cost_model costs = model;
    braid_graph *graph = new_graph();
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 10 }, NULL));
    const braid_kernel_node launch = { .node.cost_ns = 2000, .kernel = &with_source };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    check_ok(braid_graph_end(graph));
    braid_schedule *schedule = plan(graph, 1, &costs);
    costs.iteration_ns = 4500;
    check_ok(braid_plan_islands->divide(schedule, graph, &costs));
    assert_int_equal(schedule->info.num_islands, 1);
    assert_int_equal(schedule->info.makespan_ns, 10 * 2000);
}

static void a_loop_that_is_one_kernel_is_expected_to_be_shorter(void **state)
{
    (void)state;
    const uint64_t inside = PLAN_ITERATION_INSIDE_NS;
    assert_int_equal(length_of_loop(&without, 0, 0), 10 * (2000 + 4500));
    assert_int_equal(length_of_loop(&with_source, 0, 1), 10 * (2000 + inside));
    assert_int_equal(length_of_loop(&without, 3, 0), 10 * (3 * (2000 + 4500) + 4500));
    assert_int_equal(length_of_loop(&with_source, 3, 1), 10 * (3 * (2000 + inside) + inside));
}

// A loop with nodes side by side, one a lane, and others in loops inside it.
static uint32_t islands_of_loops(uint32_t num_lanes, uint32_t num_inside)
{
    braid_graph *graph = new_graph();
    const braid_kernel_node launch = { .node.cost_ns = 2000, .kernel = &with_source };
    braid_node first;
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 10 }, NULL));
    check_ok(braid_graph_add_kernel(graph, &launch, &first));
    for (uint32_t i = 1; i < num_lanes; i++)
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    for (uint32_t i = 0; i < num_inside; i++) {
        check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 2 }, NULL));
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
        check_ok(braid_graph_end(graph));
    }
    check_ok(braid_graph_end(graph));
    braid_schedule *schedule = plan(graph, num_lanes, &model);
    check_ok(braid_plan_islands->divide(schedule, graph, &model));
    const uint32_t num_islands = schedule->info.num_islands;
    const char *reason = schedule->division.why_outside[first.index];
    if (num_islands > 1)
        assert_non_null(strstr(reason, "too many nodes, arguments or loops inside"));
    check_ok(braid_schedule_verify(schedule, graph));
    destroy_now(schedule);
    destroy_now(graph);
    return num_islands;
}

// An island has room for 64 KiB of lists and arguments. With 32 lanes a loop has two steps of 272
// B. Its scope has 64 B, and a call has 32 B.
static void a_loop_with_too_many_steps_for_its_lanes_is_not_one_kernel(void **state)
{
    (void)state;
    assert_int_equal(islands_of_loops(1, 200), 1);
    assert_int_equal(islands_of_loops(32, 99), 1);
    assert_int_equal(islands_of_loops(32, 100), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(stretches_are_as_long_as_they_can_be),
        owning_test(times_are_those_with_islands),
        owning_test(blocks_run_in_turn),
        owning_test(groups_are_whole_warps),
        owning_test(none_are_made_that_do_not_pay),
        owning_test(wide_kernels_stay_outside),
        owning_test(few_blocks_are_inside_where_another_start_takes_longer),
        owning_test(other_divisions_are_seen),
        owning_test(a_loop_that_is_one_kernel_is_expected_to_be_shorter),
        owning_test(a_loop_that_is_one_kernel_never_takes_less_than_its_calls),
        owning_test(a_loop_with_too_many_steps_for_its_lanes_is_not_one_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
