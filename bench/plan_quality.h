// SPDX-License-Identifier: Apache-2.0
// What the bench of the lengths of plans compares them with.
#ifndef BRAID_BENCH_PLAN_QUALITY_H
#define BRAID_BENCH_PLAN_QUALITY_H

#include "plan/plan_costs.h"
#include "plan/plan_graph.h"

// List schedulers by index. The slow ones look at each pair of a ready node and a lane.
extern const size_t num_list_rules;
const char *list_rule_name(size_t rule);
bool list_rule_is_slow(size_t rule);
uint64_t list_rule_length(size_t rule, const struct plan_graph *plan,
                          const struct plan_costs *costs, uint32_t num_lanes);

// Graphs of so few nodes have an exact optimum.
#define MOST_EXACT_NODES 11

// `costs` and the edges of a graph: preds[i] has bit j if node i comes after node j < i.
struct small_graph {
    uint32_t num_nodes;
    uint32_t preds[MOST_EXACT_NODES];
    uint64_t costs[MOST_EXACT_NODES];
};

// The shortest makespan there is, at most `limit`.
uint64_t exact_length(const struct small_graph *graph, uint32_t num_lanes, uint64_t wait_ns,
                      uint64_t limit);

// Looks for so many seconds for small graphs whose plan is long beside the optimum, and prints the
// worst one. With a chain they have 17 to 39 nodes.
void find_adversary(uint32_t num_lanes, bool with_waits, bool with_chain, double seconds,
                    uint64_t seed);

#endif
