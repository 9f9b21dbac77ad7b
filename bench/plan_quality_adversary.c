// SPDX-License-Identifier: Apache-2.0
// Simulated annealing over small graphs, towards those that Braid plans worst.
//
// A graph may have a chain of nodes of 1 ns before or behind all others, so that it is too large
// for a search of all plans. Nothing can run beside the chain. So the optimum is that of a graph
// with one node in its place.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan_quality.h"
#include "plan_shapes.h"
#include "support/wide_plan.h"

struct exact {
    const struct small_graph *graph;
    uint32_t num_lanes;
    uint64_t wait_ns, best;
    uint64_t bottom[MOST_EXACT_NODES], end[MOST_EXACT_NODES], free[MOST_EXACT_NODES];
    uint32_t lane_of[MOST_EXACT_NODES];
};

// Each schedule in which nothing can start sooner is reached in the order of starts, and once
// only: equal starts go by index, and unused lanes are alike.
static void go_on(struct exact *exact, uint32_t placed, uint64_t last_start, uint32_t last,
                  uint32_t num_used, uint64_t length)
{
    const struct small_graph *graph = exact->graph;
    if (placed == (1u << graph->num_nodes) - 1) {
        exact->best = length < exact->best ? length : exact->best;
        return;
    }
    for (uint32_t node = 0; node < graph->num_nodes; node++) {
        if (placed >> node & 1 || (graph->preds[node] & ~placed))
            continue;
        uint32_t lanes = num_used < exact->num_lanes ? num_used + 1 : num_used;
        for (uint32_t lane = 0; lane < lanes; lane++) {
            uint64_t start = lane < num_used ? exact->free[lane] : 0;
            for (uint32_t pred = 0; pred < node; pred++) {
                if (!(graph->preds[node] >> pred & 1))
                    continue;
                uint64_t seen =
                    exact->end[pred] + (exact->lane_of[pred] == lane ? 0 : exact->wait_ns);
                start = seen > start ? seen : start;
            }
            bool told = start > last_start || (start == last_start && (!placed || node > last));
            if (!told || start + exact->bottom[node] >= exact->best)
                continue;
            uint64_t before = exact->free[lane], end = start + graph->costs[node];
            exact->end[node] = exact->free[lane] = end;
            exact->lane_of[node] = lane;
            go_on(exact, placed | 1u << node, start, node, lane == num_used ? lane + 1 : num_used,
                  end > length ? end : length);
            exact->free[lane] = before;
        }
    }
}

uint64_t exact_length(const struct small_graph *graph, uint32_t num_lanes, uint64_t wait_ns,
                      uint64_t limit)
{
    struct exact exact = {
        .graph = graph, .num_lanes = num_lanes, .wait_ns = wait_ns, .best = limit
    };
    for (uint32_t node = graph->num_nodes; node-- > 0;) {
        for (uint32_t after = node + 1; after < graph->num_nodes; after++)
            if (graph->preds[after] >> node & 1 && exact.bottom[after] > exact.bottom[node])
                exact.bottom[node] = exact.bottom[after];
        exact.bottom[node] += graph->costs[node];
    }
    go_on(&exact, 0, 0, 0, 0, 0);
    return exact.best;
}

static uint64_t random_state;

static uint32_t below(uint32_t limit)
{
    uint64_t x = random_state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((x ^ x >> 31) % limit);
}

// The node `chain` of the graph, if there is such a one, is a chain of as many nodes as it takes
// ns.
struct nodes {
    braid_node first[MOST_EXACT_NODES], last[MOST_EXACT_NODES];
};

static void add_node(braid_graph *graph, const struct small_graph *small, uint32_t i,
                     uint32_t chain, struct nodes *nodes)
{
    const uint64_t num = i == chain ? small->costs[i] : 1;
    const braid_empty empty = { .node = { .cost_ns = i == chain ? 1 : small->costs[i] } };
    plan_check(braid_graph_add_empty(graph, &empty, &nodes->first[i]));
    nodes->last[i] = nodes->first[i];
    for (uint64_t k = 1; k < num; k++) {
        const braid_node before = nodes->last[i];
        plan_check(braid_graph_add_empty(graph, &empty, &nodes->last[i]));
        plan_check(braid_graph_add_edge(graph, before, nodes->last[i]));
    }
    for (uint32_t j = 0; j < i; j++)
        if (small->preds[i] >> j & 1)
            plan_check(braid_graph_add_edge(graph, nodes->last[j], nodes->first[i]));
}

static uint64_t planned_length(const struct small_graph *small, uint32_t chain, uint32_t num_lanes,
                               uint64_t wait_ns)
{
    braid_graph *graph;
    braid_schedule *schedule;
    braid_schedule_info info;
    struct nodes nodes;
    plan_check(braid_graph_create(&graph));
    for (uint32_t i = 0; i < small->num_nodes; i++)
        add_node(graph, small, i, chain, &nodes);
    braid_cost_model costs = { 0 };
    braid_schedule_options options = { .costs = &costs,
                                       .max_lanes = num_lanes,
                                       .fixed_lanes = true };
    costs.wait_ns = wait_ns;
    plan_check(braid_schedule_create(graph, &options, &schedule));
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
    return info.makespan_ns;
}

enum chain { NO_CHAIN, CHAIN_BEFORE, CHAIN_BEHIND };
enum { LEAST_CHAIN = 13, MOST_CHAIN = 29 };

struct bad_case {
    struct small_graph graph; // without the chain
    enum chain chain;
    uint64_t num_in_chain;
    uint64_t wait_ns, planned, exact;
    double ratio;
};

// All nodes that no other comes after.
static uint32_t sinks_of(const struct small_graph *graph)
{
    uint32_t sinks = (1u << graph->num_nodes) - 1;
    for (uint32_t i = 0; i < graph->num_nodes; i++)
        sinks &= ~graph->preds[i];
    return sinks;
}

// The graph with a node for the chain, whose index it returns.
static uint32_t add_chain(const struct bad_case *bad, struct small_graph *out)
{
    *out = bad->graph;
    if (bad->chain == NO_CHAIN)
        return MOST_EXACT_NODES;
    const uint32_t num = out->num_nodes++, chain = bad->chain == CHAIN_BEFORE ? 0 : num;
    out->preds[num] = bad->chain == CHAIN_BEHIND ? sinks_of(&bad->graph) : 0;
    for (uint32_t i = num; bad->chain == CHAIN_BEFORE && i > 0; i--) {
        out->costs[i] = out->costs[i - 1];
        out->preds[i] = bad->graph.preds[i - 1] ? bad->graph.preds[i - 1] << 1 : 1;
    }
    if (bad->chain == CHAIN_BEFORE)
        out->preds[0] = 0;
    out->costs[chain] = bad->num_in_chain;
    return chain;
}

static void judge(struct bad_case *bad, uint32_t num_lanes)
{
    struct small_graph graph;
    const uint32_t chain = add_chain(bad, &graph);
    bad->planned = planned_length(&graph, chain, num_lanes, bad->wait_ns);
    bad->exact = exact_length(&graph, num_lanes, bad->wait_ns, bad->planned);
    bad->ratio = (double)bad->planned / (double)bad->exact;
}

static uint32_t most_nodes(const struct bad_case *bad)
{
    return MOST_EXACT_NODES - (bad->chain != NO_CHAIN);
}

static void start_over(struct bad_case *bad, bool with_waits, bool with_chain)
{
    bad->chain = with_chain ? 1 + below(2) : NO_CHAIN;
    bad->num_in_chain = LEAST_CHAIN + below(MOST_CHAIN - LEAST_CHAIN + 1);
    bad->graph.num_nodes = 4 + below(most_nodes(bad) - 3);
    for (uint32_t i = 0; i < bad->graph.num_nodes; i++) {
        bad->graph.costs[i] = 1 + below(50);
        bad->graph.preds[i] = i ? (below(1u << i) & below(1u << i)) : 0;
    }
    bad->wait_ns = with_waits ? 1 + below(50) : 0;
}

static void change(struct bad_case *bad, bool with_waits)
{
    struct small_graph *graph = &bad->graph;
    uint32_t node = below(graph->num_nodes), kind = below(8);
    if (kind < 3) {
        graph->costs[node] = 1 + below(50);
    } else if (kind < 5 && node) {
        graph->preds[node] ^= 1u << below(node);
    } else if (kind == 5 && graph->num_nodes < most_nodes(bad)) {
        node = graph->num_nodes++;
        graph->costs[node] = 1 + below(50);
        graph->preds[node] = below(1u << node) & below(1u << node);
    } else if (kind == 6 && graph->num_nodes > 4) {
        graph->num_nodes--;
    } else if (with_waits) {
        bad->wait_ns = 1 + below(50);
    }
}

static void print_case(const struct bad_case *bad)
{
    printf("  planned %" PRIu64 ", optimum %" PRIu64 ", waits take %" PRIu64 "; costs",
           bad->planned, bad->exact, bad->wait_ns);
    for (uint32_t i = 0; i < bad->graph.num_nodes; i++)
        printf(" %" PRIu64, bad->graph.costs[i]);
    printf("; edges");
    for (uint32_t i = 0; i < bad->graph.num_nodes; i++)
        for (uint32_t j = 0; j < i; j++)
            if (bad->graph.preds[i] >> j & 1)
                printf(" %u->%u", j, i);
    if (bad->chain != NO_CHAIN)
        printf("; a chain of %" PRIu64 " nodes %s", bad->num_in_chain,
               bad->chain == CHAIN_BEFORE ? "before" : "behind");
    printf("\n");
}

void find_adversary(uint32_t num_lanes, bool with_waits, bool with_chain, double seconds,
                    uint64_t seed)
{
    enum { STEPS = 1500 };
    struct bad_case best = { .ratio = 0 };
    uint64_t num_tried = 0;
    double begin = plan_cpu_seconds();
    random_state = seed;
    while (plan_cpu_seconds() - begin < seconds) {
        struct bad_case at, next;
        start_over(&at, with_waits, with_chain);
        judge(&at, num_lanes);
        for (uint32_t step = 0; step < STEPS && plan_cpu_seconds() - begin < seconds; step++) {
            double heat = 0.05 * (1 - (double)step / STEPS) + 0.0005;
            next = at;
            for (uint32_t i = 0; i <= below(3); i++)
                change(&next, with_waits);
            judge(&next, num_lanes);
            num_tried++;
            if (exp((next.ratio - at.ratio) / heat) * 65536 > below(65536))
                at = next;
            if (at.ratio > best.ratio)
                best = at;
        }
    }
    printf("%u lanes, %s waits, %s chain: at worst %.4f of the optimum, %" PRIu64
           " graphs in %.0f s\n",
           num_lanes, with_waits ? "with" : "without", with_chain ? "with a" : "without a",
           best.ratio, num_tried, seconds);
    print_case(&best);
    fflush(stdout);
}
