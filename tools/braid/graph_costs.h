// SPDX-License-Identifier: Apache-2.0
// Costs of graphs: reading those that were measured, and files of them.
#ifndef TOOLS_BRAID_GRAPH_COSTS_H
#define TOOLS_BRAID_GRAPH_COSTS_H

#include <jansson.h>

#include "run_report.h"
#include "task_graph.h"

// As a plan takes them, in the graph's order; default_cost_ns as in braid_cost_model.
enum exit_status graph_costs_read(const braid_graph *graph, uint64_t default_cost_ns,
                                  uint64_t *costs_ns);

// All that is known of a graph's costs, as braid_graph_save_costs writes it.
enum exit_status graph_costs_to_json(const braid_graph *graph, const braid_device *device,
                                     json_t **out_json);

// Gives a graph the lists that such JSON has, which is from `path`.
enum exit_status graph_costs_take(const char *path, json_t *json, const braid_device *device,
                                  braid_graph *graph);

// Measures the graph of a run whose exec keeps times, and writes what its nodes cost, for braid
// plan.
enum exit_status graph_costs_measure(const char *path, const struct run *run);

#endif
