// SPDX-License-Identifier: Apache-2.0
// The options of a plan, with costs of its own: those of a schedule or of an exec.
#ifndef BRAID_PLAN_PLAN_OPTIONS_H
#define BRAID_PLAN_PLAN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/schedule.h>

struct plan_options {
    uint32_t max_lanes;
    bool fixed_lanes;
    bool ignore_costs;
    braid_cost_model costs; // all zero: waits and launches are free
    const braid_place_model *places;
};

#endif
