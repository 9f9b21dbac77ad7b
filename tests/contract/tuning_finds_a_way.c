// SPDX-License-Identifier: Apache-2.0
// Tuning measures a graph, tries ways to play it, tells of each, and hands out the fastest, which
// can be used. What is kept of it elsewhere can be told to be another graph's.
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/wide_plan.h"

enum { busy_ns = 100000 };

struct seen {
    int num, num_best, num_wide;
    bool was_dropped; // the one before
    uint64_t best_ns, least_ns, before_ns, used_ns, total_ns;
    braid_exec_options best;
};

static void note(const braid_tune_trial *trial, void *user)
{
    struct seen *seen = user;
    assert_true(trial->frames_timed > 0 && trial->planned_ns > 0 && strlen(trial->name) > 0);
    assert_true(trial->frame.least_ns <= trial->frame.median_ns);
    if (seen->num++ == 0)
        seen->least_ns = trial->frame.median_ns;
    assert_true(!seen->was_dropped || trial->was_dropped); // dropped ones are last
    if (trial->was_dropped && !seen->was_dropped)
        seen->before_ns = 0;
    assert_true(trial->frame.median_ns >= seen->before_ns); // fastest first
    seen->before_ns = trial->frame.median_ns;
    seen->was_dropped = trial->was_dropped;
    seen->num_wide += trial->num_lanes > 1;
    seen->num_best += trial->is_best;
    if (trial->is_best) {
        assert_false(trial->was_dropped);
        seen->best_ns = trial->frame.median_ns;
        seen->best = *trial->way;
    }
}

static void note_progress(uint64_t used_ns, uint64_t total_ns, void *user)
{
    struct seen *seen = user;
    assert_true(total_ns >= 1000000);
    assert_int_equal(total_ns, seen->total_ns ? seen->total_ns : total_ns);
    assert_true(used_ns >= seen->used_ns && used_ns <= total_ns && seen->num == 0);
    seen->used_ns = used_ns;
    seen->total_ns = total_ns;
}

static void the_fastest_way_is_handed_out_and_can_be_used(void **state)
{
    struct contract *contract = *state;
    uint64_t *intervals = contract_memory(contract, BRAID_MEMORY_DEVICE, 6 * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    for (int i = 0; i < 3; i++)
        add_busy(graph, (braid_node_options){ 0 }, intervals + 2 * i, busy_ns);
    struct seen seen = { 0 };
    const braid_tune_options options = { .budget_ns = 1000000,
                                         .max_lanes = 3,
                                         .report = note,
                                         .user = &seen,
                                         .progress = note_progress };
    braid_exec_options way;
    check_ok(braid_graph_tune(graph, contract->device, &options, &way));
    assert_true(seen.num > 1 && seen.num_wide > 0);
    assert_int_equal(seen.num_best, 1);
    assert_int_equal(seen.used_ns, seen.total_ns); // it ends no sooner
    assert_true((double)seen.best_ns <= 1.01 * (double)seen.least_ns);
    assert_memory_equal(&way, &seen.best, sizeof(way));
    braid_exec *exec;
    check_ok(braid_exec_create(contract->device, graph, &way, &exec));
    contract_own_exec(contract, exec);
    braid_schedule_info info;
    braid_schedule *schedule;
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    assert_int_equal(info.num_guessed, 0); // the costs were measured
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    assert_int_equal(info.num_guessed, way.ignore_costs ? 3 : 0);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
}

static void note_most(const braid_tune_trial *trial, void *user)
{
    uint32_t *most = user;
    *most = trial->num_lanes > *most ? trial->num_lanes : *most;
}

// What no plan promises anything of is tried too.
static void a_lane_for_everything_is_tried(void **state)
{
    enum { num_nodes = 36 };
    struct contract *contract = *state;
    uint32_t *numbers = contract_numbers(contract, num_nodes), most = 0;
    braid_graph *graph = contract_graph(contract);
    for (int i = 0; i < num_nodes; i++)
        add_fill(graph, (braid_node_options){ .cost_ns = 1000 }, numbers + i, 1, 1);
    const braid_tune_options options = {
        .budget_ns = 1, .keep_costs = true, .report = note_most, .user = &most
    };
    braid_exec_options way;
    check_ok(braid_graph_tune(graph, contract->device, &options, &way));
    assert_int_equal(most, num_nodes);
}

static void note_modes(const braid_tune_trial *trial, void *user)
{
    bool *seen = user;
    seen[trial->way->mode == BRAID_MODE_GRAPH] = true;
}

static bool is_allowed(struct contract *contract, const braid_graph *graph, braid_exec_mode mode)
{
    braid_exec *exec = NULL;
    braid_status status =
        braid_exec_create(contract->device, graph, &(braid_exec_options){ .mode = mode }, &exec);
    braid_exec_destroy(exec);
    assert_true(status == BRAID_OK || status == BRAID_UNSUPPORTED);
    return status == BRAID_OK;
}

static void check_modes(struct contract *contract, braid_graph *graph)
{
    bool on_streams = is_allowed(contract, graph, BRAID_MODE_STREAMS), seen[2] = { false, false };
    bool as_graph = is_allowed(contract, graph, BRAID_MODE_GRAPH);
    const braid_tune_options options = {
        .budget_ns = 1, .max_lanes = 2, .keep_costs = true, .report = note_modes, .user = seen
    };
    braid_exec_options way = { .frames_kept = 7 };
    braid_status status = braid_graph_tune(graph, contract->device, &options, &way);
    if (on_streams || as_graph) {
        check_ok(status);
    } else {
        check_fails(status, BRAID_UNSUPPORTED, "allows no mode for the graph");
        assert_int_equal(way.frames_kept, 7); // as it was
    }
    assert_int_equal(seen[0], on_streams);
    assert_int_equal(seen[1], as_graph);
}

static braid_status call_nothing(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream, (void)user;
    return BRAID_OK;
}

// The CPU replays no queue calls, and HIP reads no grids in any mode.
static void modes_that_are_not_allowed_are_left_out(void **state)
{
    struct contract *contract = *state;
    uint32_t *words = contract_numbers(contract, 16);
    braid_graph *graph = contract_graph(contract);
    add_queue_call(graph, (braid_node_options){ .name = "gemm" }, call_nothing, NULL);
    check_modes(contract, graph);
    graph = contract_graph(contract);
    uint32_t *counts = words + 3, *seen = words + 8;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &test_count_read_blocks,
                              .grid = { 3, 1, 1 },
                              .block = { 32, 1, 1 },
                              .grid_from = words,
                              BRAID_ARGS(BRAID_ARG(counts), BRAID_ARG(seen)) },
        NULL));
    check_modes(contract, graph);
}

struct plans {
    int num[2]; // by mode, without what is tried on the best
};

static void note_plans(const braid_tune_trial *trial, void *user)
{
    struct plans *plans = user;
    plans->num[trial->way->mode == BRAID_MODE_GRAPH] +=
        strchr(trial->name, ',') == strrchr(trial->name, ',');
}

// Behind a long chain each number of lanes is only a little better than the one before: not all are
// timed.
static void few_of_many_plans_are_timed(void **state)
{
    enum { num_long = 10, num_short = 24 };
    struct contract *contract = *state;
    uint32_t *numbers = contract_numbers(contract, num_short);
    braid_graph *graph = contract_graph(contract);
    braid_node node = { 0 };
    for (int i = 0; i < num_long; i++)
        node = add_fill(
            graph, (braid_node_options){ .after = &node, .num_after = i > 0, .cost_ns = 1000000 },
            numbers, 1, 1);
    for (int i = 1; i < num_short; i++)
        add_fill(graph, (braid_node_options){ .after = &node, .num_after = 1, .cost_ns = 100000 },
                 numbers + i, 1, 1);
    struct plans plans = { 0 };
    const braid_tune_options options = {
        .budget_ns = 1, .keep_costs = true, .report = note_plans, .user = &plans
    };
    braid_exec_options way;
    check_ok(braid_graph_tune(graph, contract->device, &options, &way));
    static const braid_exec_mode modes[2] = { BRAID_MODE_STREAMS, BRAID_MODE_GRAPH };
    for (int i = 0; i < 2; i++) {
        if (is_allowed(contract, graph, modes[i]))
            assert_in_range(plans.num[i], 2, 6);
        else
            assert_int_equal(plans.num[i], 0);
    }
}

static void costs_that_are_to_stay_do(void **state)
{
    struct contract *contract = *state;
    uint64_t *intervals = contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    braid_node node = add_busy(graph, (braid_node_options){ .cost_ns = 7 }, intervals, busy_ns);
    const braid_tune_options options = { .budget_ns = 1, .max_lanes = 1, .keep_costs = true };
    braid_exec_options way;
    check_ok(braid_graph_tune(graph, contract->device, &options, &way));
    braid_schedule *schedule;
    braid_placement placement;
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    check_ok(braid_schedule_get_placement(schedule, node, &placement));
    assert_int_equal(placement.end_ns - placement.start_ns, 7);
    braid_schedule_destroy(schedule);
}

static void what_is_missing_is_named(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    braid_exec_options way;
    check_fails(braid_graph_tune(graph, NULL, NULL, &way), BRAID_INVALID_ARGUMENT,
                "device is NULL");
    check_fails(braid_graph_tune(NULL, contract->device, NULL, &way), BRAID_INVALID_ARGUMENT,
                "graph is NULL");
    check_fails(braid_graph_tune(graph, contract->device, NULL, NULL), BRAID_INVALID_ARGUMENT,
                "out_way is NULL");
}

// Two nodes, of which the second follows, with what a variant changes.
enum variant { AS_IT_IS, OTHER_NAME, OTHER_EDGE, OTHER_ACCESS, OTHER_KIND, OTHER_COST };

static uint64_t digest_of(struct contract *contract, enum variant variant)
{
    braid_graph *graph = contract_graph(contract);
    braid_resource list = add_resource(graph, "list");
    braid_node_options options = { .name = variant == OTHER_NAME ? "other" : "first",
                                   .cost_ns = variant == OTHER_COST ? 5 : 0,
                                   USES({ list,
                                          variant == OTHER_ACCESS ? BRAID_WRITE : BRAID_READ }) };
    uint32_t *numbers = contract->staging;
    braid_node first =
        variant == OTHER_KIND ? add_empty(graph, options) : add_fill(graph, options, numbers, 1, 1);
    braid_node second = add_empty(graph, (braid_node_options){ .name = "second" });
    if (variant != OTHER_EDGE)
        check_ok(braid_graph_add_edge(graph, first, second));
    return braid_graph_get_digest(graph);
}

static void a_digest_tells_structure_and_nothing_else(void **state)
{
    struct contract *contract = *state;
    uint64_t digest = digest_of(contract, AS_IT_IS);
    assert_int_equal(digest_of(contract, AS_IT_IS), digest);
    assert_int_equal(digest_of(contract, OTHER_COST), digest);
    for (enum variant variant = OTHER_NAME; variant <= OTHER_KIND; variant++)
        assert_int_not_equal(digest_of(contract, variant), digest);
    assert_int_equal(braid_graph_get_digest(NULL), 0);
}

int run_tuning(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(the_fastest_way_is_handed_out_and_can_be_used),
        contract_test(a_lane_for_everything_is_tried),
        contract_test(modes_that_are_not_allowed_are_left_out),
        contract_test(few_of_many_plans_are_timed),
        contract_test(costs_that_are_to_stay_do),
        contract_test(what_is_missing_is_named),
        contract_test(a_digest_tells_structure_and_nothing_else),
    };
    return contract_run("tuning_finds_a_way", tests);
}
