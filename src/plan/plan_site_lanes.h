// SPDX-License-Identifier: Apache-2.0
// The number of lanes on each place, where there are several.
#ifndef BRAID_PLAN_SITE_LANES_H
#define BRAID_PLAN_SITE_LANES_H

#include "plan/plan_try.h"

// Chooses how many lanes each place may have, the same for all; num_lanes: of all together, given;
// 0: the options say. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_place_on_sites(struct plan_tries *tries,
                                       const braid_schedule_options *options, uint32_t num_lanes,
                                       struct plan_placement *out_placement);

#endif
