// SPDX-License-Identifier: Apache-2.0
// How long plans are beside the shortest there are: published optima, list schedulers, and graphs
// that a search makes as bad as it can. And how long it takes to plan small graphs.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_graph.h"
#include "plan_quality.h"
#include "plan_shapes.h"
#include "planner/corpus.h"
#include "support/random.h"
#include "support/wide_plan.h"

static uint64_t plan_length(const braid_graph *graph, const braid_schedule_options *options)
{
    braid_schedule *schedule;
    braid_schedule_info info;
    plan_check(braid_schedule_create(graph, options, &schedule));
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    return info.makespan_ns;
}

static uint64_t corpus_length(const struct corpus_graph *from, braid_schedule_options options)
{
    braid_graph *graph;
    plan_check(corpus_make_graph(from, &graph));
    uint64_t length = plan_length(graph, &options);
    braid_graph_destroy(graph);
    return length;
}

// By number of lanes: how many published optima there are, and are met.
static void compare_optima(const struct corpus *corpus)
{
    enum { MOST_LANES = 64 };
    struct corpus_row *rows;
    size_t num_rows, num[MOST_LANES + 1] = { 0 }, met[MOST_LANES + 1] = { 0 };
    if (!corpus_read_table(corpus_folder(), "STG_OPTIMA.tsv", &rows, &num_rows))
        exit(1);
    double start = plan_cpu_seconds(), logs = 0;
    for (size_t i = 0; i < num_rows; i++) {
        uint32_t lanes = (uint32_t)rows[i].values[0];
        uint64_t length =
            corpus_length(corpus_find(corpus, rows[i].name),
                          (braid_schedule_options){
                              .costs = &free_costs, .max_lanes = lanes, .fixed_lanes = true });
        logs += log((double)length / (double)rows[i].values[2]);
        size_t at = lanes < MOST_LANES ? lanes : MOST_LANES;
        num[at]++, num[0]++;
        met[at] += length <= rows[i].values[2];
        met[0] += length <= rows[i].values[2];
    }
    printf("%zu of %zu published optima are met (%.1f %%), length / optimum %.4f in the "
           "mean, %.1f s\n",
           met[0], num[0], 100.0 * (double)met[0] / (double)num[0], exp(logs / (double)num_rows),
           plan_cpu_seconds() - start);
    for (size_t lanes = 1; lanes <= MOST_LANES; lanes++)
        if (num[lanes])
            printf("  %zu lanes: %zu of %zu\n", lanes, met[lanes], num[lanes]);
    free(rows);
}

// A graph on a number of lanes with some price of waits, beside all list schedulers.
struct comparison {
    uint64_t num, num_behind, num_over; // by more than 1 %
    double worst;
    char worst_name[160];
    double logs; // sums over plan / shortest list
};

static void compare_graph(const struct corpus_graph *from, uint32_t lanes, double wait_share,
                          struct comparison *comparison)
{
    enum { MOST_NODES_IF_SLOW = 1000 };
    braid_graph *graph;
    struct plan_graph *plan;
    struct plan_costs costs;
    uint64_t work = 0, shortest = UINT64_MAX;
    size_t first = 0;
    for (uint32_t i = 0; i < from->num_nodes; i++)
        work += from->costs[i];
    braid_cost_model ordering = { 0 };
    braid_schedule_options options = { .costs = &ordering,
                                       .max_lanes = lanes,
                                       .fixed_lanes = true };
    ordering.wait_ns = (uint64_t)((double)work / from->num_nodes * wait_share);
    plan_check(corpus_make_graph(from, &graph));
    uint64_t length = plan_length(graph, &options);
    plan_check(braid_plan_graph_create(graph, &plan));
    const struct plan_options planned = { .costs = ordering,
                                          .max_lanes = lanes,
                                          .fixed_lanes = true };
    plan_check(braid_plan_costs_create(plan, graph, &planned, NULL, &costs));
    for (size_t rule = 0; rule < num_list_rules; rule++) {
        if (list_rule_is_slow(rule) && from->num_nodes > MOST_NODES_IF_SLOW)
            continue;
        uint64_t other = list_rule_length(rule, plan, &costs, lanes);
        if (other < shortest) {
            shortest = other;
            first = rule;
        }
    }
    double ratio = (double)length / (double)shortest;
    comparison->num++;
    comparison->num_behind += ratio > 1;
    comparison->num_over += ratio > 1.01;
    comparison->logs += log(ratio);
    if (ratio > comparison->worst) {
        comparison->worst = ratio;
        snprintf(comparison->worst_name, sizeof(comparison->worst_name), "%s (%s)", from->name,
                 list_rule_name(first));
    }
    braid_plan_costs_finish(&costs);
    braid_plan_graph_release(plan);
    braid_graph_destroy(graph);
}

static void compare_lists(const struct corpus *corpus, uint32_t most_nodes)
{
    static const uint32_t lanes[] = { 2, 3, 4, 8 };
    static const double shares[] = { 0, 0.5, 1, 2 };
    printf("graphs of up to %u nodes; plan / shortest of %zu lists\n"
           "| lanes | wait / node | graphs | mean | behind | by over 1 %% | worst | of |\n"
           "|---:|---:|---:|---:|---:|---:|---:|---|\n",
           most_nodes, num_list_rules);
    for (size_t k = 0; k < 16; k++) {
        struct comparison sum = { .worst = 0 };
        for (size_t i = 0; i < corpus->num_graphs; i++)
            if (corpus->graphs[i].num_nodes && corpus->graphs[i].num_nodes <= most_nodes)
                compare_graph(&corpus->graphs[i], lanes[k / 4], shares[k % 4], &sum);
        printf("| %u | %.1f | %" PRIu64 " | %.4f | %" PRIu64 " | %" PRIu64 " | %.4f | %s |\n",
               lanes[k / 4], shares[k % 4], sum.num, exp(sum.logs / (double)sum.num),
               sum.num_behind, sum.num_over, sum.worst, sum.worst_name);
        fflush(stdout);
    }
}

// Each node comes after up to three others.
static braid_graph *sparse_graph(uint32_t num_nodes, struct random *random)
{
    braid_graph *graph;
    braid_node nodes[64];
    plan_check(braid_graph_create(&graph));
    for (uint32_t i = 0; i < num_nodes; i++) {
        const braid_empty empty = { .node = { .cost_ns = 100 + random_below(random, 4900) } };
        plan_check(braid_graph_add_empty(graph, &empty, &nodes[i]));
        for (uint32_t e = random_below(random, 4); e > 0 && i > 0; e--)
            plan_check(braid_graph_add_edge(graph, nodes[random_below(random, i)], nodes[i]));
    }
    return graph;
}

// Processor seconds for the plan of a small graph; 0 lanes: the planner chooses up to 8.
static void time_plans(uint32_t num_nodes, uint32_t num_lanes)
{
    enum { NUM_GRAPHS = 50, MEAN_NS = 2550 };
    printf("| %u | %u |", num_nodes, num_lanes);
    for (uint64_t halves = 0; halves <= 4; halves += 1 + halves / 2) {
        struct random random = { num_nodes };
        double seconds = 0;
        for (int i = 0; i < NUM_GRAPHS; i++) {
            braid_graph *graph = sparse_graph(num_nodes, &random);
            braid_cost_model costs = { 0 };
            braid_schedule_options options = { .costs = &costs,
                                               .max_lanes = num_lanes ? num_lanes : 8,
                                               .fixed_lanes = num_lanes > 0 };
            costs.wait_ns = MEAN_NS * halves / 2;
            double start = plan_cpu_seconds();
            plan_length(graph, &options);
            seconds += plan_cpu_seconds() - start;
            braid_graph_destroy(graph);
        }
        printf(" %.0f |", 1e6 * seconds / NUM_GRAPHS);
    }
    printf("\n");
}

static void time_small_plans(void)
{
    static const uint32_t sizes[] = { 4, 6, 8, 12, 16, 32, 64 }, lanes[] = { 0, 2, 4, 8 };
    printf("processor microseconds a plan, by the wait in mean nodes\n"
           "| nodes | lanes | 0 | 0.5 | 1 | 2 |\n|---:|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t k = 0; k < sizeof(lanes) / sizeof(lanes[0]); k++)
            time_plans(sizes[i], lanes[k]);
}

// In graphs with waits and without, with a chain and without, on two lanes and on three; so many
// seconds each.
static void find_adversaries(double seconds, uint64_t seed)
{
    for (uint32_t i = 0; i < 8; i++)
        find_adversary(2 + i / 2 % 2, i % 2, i < 4, seconds, seed);
}

// plan_quality [optima | lists [MOST_NODES] | adversary [SECONDS [SEED]] | small]
int main(int argc, char **argv)
{
    struct corpus corpus;
    const char *folder = corpus_folder(), *mode = argc > 1 ? argv[1] : "";
    uint32_t number = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
    if (!*mode || !strcmp(mode, "adversary"))
        find_adversaries(number ? number : 5, argc > 3 ? (uint64_t)atoll(argv[3]) : 1);
    if (!*mode || !strcmp(mode, "small"))
        time_small_plans();
    if (!strcmp(mode, "adversary") || !strcmp(mode, "small"))
        return 0;
    if (!folder || !corpus_read(folder, &corpus)) {
        printf("skipped: the corpus of task graphs is not here (BRAID_CORPUS names its folder)\n");
        return 0;
    }
    if (!*mode || !strcmp(mode, "optima"))
        compare_optima(&corpus);
    if (!*mode || !strcmp(mode, "lists"))
        compare_lists(&corpus, number ? number : 300);
    corpus_finish(&corpus);
    return 0;
}
