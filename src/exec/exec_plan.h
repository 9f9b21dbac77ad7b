// SPDX-License-Identifier: Apache-2.0
// The options of plans as the program gives them: for a device, for costs, or with an exec.
#ifndef BRAID_EXEC_EXEC_PLAN_H
#define BRAID_EXEC_EXEC_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include <braid/exec.h>

#include "plan/plan_options.h"

// Models of the program in the library's sizes.
struct plan_models {
    braid_cost_model costs;
    braid_place_model places;
};

// Copies both models, and lets *costs and *places point to the copies. NULL stays.
// Errors: those of braid_sized_take.
braid_status braid_exec_take_models(const char *function, const braid_cost_model **costs,
                                    size_t costs_size, const braid_place_model **places,
                                    size_t places_size, struct plan_models *models);

// The plan of an exec; without costs given they are zero, and the player's count.
struct plan_options braid_exec_plan_options(const braid_exec_options *options);

// Whether the costs that a schedule was planned for are those of the exec's player.
bool braid_exec_plans_for(const struct braid_exec *exec, const braid_schedule *schedule);

#endif
