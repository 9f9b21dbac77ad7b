// SPDX-License-Identifier: Apache-2.0
// A test of a cost model as a whole.
#ifndef BRAID_PLAN_COST_MODEL_H
#define BRAID_PLAN_COST_MODEL_H

#include <stdbool.h>

#include <braid/schedule.h>

// Whether nobody filled it in. Another field needs a place here.
static inline bool plan_costs_are_zero(const braid_cost_model *costs)
{
    _Static_assert(sizeof(*costs) == 13 * sizeof(uint64_t), "every field is looked at");
    return !costs->default_cost_ns && !costs->node_ns && !costs->wait_ns && !costs->root_ns &&
           !costs->max_concurrent && !costs->host_issues && !costs->max_threads &&
           !costs->issue_ns && !costs->issue_wait_ns && !costs->early_ns &&
           !costs->island_call_ns && !costs->island_start_ns && !costs->island_round_ns &&
           !costs->iteration_ns;
}

#endif
