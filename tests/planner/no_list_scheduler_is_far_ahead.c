// SPDX-License-Identifier: Apache-2.0
// Plans of the corpus are at most one part in a hundred longer than the shortest of ten list
// schedulers. Some of these put nodes into gaps.
#include "../../bench/plan_quality.h"
#include "planner/corpus.h"
#include "planner/plan_testing.h"

enum { MOST_NODES = 100 };

static struct corpus corpus;

static uint64_t mean_cost(const struct corpus_graph *from)
{
    uint64_t work = 0;
    for (uint32_t i = 0; i < from->num_nodes; i++)
        work += from->costs[i];
    return work / from->num_nodes;
}

static uint64_t shortest_list(const braid_graph *graph, const struct plan_options *options)
{
    struct plan_graph *plan;
    struct plan_costs costs;
    uint64_t shortest = UINT64_MAX;
    check_ok(braid_plan_graph_create(graph, &plan));
    check_ok(braid_plan_costs_create(plan, graph, options, NULL, &costs));
    for (size_t rule = 0; rule < num_list_rules; rule++) {
        uint64_t length = list_rule_length(rule, plan, &costs, options->max_lanes);
        shortest = length < shortest ? length : shortest;
    }
    braid_plan_costs_finish(&costs);
    braid_plan_graph_release(plan);
    return shortest;
}

static void check_graph(const struct corpus_graph *from, uint32_t max_lanes, uint64_t num_means)
{
    braid_graph *graph;
    check_ok(corpus_make_graph(from, &graph));
    const braid_cost_model costs = { .wait_ns = mean_cost(from) * num_means };
    const braid_schedule_options options = { .costs = &costs,
                                             .max_lanes = max_lanes,
                                             .fixed_lanes = true };
    const struct plan_options same = { .costs = costs,
                                       .max_lanes = max_lanes,
                                       .fixed_lanes = true };
    uint64_t planned = plan_info(graph, options).makespan_ns;
    uint64_t shortest = shortest_list(graph, &same);
    if (planned - planned / 100 > shortest)
        fail_msg("%s on %u lanes takes %llu, and a list scheduler %llu", from->name, max_lanes,
                 (unsigned long long)planned, (unsigned long long)shortest);
    braid_graph_destroy(graph);
}

static void plans_are_no_longer_than_lists_by_one_part_in_a_hundred(void **state)
{
    (void)state;
    for (size_t i = 0; i < corpus.num_graphs; i += corpus_step()) {
        const struct corpus_graph *from = &corpus.graphs[i];
        if (!from->num_nodes || from->num_nodes > MOST_NODES)
            continue;
        for (uint32_t lanes = 2; lanes <= 8; lanes *= 4)
            for (uint64_t means = 1; means <= 2; means++)
                check_graph(from, lanes, means);
    }
}

int main(void)
{
    const char *folder = corpus_folder();
    if (!folder)
        skip_program("the corpus is not here: BRAID_CORPUS names no folder");
    if (!corpus_read(folder, &corpus))
        return 1;
    const struct CMUnitTest tests[] = {
        owning_test(plans_are_no_longer_than_lists_by_one_part_in_a_hundred),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    corpus_finish(&corpus);
    return failed;
}
