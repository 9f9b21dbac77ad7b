// SPDX-License-Identifier: Apache-2.0
// Braid's plans beside the policies of other systems, over the corpus of real task graphs.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan/plan_graph.h"
#include "plan/schedule.h"
#include "plan_policies.h"
#include "plan_shapes.h"
#include "planner/corpus.h"
#include "support/wide_plan.h"

#define FEWEST_NODES 20

// Sums over graphs; means are geometric.
struct row {
    double log_makespan, log_waits;
    uint64_t waits, events;
    uint32_t num;
};

static void add(struct row *row, uint64_t makespan, uint64_t bound, uint64_t waits, uint64_t events)
{
    row->log_makespan += log((double)makespan / (double)bound);
    row->log_waits += log((double)waits + 1);
    row->waits += waits;
    row->events += events;
    row->num++;
}

static void print_row(const char *name, const struct row *row, const struct row *braid)
{
    printf("| %-46s | %.4f | %5.2f | %8llu | %8llu |\n", name, exp(row->log_makespan / row->num),
           exp((row->log_waits - braid->log_waits) / row->num), (unsigned long long)row->waits,
           (unsigned long long)row->events);
}

enum {
    BRAID,
    BRAID_CACHED,
    BRAID_CROSSING,
    FIRST_POLICY,
};

static void add_braid(const braid_graph *graph, uint32_t lanes, struct row *rows,
                      uint64_t *out_bound)
{
    braid_schedule_options options = { .costs = &free_costs,
                                       .max_lanes = lanes,
                                       .fixed_lanes = true };
    braid_schedule *schedule;
    plan_check(braid_schedule_create(graph, &options, &schedule));
    braid_schedule_info info = schedule->info;
    struct policy_placement placement = {
        .num_lanes = info.num_lanes,
        .lane_of = schedule->lane_of,
        .issued = malloc((info.num_nodes + 1) * sizeof(uint32_t)),
    };
    struct plan_costs costs;
    plan_check(braid_plan_costs_create(schedule->graph, graph, &schedule->options, NULL, &costs));
    uint32_t num = 0;
    for (size_t i = 0; i < schedule->program.num_ops; i++) {
        if (schedule->program.ops[i].kind == BRAID_STEP_RUN)
            placement.issued[num++] = schedule->program.ops[i].node;
    }
    struct policy_result result = policy_simulate(schedule->graph, &costs, &placement);
    if (result.fewest != info.num_waits || result.makespan_ns != info.makespan_ns)
        abort(); // the simulator and the planner disagree
    add(&rows[BRAID], info.makespan_ns, info.bound_ns, info.num_waits, result.fewest_events);
    add(&rows[BRAID_CACHED], info.makespan_ns, info.bound_ns, result.cached, result.cached_events);
    add(&rows[BRAID_CROSSING], info.makespan_ns, info.bound_ns, result.crossing,
        result.crossing_events);
    braid_plan_costs_finish(&costs);
    free(placement.issued);
    braid_schedule_destroy(schedule);
    *out_bound = info.bound_ns;
}

static void add_policies(const braid_graph *graph, uint32_t lanes, uint64_t bound, struct row *rows)
{
    struct plan_graph *plan;
    struct plan_costs costs;
    plan_check(braid_plan_graph_create(graph, &plan));
    const struct plan_options options = { 0 };
    plan_check(braid_plan_costs_create(plan, graph, &options, NULL, &costs));
    struct policy_placement placement = {
        .num_lanes = lanes,
        .lane_of = calloc((size_t)plan->num_units + 1, sizeof(uint32_t)),
        .issued = calloc((size_t)plan->num_units + 1, sizeof(uint32_t)),
    };
    for (size_t p = 0; p < num_policies; p++) {
        policies[p].place(plan, lanes, &placement);
        struct policy_result result = policy_simulate(plan, &costs, &placement);
        struct row *row = &rows[FIRST_POLICY + 2 * p];
        add(&row[0], result.makespan_ns, bound, result.crossing, result.crossing_events);
        add(&row[1], result.makespan_ns, bound, result.fewest, result.fewest_events);
    }
    free(placement.lane_of);
    free(placement.issued);
    braid_plan_costs_finish(&costs);
    braid_plan_graph_release(plan);
}

static void compare(const struct corpus *corpus, uint32_t lanes)
{
    struct row rows[FIRST_POLICY + 16] = { { 0 } };
    for (size_t i = 0; i < corpus->num_graphs; i++) {
        braid_graph *graph;
        uint64_t bound;
        if (corpus->graphs[i].num_nodes < FEWEST_NODES)
            continue;
        plan_check(corpus_make_graph(&corpus->graphs[i], &graph));
        add_braid(graph, lanes, rows, &bound);
        add_policies(graph, lanes, bound, rows);
        braid_graph_destroy(graph);
    }
    printf("\nK = %u, %u graphs of at least %d nodes:\n\n"
           "| policy | makespan / bound | waits / Braid's | waits | events |\n"
           "|---|---:|---:|---:|---:|\n",
           lanes, rows[0].num, FEWEST_NODES);
    print_row("Braid", &rows[BRAID], &rows[BRAID]);
    print_row("Braid's lanes, pairwise wait cache", &rows[BRAID_CACHED], &rows[BRAID]);
    print_row("Braid's lanes, every crossing edge", &rows[BRAID_CROSSING], &rows[BRAID]);
    for (size_t p = 0; p < num_policies; p++) {
        char name[80];
        snprintf(name, sizeof(name), "%s, every crossing edge", policies[p].name);
        print_row(name, &rows[FIRST_POLICY + 2 * p], &rows[BRAID]);
        snprintf(name, sizeof(name), "%s, fewest waits", policies[p].name);
        print_row(name, &rows[FIRST_POLICY + 2 * p + 1], &rows[BRAID]);
    }
    fflush(stdout);
}

int main(void)
{
    struct corpus corpus;
    const char *folder = corpus_folder();
    if (!folder || !corpus_read(folder, &corpus)) {
        printf("skipped: the corpus of task graphs is not here (BRAID_CORPUS names its folder)\n");
        return 0;
    }
    for (uint32_t lanes = 4; lanes <= 16; lanes *= 2)
        compare(&corpus, lanes);
    corpus_finish(&corpus);
    return 0;
}
