// SPDX-License-Identifier: Apache-2.0
// Execs on several devices.
//
// The planner makes one graph of the program's nodes and the copies between places. Each of its
// lanes has a place (graph/placed.h). All later steps are as with one device, except that tasks,
// lanes and arenas belong to the device of their place. The streams of launches and slots belong to
// place 0, and so do the events of frames' ends.
//
// An event says that its stream has come to it, not that earlier work of other devices was right. A
// device that breaks tells so only when it is asked itself. So each has an event that is never
// recorded: its probe, which waits ask when a frame has ended.
#include "exec/exec.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/node_text.h"
#include "plan/cost_model.h"
#include "plan/places/place.h"

static braid_status check_schedule_places(const braid_exec *exec, const braid_schedule *schedule)
{
    uint32_t num = schedule->placed ? schedule->placed->model.num_places : 1;
    if (num <= exec->places.num)
        return BRAID_OK;
    return braid_error_invalid("braid_exec_create: the schedule is for %u places, there %s %u", num,
                               exec->places.num == 1 ? "is" : "are", exec->places.num);
}

// Refuses a schedule that is older than a parameter.
static braid_status check_rests(const braid_graph *graph, const struct placed *placed)
{
    for (uint32_t i = 0; placed && i < placed->model.num_nodes; i++) {
        if (graph_nodes(graph)[i].may_rest && graph_nodes(placed->graph)[i].must_run)
            return braid_error_invalid(
                "braid_exec_create: the schedule was made before a parameter could disable node %s",
                braid_node_text(i, braid_graph_name(graph, i)).text);
    }
    return BRAID_OK;
}

static braid_status check_model(const braid_exec *exec, const braid_place_model *model)
{
    uint32_t num = model ? model->num_places : 0;
    if (num <= exec->places.num)
        return BRAID_OK;
    return braid_error_invalid("braid_exec_create: plan.places has %u places, there %s %u", num,
                               exec->places.num == 1 ? "is" : "are", exec->places.num);
}

static braid_status refuse(const char *what)
{
    return braid_error(BRAID_UNSUPPORTED, "an exec on several devices has no %s", what);
}

static braid_status check_placed(const braid_exec_options *options)
{
    if (options->profile)
        return refuse("times of frames (profile): devices have clocks of their own");
    if (options->islands == BRAID_ISLANDS_WHOLE || options->islands == BRAID_ISLANDS_ALWAYS)
        return refuse("islands");
    return BRAID_OK;
}

// With the cost model of the player that is tried first.
static braid_status place(braid_exec *exec, const braid_graph *graph,
                          const braid_exec_options *options)
{
    braid_schedule_options plan = options->plan;
    struct backend *backend = exec->device->backend;
    const struct player *const *player =
        braid_exec_find_player(backend->ops->players, options->mode);
    if (plan_costs_are_zero(&plan.costs) && *player)
        (*player)->get_cost_model(backend, &plan.costs);
    return braid_graph_place(graph, &plan, &exec->placed);
}

braid_status braid_exec_place(braid_exec *exec, const braid_graph *graph,
                              const braid_exec_options *options)
{
    const braid_place_model *model = options->plan.places;
    braid_status status = BRAID_OK;
    if (options->schedule) {
        status = check_schedule_places(exec, options->schedule);
        exec->placed = status ? NULL : braid_placed_share(options->schedule->placed);
        status = status ? status : check_rests(graph, exec->placed);
    } else {
        status = check_model(exec, model);
        if (!status && model && model->num_places > 1)
            status = place(exec, graph, options);
    }
    return status || !exec->placed ? status : check_placed(options);
}

// Events of all places but 0, leased, never recorded.
struct exec_probes {
    struct exec_part part;
    braid_event *events[MOST_PLACES];
};

static braid_status wait(struct exec_part *part, braid_exec *exec)
{
    const struct exec_probes *probes = (const struct exec_probes *)part;
    braid_status status = BRAID_OK;
    for (uint32_t i = 1; i < exec->places.num && !status; i++) {
        struct backend *backend = exec->places.devices[i]->backend;
        status = backend->ops->event_query(backend, probes->events[i]->backend);
    }
    return status;
}

static void finish(struct exec_part *part, braid_exec *exec)
{
    struct exec_probes *probes = (struct exec_probes *)part;
    for (uint32_t i = 1; i < exec->places.num; i++) {
        if (probes->events[i])
            braid_device_return_event(exec->places.devices[i], probes->events[i]);
    }
    free(probes);
}

static const struct exec_part_ops ops = { .wait = wait, .finish = finish };

braid_status braid_exec_add_probes(braid_exec *exec)
{
    if (!exec->placed)
        return BRAID_OK;
    struct exec_probes *probes = calloc(1, sizeof(*probes));
    if (!probes)
        return braid_error_no_memory("an exec");
    probes->part.ops = &ops;
    braid_exec_add_part(&exec->parts, &probes->part);
    braid_status status = BRAID_OK;
    for (uint32_t i = 1; i < exec->places.num && !status; i++)
        status = braid_device_lease_event(exec->places.devices[i], &probes->events[i]);
    return status;
}
