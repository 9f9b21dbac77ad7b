// SPDX-License-Identifier: Apache-2.0
// Keeping and freeing placements.
#include "plan/plan_placement.h"

#include <stdlib.h>

void braid_plan_placement_keep(struct plan_placement *best, struct plan_placement *other)
{
    struct plan_placement worse = *other;
    bool shorter = best->given_up || other->makespan_ns < best->makespan_ns ||
                   (other->makespan_ns == best->makespan_ns && other->waits.num < best->waits.num);
    if (shorter && !other->given_up) {
        worse = *best;
        *best = *other;
    }
    braid_plan_placement_finish(&worse);
}

void braid_plan_placement_finish(struct plan_placement *placement)
{
    free(placement->lane_of);
    free(placement->start_ns);
    free(placement->issued);
    free(placement->wait_first);
    braid_array_finish(&placement->waits);
    braid_array_finish(&placement->delays);
    *placement = (struct plan_placement){ 0 };
}
