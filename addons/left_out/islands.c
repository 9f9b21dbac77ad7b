// SPDX-License-Identifier: Apache-2.0
// Islands: the tables that the core asks, where the add-on 'islands' is left out.
#include "backends/driver_graph/driver_graph_islands.h"
#include "exec/exec_islands.h"
#include "plan/plan_islands.h"

const struct plan_islands *const braid_plan_islands = NULL;
const struct exec_islands *const braid_exec_islands = NULL;
const struct graph_islands_ops *const braid_graph_islands = NULL;
