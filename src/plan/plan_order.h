// SPDX-License-Identifier: Apache-2.0
// An order of the nodes in which every edge goes forward and units stay together.
#ifndef BRAID_PLAN_ORDER_H
#define BRAID_PLAN_ORDER_H

#include "plan/plan_graph.h"

// Fills plan->order. Errors: BRAID_CYCLE (the message names the nodes), BRAID_NO_MEMORY.
braid_status braid_plan_order_create(struct plan_graph *plan);

#endif
