// SPDX-License-Identifier: Apache-2.0
// Dividing an exec's plan into islands.
#include "exec/islands.h"

#include "base/array.h"
#include "base/error.h"
#include "plan/plan_divide.h"

// The player knows what of the tasks can be inside, and what islands cost.
static braid_status divide(braid_exec *exec, const braid_exec_options *options,
                           const struct player *player)
{
    struct backend *backend = exec->device->backend;
    braid_cost_model model;
    player->get_cost_model(backend, &model);
    if (!model.island_call_ns)
        return BRAID_OK;
    struct island_fit *fits = braid_allocate_zeroed(exec->tasks.num, sizeof(*fits));
    if (!fits)
        return braid_error_no_memory("the islands of an exec");
    braid_status status = player->find_fits(backend, exec->tasks.items, exec->tasks.num, fits);
    if (!status)
        status = braid_plan_divide(exec->schedule, &model, fits,
                                   options->islands == BRAID_ISLANDS_ALWAYS);
    free(fits);
    return status;
}

// Times of frames are those of kernels, one by one.
static bool may_divide(const braid_exec_options *options, const struct player *player)
{
    return player->find_fits && options->islands != BRAID_ISLANDS_NEVER && !options->profile;
}

braid_status braid_exec_divide(braid_exec *exec, const braid_exec_options *options,
                               const struct player *player)
{
    bool wanted = may_divide(options, player);
    if (options->schedule && (wanted || exec->schedule->division.island_of)) {
        braid_schedule *own = NULL;
        braid_status status = braid_schedule_undivided(exec->schedule, &own);
        if (status)
            return status;
        braid_schedule_destroy(exec->schedule);
        exec->schedule = own;
    }
    return wanted ? divide(exec, options, player) : BRAID_OK;
}
