// SPDX-License-Identifier: Apache-2.0
// What tests of saved plans share: graphs that can be made twice, and a file.
#ifndef BRAID_TESTS_SAVED_TESTING_H
#define BRAID_TESTS_SAVED_TESTING_H

#include <braid/braid.h>

#include "planner/plan_testing.h"

// A path in a folder of its own, which saved_end removes.
extern char saved_path[];
int saved_begin(void **state);
int saved_end(void **state);

// A graph with all that planning reads: edges, accesses, bundles, hints, loops, branches, nodes
// that no output needs, and costs. The same seed makes an equal graph, with buffers elsewhere.
braid_graph *saved_graph(uint64_t seed);

// Costs of a device, also by the seed: with limits of nodes and threads at once, and islands.
braid_cost_model saved_costs(uint64_t seed);

// Saves a plan of the graph on up to so many lanes, 0: as many as pay; and returns it.
braid_schedule *save_plan(const braid_graph *graph, const braid_cost_model *costs, uint32_t lanes);

braid_schedule *load_plan(const braid_graph *graph);

// Steps, lanes, starts, figures, and all that the planner says of the plan.
void check_same_plan(const braid_schedule *a, const braid_schedule *b);

#endif
