// SPDX-License-Identifier: Apache-2.0
// The options of a plan, with costs of its own: those of a schedule or of an exec.
#ifndef BRAID_PLAN_PLAN_OPTIONS_H
#define BRAID_PLAN_PLAN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/schedule.h>

struct plan_costs;
struct plan_graph;
struct plan_placement;

// A plan that is known. It gives the placement of each region, in the order in which they are
// planned: as they are numbered, and the frame last. Errors: of braid_schedule_create.
struct plan_known {
    braid_status (*place)(struct plan_known *known, const struct plan_graph *plan,
                          const struct plan_costs *costs, struct plan_placement *out_placement);
};

struct plan_options {
    uint32_t max_lanes;
    bool fixed_lanes;
    bool ignore_costs;
    braid_cost_model costs; // all zero: waits and launches are free
    const braid_place_model *places;
    struct plan_known *known; // NULL: the planner searches
};

#endif
