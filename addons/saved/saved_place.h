// SPDX-License-Identifier: Apache-2.0
// A region of a saved plan becomes the placement that the planner would have found.
#ifndef BRAID_SAVED_SAVED_PLACE_H
#define BRAID_SAVED_SAVED_PLACE_H

#include "saved/saved_file.h"

// The plan for braid_schedule_plan, which asks for its regions one after another.
struct saved_known {
    struct plan_known known;
    const char *path; // for messages
    bool is_saving;   // the plan gets the digests, and starts that fit
    struct saved_plan *plan;
    uint32_t num_placed; // regions
};

// For saved_known.known.place. Errors: BRAID_INVALID_ARGUMENT (the region is another, or its order
// and lanes are none), BRAID_NO_MEMORY.
braid_status braid_saved_place(struct plan_known *known, const struct plan_graph *plan,
                               const struct plan_costs *costs,
                               struct plan_placement *out_placement);

// Says that the graph has not as many regions as the plan.
braid_status braid_saved_refuse_regions(const struct saved_known *known);

#endif
