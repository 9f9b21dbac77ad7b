// SPDX-License-Identifier: Apache-2.0
// The number of lanes that the planner chooses, beside the best fixed number, over the corpus of
// real task graphs; and whether a plan on more lanes is ever longer than one on fewer.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_shapes.h"
#include "planner/corpus.h"
#include "support/wide_plan.h"

#include <braid/schedule.h>

static const uint32_t fixed[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                  13, 14, 15, 16, 20, 24, 28, 32, 48, 64, 96, 128 };
#define NUM_FIXED (sizeof(fixed) / sizeof(fixed[0]))

struct totals {
    uint32_t num_graphs, num_behind, num_far_behind, num_longer;
    double log_loss, worst_loss, worst_growth;
    uint64_t lanes_chosen, lanes_best;
};

static braid_schedule_info plan(const braid_graph *graph, const braid_schedule_options *options)
{
    braid_schedule *schedule;
    braid_schedule_info info;
    plan_check(braid_schedule_create(graph, options, &schedule));
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    return info;
}

static void add_graph(const braid_graph *graph, const braid_cost_model *costs,
                      struct totals *totals)
{
    braid_schedule_options options = { .costs = costs };
    braid_schedule_info chosen = plan(graph, &options), best = { 0 };
    double growth = 1;
    options.fixed_lanes = true;
    for (size_t i = 0; i < NUM_FIXED; i++) {
        options.max_lanes = fixed[i];
        braid_schedule_info info = plan(graph, &options);
        if (i > 0 && info.makespan_ns > best.makespan_ns)
            growth = fmax(growth, (double)info.makespan_ns / (double)best.makespan_ns);
        if (i == 0 || info.makespan_ns < best.makespan_ns)
            best = info;
    }
    double loss = (double)chosen.makespan_ns / (double)best.makespan_ns;
    totals->num_graphs++;
    totals->num_behind += loss > 1.0001;
    totals->num_far_behind += loss > 1.01;
    totals->num_longer += growth > 1;
    totals->log_loss += log(loss);
    totals->worst_loss = fmax(totals->worst_loss, loss);
    totals->worst_growth = fmax(totals->worst_growth, growth);
    totals->lanes_chosen += chosen.num_lanes;
    totals->lanes_best += best.num_lanes;
}

// Waits that take a share of the mean node, so that graphs in any unit compare.
static void compare(const struct corpus *corpus, uint32_t percent)
{
    struct totals totals = { 0 };
    for (size_t i = 0; i < corpus->num_graphs; i++) {
        braid_graph *graph;
        plan_check(corpus_make_graph(&corpus->graphs[i], &graph));
        braid_schedule_info one = plan(
            graph,
            &(braid_schedule_options){ .costs = &free_costs, .max_lanes = 1, .fixed_lanes = true });
        uint64_t part = one.num_nodes ? one.work_ns / one.num_nodes * percent / 100 : 0;
        add_graph(graph, &(braid_cost_model){ .wait_ns = part, .root_ns = part }, &totals);
        braid_graph_destroy(graph);
    }
    printf("| %3u %% | %u | %.4f | %.4f | %u | %u | %.1f | %.1f | %u | %.4f |\n", percent,
           totals.num_graphs, exp(totals.log_loss / totals.num_graphs), totals.worst_loss,
           totals.num_behind, totals.num_far_behind,
           (double)totals.lanes_chosen / totals.num_graphs,
           (double)totals.lanes_best / totals.num_graphs, totals.num_longer, totals.worst_growth);
    fflush(stdout);
}

enum { MOST_LIMIT = 16 };

// What the plans of a model and a kind come to: on at most 1, 2 ... MOST_LIMIT lanes each graph.
struct growth {
    uint32_t num_plans, num_longer, num_graphs;
    double worst;
};

// By the length that counts: with fixed_lanes the makespan, else what a frame is expected to take.
static void add_limits(const braid_graph *graph, braid_schedule_options options,
                       struct growth *growth)
{
    uint64_t best_ns = UINT64_MAX;
    uint32_t before = growth->num_longer;
    for (options.max_lanes = 1; options.max_lanes <= MOST_LIMIT; options.max_lanes++) {
        braid_schedule_info info = plan(graph, &options);
        uint64_t length_ns = options.fixed_lanes ? info.makespan_ns : info.expected_ns;
        growth->num_plans++;
        growth->num_longer += length_ns > best_ns;
        if (length_ns > best_ns)
            growth->worst = fmax(growth->worst, (double)length_ns / (double)best_ns);
        best_ns = length_ns < best_ns ? length_ns : best_ns;
    }
    growth->num_graphs += growth->num_longer > before;
}

static void compare_limits(const struct corpus *corpus, uint32_t percent, uint32_t issue_percent)
{
    for (int fixed_lanes = 1; fixed_lanes >= 0; fixed_lanes--) {
        struct growth growth = { .worst = 1 };
        for (size_t i = 0; i < corpus->num_graphs; i++) {
            braid_graph *graph;
            plan_check(corpus_make_graph(&corpus->graphs[i], &graph));
            braid_schedule_info one =
                plan(graph, &(braid_schedule_options){
                                .costs = &free_costs, .max_lanes = 1, .fixed_lanes = true });
            uint64_t mean_ns = one.num_nodes ? one.work_ns / one.num_nodes : 0;
            const braid_cost_model costs = { .wait_ns = mean_ns * percent / 100,
                                             .root_ns = mean_ns * percent / 100,
                                             .issue_ns = mean_ns * issue_percent / 100,
                                             .issue_wait_ns = mean_ns * issue_percent / 100 };
            add_limits(graph,
                       (braid_schedule_options){ .costs = &costs, .fixed_lanes = fixed_lanes },
                       &growth);
            braid_graph_destroy(graph);
        }
        printf("| %u %% | %u %% | %s | %u | %u | %u | %.4f |\n", percent, issue_percent,
               fixed_lanes ? "fixed" : "at most", growth.num_plans, growth.num_longer,
               growth.num_graphs, growth.worst);
        fflush(stdout);
    }
}

static void print_limits(const struct corpus *corpus)
{
    printf("Plans on at most, or on exactly, 1 to %d lanes: those longer than one on fewer.\n\n"
           "| wait / node | issue / node | lanes | plans | longer | of graphs | at worst |\n"
           "|---:|---:|---|---:|---:|---:|---:|\n",
           MOST_LIMIT);
    compare_limits(corpus, 0, 0);
    compare_limits(corpus, 5, 0);
    compare_limits(corpus, 5, 5);
    compare_limits(corpus, 50, 0);
}

// bench_plan_lanes [limits]
int main(int argc, char **argv)
{
    struct corpus corpus;
    const char *folder = corpus_folder();
    if (!folder || !corpus_read(folder, &corpus)) {
        printf("no corpus: set BRAID_CORPUS\n");
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "limits") == 0) {
        print_limits(&corpus);
        corpus_finish(&corpus);
        return 0;
    }
    printf(
        "Chosen lanes beside the best of %zu fixed numbers up to 128. Loss: makespan / best.\n\n"
        "| wait / node | graphs | mean loss | worst | behind | by over 1 %% | lanes | of the best "
        "| longer on more lanes | at worst |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        NUM_FIXED);
    compare(&corpus, 0);
    compare(&corpus, 5);
    corpus_finish(&corpus);
    return 0;
}
