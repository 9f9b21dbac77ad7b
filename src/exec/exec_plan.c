// SPDX-License-Identifier: Apache-2.0
// The options of plans as the program gives them: for a device, for costs, or with an exec.
#include "exec/exec_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "exec/exec.h"
#include "graph/code.h"
#include "plan/schedule.h"

braid_status braid_exec_take_models(const char *function, const braid_cost_model **costs,
                                    size_t costs_size, const braid_place_model **places,
                                    size_t places_size, struct plan_models *models)
{
    char what[64];
    snprintf(what, sizeof(what), "%s: costs", function);
    braid_status status =
        braid_sized_take(what, *costs, costs_size, &models->costs, sizeof(models->costs));
    snprintf(what, sizeof(what), "%s: places", function);
    if (!status)
        status =
            braid_sized_take(what, *places, places_size, &models->places, sizeof(models->places));
    *costs = *costs ? &models->costs : NULL;
    *places = *places ? &models->places : NULL;
    return status;
}

struct plan_options braid_exec_plan_options(const braid_exec_options *options)
{
    struct plan_options plan = {
        .max_lanes = options->max_lanes,
        .fixed_lanes = options->fixed_lanes,
        .ignore_costs = options->ignore_costs,
        .places = options->places,
    };
    if (options->costs)
        plan.costs = *options->costs;
    return plan;
}

// ---- schedules that the program makes itself ----

// The costs in BRAID_MODE_AUTO and the places. A group has those of its first member.
static braid_status add_device(const braid_device *device, struct plan_options *plan,
                               bool has_costs)
{
    braid_status status = braid_device_check_open("braid_schedule_create", device);
    if (status)
        return status;
    const braid_device *first = braid_device_places((braid_device *)(uintptr_t)device).devices[0];
    braid_device_info info;
    braid_device_get_info(first, &info);
    if (!has_costs && info.costs)
        plan->costs = *info.costs[BRAID_MODE_AUTO];
    if (!plan->places && device->group)
        plan->places = &device->group->model.given;
    return BRAID_OK;
}

static braid_status create(const braid_graph *graph, const braid_schedule_options *options,
                           braid_schedule **out_schedule)
{
    struct plan_options plan = {
        .max_lanes = options->max_lanes,
        .fixed_lanes = options->fixed_lanes,
        .ignore_costs = options->ignore_costs,
        .places = options->places,
    };
    if (!graph || !out_schedule)
        return braid_error_null("braid_schedule_create", graph ? "out_schedule" : "graph");
    if (!options->device && !options->costs)
        return braid_error_invalid("braid_schedule_create: options name neither the device nor the "
                                   "costs that the plan is for");
    if (options->costs)
        plan.costs = *options->costs;
    braid_status status = BRAID_OK;
    if (options->device)
        status = add_device(options->device, &plan, options->costs);
    if (!status)
        status = graph_check_code(graph, NULL);
    return status ? status : braid_schedule_plan(graph, &plan, out_schedule);
}

braid_status braid_schedule_create_sized(const braid_graph *graph,
                                         const braid_schedule_options *options,
                                         braid_schedule **out_schedule, size_t size,
                                         size_t costs_size, size_t places_size)
{
    braid_schedule_options own;
    struct plan_models models;
    braid_status status =
        braid_sized_take("braid_schedule_create: options", options, size, &own, sizeof(own));
    if (!status)
        status = braid_exec_take_models("braid_schedule_create", &own.costs, costs_size,
                                        &own.places, places_size, &models);
    return status ? status : create(graph, &own, out_schedule);
}

// ---- schedules planned for something else than the exec's device ----

// The exec divides the plan into islands itself, by its own costs.
static braid_cost_model without_islands(const braid_cost_model *costs)
{
    braid_cost_model model = *costs;
    model.island_call_ns = model.island_start_ns = model.island_round_ns = 0;
    return model;
}

bool braid_exec_plans_for(const struct braid_exec *exec, const braid_schedule *schedule)
{
    braid_cost_model own;
    exec->player->get_cost_model(exec->device->backend, &own);
    const braid_cost_model planned = without_islands(&schedule->options.costs);
    own = without_islands(&own);
    _Static_assert(sizeof(own) == 13 * sizeof(uint64_t), "no bytes between the fields");
    return memcmp(&own, &planned, sizeof(own)) == 0;
}
