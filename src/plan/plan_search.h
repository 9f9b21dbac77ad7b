// SPDX-License-Identifier: Apache-2.0
// List scheduling, and shorter plans by search.
#ifndef BRAID_PLAN_SEARCH_H
#define BRAID_PLAN_SEARCH_H

#include "plan/plan_list_orders.h"

// Places the graph within the limits, or gives it up. A graph of limited size is not given up, and
// its plan is improved as far as every plan can afford. This takes forward-backward improvement of
// it and of other orders, and some steps of search. So it is never longer than by list scheduling,
// and is the same on every machine. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_try(struct plan_tries *tries, const struct plan_limits *limits,
                            struct plan_placement *out_placement);

#endif
