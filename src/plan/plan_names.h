// SPDX-License-Identifier: Apache-2.0
// Copies a graph's names, so that a plan may outlive its graph.
#ifndef BRAID_PLAN_NAMES_H
#define BRAID_PLAN_NAMES_H

#include <stdbool.h>

#include "plan/plan_graph.h"

// Names that many nodes share (a kernel's, a kind's) are stored once. False when memory runs out.
bool braid_plan_names_copy(const braid_graph *graph, struct plan_names *names);
void braid_plan_names_finish(struct plan_names *names);

#endif
