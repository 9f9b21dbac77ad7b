// SPDX-License-Identifier: Apache-2.0
// Costs of a graph's nodes from frames that were run.
#include <braid/timings.h>

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/inside.h"
#include "exec/exec.h"
#include "exec/exec_times.h"
#include "exec/measure_delays.h"
#include "graph/graph.h"

enum { LEAST_FRAMES = 3 }; // the first one finds no code and data in the caches

static braid_status check(const braid_exec *exec, const braid_graph *graph)
{
    static const char function[] = "braid_exec_measure";
    if (!exec || !graph)
        return braid_error_null(function, exec ? "graph" : "exec");
    if (!braid_exec_get_times(exec))
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "%s: the exec keeps no times: braid_exec_options.profile is 0",
                           function);
    if (graph->id != exec->schedule->graph_id)
        return braid_error(BRAID_INVALID_ARGUMENT, "%s: the exec was made of another graph",
                           function);
    return braid_exec_check(function, exec);
}

static braid_status run_frames(braid_exec *exec, uint32_t num_frames)
{
    uint32_t room = braid_exec_get_times(exec)->room;
    if (!num_frames)
        num_frames = room > LEAST_FRAMES ? room : LEAST_FRAMES;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num_frames && !status; i++) {
        status = braid_exec_launch(exec, NULL);
        if (!status)
            status = braid_exec_wait(exec);
    }
    return status;
}

// The time that measuring adds to a node's own work. In a driver graph the kernel that writes down
// its end is started too.
static uint64_t find_added(const braid_exec *exec, braid_timed_by timed_by)
{
    braid_cost_model model = { 0 };
    if (timed_by == BRAID_TIMED_INSIDE)
        return 0;
    exec->player->get_cost_model(exec->device->backend, &model);
    // Between two events nothing starts early, which the model of streams counts on.
    if (exec->player->mode == BRAID_MODE_STREAMS)
        return model.node_ns + model.early_ns + exec->device->backend->ops->timing_adds_ns;
    bool has_stamps = exec->player->find_fits != NULL;
    return has_stamps ? 2 * model.node_ns : model.node_ns;
}

// A time too short to measure is not 0. Next to a cost of 0 a launch would seem to be all that
// counts, and plans would save launches that cost nothing else.
static uint64_t find_least(const braid_exec *exec)
{
    const struct backend_ops *ops = exec->device->backend->ops;
    uint64_t step_ns =
        exec->player->mode == BRAID_MODE_STREAMS ? ops->event_step_ns : ops->stamp_step_ns;
    return step_ns ? step_ns : 1; // 0 would be a cost that is not known
}

// All are 0 unless one device starts the nodes itself: a delay of the host tells nothing of a node.
static braid_status find_delays(const braid_exec *exec, const braid_timings *timings,
                                uint64_t *out_ns)
{
    braid_cost_model model = { 0 };
    braid_schedule_info info;
    exec->player->get_cost_model(exec->device->backend, &model);
    if (!model.issue_ns || model.host_issues || exec->placed)
        return BRAID_OK;
    braid_schedule_get_info(exec->schedule, &info);
    const struct measured_frames frames = { info.steps,         info.num_steps,
                                            timings->intervals, timings->num_frames,
                                            timings->num_nodes, info.num_lanes };
    const struct expected_delays expected = {
        .lane_ns = model.node_ns - (exec->info.num_early_starts ? model.early_ns : 0),
        .wait_ns = model.wait_ns,
    };
    return braid_measure_delays(&frames, expected, out_ns);
}

// In its own time, and later by delay_ns than the model has it.
static braid_status set_cost(const braid_exec *exec, braid_graph *graph, uint32_t node,
                             const braid_node_timing *timing, uint64_t delay_ns)
{
    enum work_kind kind = exec->tasks.items[node].kind;
    if (kind == WORK_EMPTY || work_has_body(kind)) // which takes what its body does
        return BRAID_OK;
    if (timing->timed_by == BRAID_TIMED_NOT)
        return BRAID_OK;
    uint64_t added_ns = find_added(exec, timing->timed_by), least_ns = find_least(exec);
    uint64_t cost_ns = timing->time.median_ns > added_ns ? timing->time.median_ns - added_ns : 0;
    cost_ns = (cost_ns > least_ns ? cost_ns : least_ns) + delay_ns;
    return braid_graph_set_cost(graph, braid_graph_node(graph, node), cost_ns);
}

static braid_status set_costs(const braid_exec *exec, braid_graph *graph,
                              const braid_timings *timings)
{
    uint64_t *delays_ns = braid_allocate_zeroed(timings->num_nodes, sizeof(*delays_ns));
    if (!delays_ns)
        return braid_error_no_memory("the delays of a frame");
    braid_status status = find_delays(exec, timings, delays_ns);
    for (uint32_t i = 0; i < timings->num_nodes && !status; i++)
        status = set_cost(exec, graph, i, &timings->nodes[i], delays_ns[i]);
    free(delays_ns);
    return status;
}

braid_status braid_exec_measure(braid_exec *exec, braid_graph *graph, uint32_t num_frames)
{
    braid_status status = check(exec, graph);
    braid_timings timings;
    if (!status)
        status = run_frames(exec, num_frames);
    if (!status)
        status = braid_exec_get_timings(exec, &timings);
    return status ? status : set_costs(exec, graph, &timings);
}
