// SPDX-License-Identifier: Apache-2.0
// Making an exec: plan, verify, load, lower; and taking it apart.
#include <stdio.h>

#include "base/error.h"
#include "exec/early.h"
#include "exec/exec.h"
#include "plan/schedule.h"

static bool costs_are_zero(const braid_cost_model *costs)
{
    return !costs->default_cost_ns && !costs->node_ns && !costs->wait_ns && !costs->root_ns &&
           !costs->max_concurrent && !costs->max_threads && !costs->issue_ns &&
           !costs->issue_wait_ns && !costs->early_ns && !costs->early_least_ns;
}

static braid_status check_schedule(const braid_schedule *schedule, const braid_graph *graph)
{
    if (schedule->graph_id != graph->id)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_exec_create: the schedule is of another graph");
    if (schedule->graph_version != graph->version)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_exec_create: the graph changed after the schedule was made");
    return BRAID_OK;
}

// The schedule for one mode: the program's own, or one planned with that mode's costs.
static braid_status find_schedule(braid_exec *exec, const braid_graph *graph,
                                  const braid_exec_options *options, braid_exec_mode mode)
{
    if (options->schedule) {
        exec->schedule = braid_schedule_retain(options->schedule);
        return BRAID_OK;
    }
    braid_schedule_options plan = options->plan;
    if (costs_are_zero(&plan.costs))
        braid_device_get_cost_model(exec->device, mode, &plan.costs);
    return braid_schedule_create(graph, &plan, &exec->schedule);
}

static void finish_lowering(braid_exec *exec)
{
    if (exec->lowering)
        exec->lowering->destroy(exec);
    exec->lowering = NULL;
    braid_schedule_destroy(exec->schedule);
    exec->schedule = NULL;
}

static braid_status lower(braid_exec *exec, const braid_graph *graph,
                          const braid_exec_options *options, const struct lowering *lowering)
{
    braid_status status = find_schedule(exec, graph, options, lowering->mode);
    if (!status)
        status = braid_schedule_verify(exec->schedule, graph);
    if (!status) {
        braid_tasks_name(&exec->tasks, exec->schedule);
        status = braid_exec_choose_early(exec, graph, options, lowering->mode);
    }
    if (!status) {
        status = lowering->create(exec);
    }
    if (status) {
        finish_lowering(exec);
        return status;
    }
    exec->lowering = lowering;
    exec->info.mode = lowering->mode;
    return BRAID_OK;
}

// Native where the backend prefers it and everything can be, else streams; says which and why.
static braid_status lower_auto(braid_exec *exec, const braid_graph *graph,
                               const braid_exec_options *options)
{
    const struct backend_ops *ops = exec->device->backend->ops;
    char *reason = exec->info.reason;
    size_t size = sizeof(exec->info.reason);
    if (!ops->program_create || !ops->prefers_native) {
        snprintf(reason, size, "streams: the default on %s", ops->name);
        return lower(exec, graph, options, &braid_streams_lowering);
    }
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = lower(exec, graph, options, &braid_native_lowering);
    if (status == BRAID_UNSUPPORTED) {
        snprintf(reason, size, "streams: %s", braid_error_message());
        braid_error_end_attempt(&attempt, BRAID_OK);
        return lower(exec, graph, options, &braid_streams_lowering);
    }
    braid_error_end_attempt(&attempt, status);
    snprintf(reason, size, "native: everything in the graph can be replayed by %s", ops->name);
    return status;
}

static braid_status lower_as_asked(braid_exec *exec, const braid_graph *graph,
                                   const braid_exec_options *options)
{
    if (options->mode == BRAID_MODE_AUTO)
        return lower_auto(exec, graph, options);
    snprintf(exec->info.reason, sizeof(exec->info.reason), "%s: the program asked for it",
             options->mode == BRAID_MODE_NATIVE ? "native" : "streams");
    return lower(exec, graph, options,
                 options->mode == BRAID_MODE_NATIVE ? &braid_native_lowering
                                                    : &braid_streams_lowering);
}

static braid_status check_arguments(const braid_device *device, const braid_graph *graph,
                                    const braid_exec_options *options, braid_exec **out_exec)
{
    if (!device || !graph || !out_exec)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_exec_create: %s is NULL",
                           !device  ? "device"
                           : !graph ? "graph"
                                    : "out_exec");
    int mode = (int)options->mode;
    if (mode < BRAID_MODE_AUTO || mode > BRAID_MODE_NATIVE)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_exec_create: unknown mode %d", mode);
    return options->schedule ? check_schedule(options->schedule, graph) : BRAID_OK;
}

// Frees an exec without waiting, half-made or not.
static void free_exec(braid_exec *exec)
{
    finish_lowering(exec);
    braid_tasks_finish(&exec->tasks);
    if (exec->done)
        braid_device_return_event(exec->device, exec->done);
    pthread_mutex_destroy(&exec->lock);
    free(exec);
}

braid_status braid_exec_create(braid_device *device, const braid_graph *graph,
                               const braid_exec_options *options, braid_exec **out_exec)
{
    static const braid_exec_options defaults;
    options = options ? options : &defaults;
    braid_status status = check_arguments(device, graph, options, out_exec);
    if (status)
        return status;
    braid_exec *exec = calloc(1, sizeof(*exec));
    if (!exec)
        return braid_error_no_memory("an exec");
    braid_device_free_kept(device);
    exec->device = device;
    exec->graph_id = graph->id;
    pthread_mutex_init(&exec->lock, NULL);
    status = braid_tasks_create(device, graph, &exec->tasks);
    if (!status)
        status = braid_device_lease_event(device, &exec->done);
    if (!status)
        status = lower_as_asked(exec, graph, options);
    if (status) {
        free_exec(exec);
        return status;
    }
    exec->info.num_events++; // `done`
    exec->info.argument_bytes = exec->tasks.num_arg_bytes;
    *out_exec = exec;
    return BRAID_OK;
}

static braid_exec *exec_from(struct kept *kept)
{
    return (braid_exec *)((char *)kept - offsetof(braid_exec, kept));
}

static bool kept_is_idle(struct kept *kept, bool drained)
{
    return braid_exec_is_idle(exec_from(kept), false, drained);
}

static void free_kept(struct kept *kept)
{
    free_exec(exec_from(kept));
}

// A frame that failed was reported to whoever waited for it; here only its end counts.
void braid_exec_destroy(braid_exec *exec)
{
    if (!exec)
        return;
    braid_device *device = exec->device;
    braid_device_free_kept(device);
    if (braid_exec_is_idle(exec, true, false)) {
        free_exec(exec);
        return;
    }
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt,
                          braid_error(BRAID_DEVICE_ERROR,
                                      "an exec on %s is kept: its frames cannot be told to have "
                                      "ended",
                                      device->label));
    exec->kept = (struct kept){ .is_idle = kept_is_idle, .free = free_kept };
    braid_device_keep(device, &exec->kept);
}
