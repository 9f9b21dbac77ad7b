// SPDX-License-Identifier: Apache-2.0
// The number of lanes that the planner chooses, beside the best fixed number, over the corpus of
// real task graphs; and whether a plan on more lanes is ever longer than one on fewer.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan_shapes.h"
#include "planner/corpus.h"

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
    braid_schedule_options options = { .costs = *costs };
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
        braid_schedule_info one =
            plan(graph, &(braid_schedule_options){ .max_lanes = 1, .fixed_lanes = true });
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

int main(void)
{
    struct corpus corpus;
    const char *folder = corpus_folder();
    if (!folder || !corpus_read(folder, &corpus)) {
        printf("no corpus: set BRAID_CORPUS\n");
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
