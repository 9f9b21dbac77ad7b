// SPDX-License-Identifier: Apache-2.0
// Where nodes are put on several devices: policies beside each other, over the corpus of real task
// graphs. Each node has an output whose bytes are drawn by a fixed rule, and reads those of its
// predecessors; every plan is made by the planner, of the graph that the places lead to.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan/places/place.h"
#include "plan/plan_graph.h"
#include "plan/schedule.h"
#include "plan_shapes.h"
#include "planner/corpus.h"

enum { MOST_PLACES = 4, FEWEST_NODES = 20, MOST_NODES = 500, EVERY = 4 };

enum policy { ONE, ROUND_ROBIN, BRAID, NUM_POLICIES };
static const char *const names[] = { "all on the best one", "round robin", "Braid" };

struct setting {
    const char *name;
    uint32_t num_places;
    uint32_t speeds[MOST_PLACES];
    uint32_t flow_percent; // what the mean output takes to copy, of the mean node
};

struct totals {
    uint32_t num_graphs, num_longer[NUM_POLICIES];
    double log_ratio[NUM_POLICIES], worst[NUM_POLICIES], copies[NUM_POLICIES];
};

static void run_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

// 1 KiB to 1 MiB, by a hash of the node's number.
static uint64_t draw_bytes(uint32_t node)
{
    uint64_t x = (node + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return UINT64_C(1024) << (x >> 33) % 11;
}

static void add_node(const struct corpus_graph *from, uint32_t node, braid_graph *graph,
                     const braid_resource *outputs, braid_access *accesses)
{
    static const braid_kernel kernel = { .name = "node", .cpu = run_nothing };
    size_t num = 0;
    accesses[num++] = (braid_access){ outputs[node], BRAID_WRITE };
    for (size_t i = 0; i < from->num_edges; i++) {
        if (from->to[i] == node)
            accesses[num++] = (braid_access){ outputs[from->from[i]], BRAID_READ };
    }
    const braid_kernel_node launch = { .node = { .cost_ns = from->costs[node] * 1000 + 1,
                                                 .accesses = accesses,
                                                 .num_accesses = num },
                                       .kernel = &kernel };
    plan_check(braid_graph_add_kernel(graph, &launch, NULL));
}

// The nodes in an order in which edges go forward, since data must be written before it is read.
static bool goes_forward(const struct corpus_graph *from)
{
    for (size_t i = 0; i < from->num_edges; i++) {
        if (from->from[i] >= from->to[i])
            return false;
    }
    return true;
}

static braid_graph *make_graph(const struct corpus_graph *from)
{
    braid_graph *graph;
    braid_resource *outputs = calloc(from->num_nodes, sizeof(*outputs));
    braid_access *accesses = calloc(from->num_edges + 1, sizeof(*accesses));
    if (!outputs || !accesses)
        abort();
    plan_check(braid_graph_create(&graph));
    for (uint32_t i = 0; i < from->num_nodes; i++)
        plan_check(braid_graph_add_transient(graph, "output", draw_bytes(i), 0, &outputs[i]));
    for (uint32_t i = 0; i < from->num_nodes; i++)
        add_node(from, i, graph, outputs, accesses);
    free(outputs);
    free(accesses);
    return graph;
}

struct trial {
    const braid_graph *graph;
    struct plan_options options;
    struct plan_graph *plan;
    struct place_task task;
    uint8_t *place_of;
};

static braid_schedule_info weigh(const struct trial *trial)
{
    struct placed *placed;
    braid_schedule *schedule;
    braid_schedule_info info;
    plan_check(braid_place_build(trial->graph, trial->plan, trial->options.places, trial->place_of,
                                 &placed));
    plan_check(braid_schedule_create_placed(placed, &trial->options, &schedule));
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    braid_placed_release(placed);
    return info;
}

static void put(struct trial *trial, enum policy policy, uint32_t fastest)
{
    uint32_t num = trial->plan->num_units;
    for (uint32_t i = 0; i < num && (policy == ONE || policy == ROUND_ROBIN); i++)
        trial->place_of[i] = (uint8_t)(policy == ONE ? fastest : i % trial->task.num_places);
}

static braid_schedule_info plan_by_braid(const struct trial *trial)
{
    braid_schedule *schedule;
    braid_schedule_info info;
    plan_check(braid_schedule_plan(trial->graph, &trial->options, &schedule));
    plan_check(braid_schedule_verify(schedule, trial->graph));
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    return info;
}

static void add_trial(struct trial *trial, uint32_t fastest, struct totals *totals)
{
    uint64_t one_ns = 0;
    totals->num_graphs++;
    for (int policy = 0; policy < NUM_POLICIES; policy++) {
        braid_schedule_info info;
        if (policy != BRAID) {
            put(trial, (enum policy)policy, fastest);
            info = weigh(trial);
        } else {
            info = plan_by_braid(trial);
        }
        one_ns = policy == ONE ? info.makespan_ns : one_ns;
        double ratio = (double)info.makespan_ns / (double)one_ns;
        totals->log_ratio[policy] += log(ratio);
        totals->worst[policy] = fmax(totals->worst[policy], ratio);
        totals->num_longer[policy] += info.makespan_ns > one_ns;
        totals->copies[policy] += (double)info.num_copies / trial->plan->num_nodes;
    }
}

static void add_graph(const struct corpus_graph *from, const struct setting *setting,
                      struct totals *totals)
{
    if (from->num_nodes < FEWEST_NODES || from->num_nodes > MOST_NODES || !goes_forward(from))
        return;
    uint64_t cost = 0, bytes = 0;
    for (uint32_t i = 0; i < from->num_nodes; i++) {
        cost += from->costs[i] * 1000 + 1;
        bytes += draw_bytes(i);
    }
    uint64_t mean_ns = cost / from->num_nodes, copy_ns = mean_ns * setting->flow_percent / 100;
    const braid_place_model model = {
        .num_places = setting->num_places,
        .speeds = setting->speeds,
        .link = { .latency_ns = copy_ns / 10,
                  .bytes_per_us = bytes / from->num_nodes * 1000 / (copy_ns + 1) + 1,
                  .wait_ns = mean_ns / 50 },
    };
    struct trial trial = { .graph = make_graph(from),
                           .options = { .costs = { .max_concurrent = 1 }, .places = &model } };
    uint32_t fastest = 0;
    for (uint32_t i = 1; i < setting->num_places; i++)
        fastest = setting->speeds[i] > setting->speeds[fastest] ? i : fastest;
    plan_check(braid_plan_graph_create(trial.graph, &trial.plan));
    plan_check(
        braid_place_task_create(trial.graph, trial.graph, trial.plan, &trial.options, &trial.task));
    trial.place_of = calloc(trial.plan->num_units, 1);
    if (!trial.place_of)
        abort();
    add_trial(&trial, fastest, totals);
    free(trial.place_of);
    braid_place_task_finish(&trial.task);
    braid_plan_graph_release(trial.plan);
    braid_graph_destroy((braid_graph *)(uintptr_t)trial.graph);
}

static void print(const struct setting *setting, const struct totals *totals)
{
    for (int policy = 1; policy < NUM_POLICIES; policy++)
        printf("| %s | %u %% | %s | %.3f | %.3f | %" PRIu32 " | %.2f |\n", setting->name,
               setting->flow_percent, names[policy],
               exp(totals->log_ratio[policy] / totals->num_graphs), totals->worst[policy],
               totals->num_longer[policy], totals->copies[policy] / totals->num_graphs);
    fflush(stdout);
}

int main(void)
{
    static const struct setting settings[] = {
        { "2 equal", 2, { 1000, 1000 }, 10 },
        { "2 equal", 2, { 1000, 1000 }, 100 },
        { "2 unequal (1, 1/2)", 2, { 1000, 500 }, 10 },
        { "2 unequal (1, 1/2)", 2, { 1000, 500 }, 100 },
        { "4 equal", 4, { 1000, 1000, 1000, 1000 }, 10 },
        { "4 equal", 4, { 1000, 1000, 1000, 1000 }, 100 },
        { "4 unequal (1, 1, 1/2, 1/4)", 4, { 1000, 1000, 500, 250 }, 10 },
        { "4 unequal (1, 1, 1/2, 1/4)", 4, { 1000, 1000, 500, 250 }, 100 },
    };
    const char *folder = corpus_folder();
    struct corpus corpus;
    if (!folder || !corpus_read(folder, &corpus)) {
        printf("skipped: no corpus (BRAID_CORPUS)\n");
        return 0;
    }
    printf(
        "| devices | copy / node | policy | makespan / on the best one | worst | longer | copies a "
        "node |\n|---|---:|---|---:|---:|---:|---:|\n");
    uint32_t num_graphs = 0;
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        struct totals totals = { 0 };
        for (size_t k = 0; k < corpus.num_graphs; k += EVERY)
            add_graph(&corpus.graphs[k], &settings[i], &totals);
        print(&settings[i], &totals);
        num_graphs = totals.num_graphs;
    }
    printf("\n%" PRIu32 " graphs of %d to %d nodes, every %dth of the corpus\n", num_graphs,
           FEWEST_NODES, MOST_NODES, EVERY);
    corpus_finish(&corpus);
    return 0;
}
