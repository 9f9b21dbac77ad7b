// SPDX-License-Identifier: Apache-2.0
// The number of lanes on each place, where there are several.
#ifndef BRAID_PLAN_SITE_LANES_H
#define BRAID_PLAN_SITE_LANES_H

#include "plan/plan_list_orders.h"

// Places the graph on as many lanes on each place as are best, the same for all, up to a limit; or
// on that many. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_on_sites(struct plan_tries *tries, uint32_t limit, bool is_fixed,
                                 struct plan_placement *out_placement);

#endif
