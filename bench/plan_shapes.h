// SPDX-License-Identifier: Apache-2.0
// Big graphs for the planner's benches, and the clocks they are measured with.
#ifndef BRAID_BENCH_PLAN_SHAPES_H
#define BRAID_BENCH_PLAN_SHAPES_H

#include <stdint.h>

#include <braid/graph.h>

// Ends the program with the library's message unless all is well.
void plan_check(braid_status status);

double plan_wall_seconds(void);
double plan_cpu_seconds(void); // this process's; what other programs do counts less

// `num_nodes` nodes of 1 to 2 us, each after four of the `reach` nodes before it, at random.
braid_graph *plan_random_graph(uint32_t num_nodes, uint32_t reach);

// The tiled Cholesky factorisation with about `num_nodes` tasks, their costs in proportion to their
// arithmetic: 1 us for a tile's own factor, 3 us to solve with it or for a symmetric update, 6 us
// for a general update.
braid_graph *plan_cholesky_graph(uint32_t num_nodes);

#endif
