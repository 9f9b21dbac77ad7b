// SPDX-License-Identifier: Apache-2.0
// Costs of graphs: reading those that were measured, and files of them.
#ifndef TOOLS_BRAID_GRAPH_COSTS_H
#define TOOLS_BRAID_GRAPH_COSTS_H

#include "run_report.h"
#include "task_graph.h"

// As a plan takes them, in the graph's order; default_cost_ns as in braid_cost_model.
enum exit_status graph_costs_read(const braid_graph *graph, uint64_t default_cost_ns,
                                  uint64_t *costs_ns);

// Measures the graph of a run whose exec keeps times, and writes what its nodes cost, for braid
// plan.
enum exit_status graph_costs_measure(const char *path, const struct run *run);

#endif
