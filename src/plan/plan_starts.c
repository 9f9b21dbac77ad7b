// SPDX-License-Identifier: Apache-2.0
// Orders of list schedulers, from which the search for a plan starts.
#include "plan/plan_starts.h"

uint32_t braid_plan_first_start(const struct plan_pass *pass)
{
    return braid_plan_has_gaps(pass) ? 0 : NUM_GAPS_ORDERS;
}

braid_status braid_plan_start(struct plan_pass *pass, uint32_t start)
{
    pass->takes_first_lane = start < NUM_GAPS_ORDERS + 2 * NUM_PASS_MODES;
    if (start < NUM_GAPS_ORDERS)
        return braid_plan_gaps_run(pass, (enum gaps_order)start);
    start -= NUM_GAPS_ORDERS;
    braid_plan_pass_order_by_path(pass);
    braid_plan_pass_key_by_path(pass, start % 2 ? 0 : pass->costs->model.wait_ns);
    pass->mode = start / 2 % NUM_PASS_MODES;
    return BRAID_OK;
}
