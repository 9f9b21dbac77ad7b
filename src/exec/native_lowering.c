// SPDX-License-Identifier: Apache-2.0
// The native lowering: the whole plan is handed to the backend, which replays it by itself.
#include "base/error.h"
#include "base/node_text.h"
#include "exec/exec.h"
#include "plan/schedule.h"

// The steps in the backend's terms: in issue order, and lane by lane.
struct plan_arrays {
    struct backend_step *order;
    uint32_t *order_lane;
    struct backend_step *by_lane;
    struct backend_lane *lanes;
    size_t *next; // of each lane, while filling
    uint32_t *record_of_node;
    uint32_t num_records;
};

static void finish_arrays(struct plan_arrays *arrays)
{
    free(arrays->order);
    free(arrays->order_lane);
    free(arrays->by_lane);
    free(arrays->lanes);
    free(arrays->next);
    free(arrays->record_of_node);
}

static bool allocate_arrays(const braid_schedule *schedule, struct plan_arrays *arrays)
{
    size_t num_steps = schedule->num_steps;
    uint32_t num_lanes = schedule->info.num_lanes;
    arrays->order = braid_allocate_zeroed(num_steps, sizeof(*arrays->order));
    arrays->order_lane = braid_allocate_zeroed(num_steps, sizeof(*arrays->order_lane));
    arrays->by_lane = braid_allocate_zeroed(num_steps, sizeof(*arrays->by_lane));
    arrays->lanes = braid_allocate_zeroed(num_lanes, sizeof(*arrays->lanes));
    arrays->next = braid_allocate_zeroed(num_lanes, sizeof(*arrays->next));
    arrays->record_of_node =
        braid_allocate_zeroed(schedule->info.num_nodes, sizeof(*arrays->record_of_node));
    return arrays->order && arrays->order_lane && arrays->by_lane && arrays->lanes &&
           arrays->next && arrays->record_of_node;
}

// A wait stands behind its record in issue order, so one walk can number the records.
static void fill_order(const braid_schedule *schedule, struct plan_arrays *arrays)
{
    for (size_t i = 0; i < schedule->num_steps; i++) {
        const braid_step *step = &schedule->steps[i];
        if (step->kind == BRAID_STEP_RECORD)
            arrays->record_of_node[step->node] = arrays->num_records++;
        uint32_t index =
            step->kind == BRAID_STEP_RUN ? step->node : arrays->record_of_node[step->node];
        arrays->order[i] = (struct backend_step){ .kind = step->kind, .index = index };
        arrays->order_lane[i] = step->lane;
        arrays->lanes[step->lane].num_steps++;
    }
}

static void fill_lanes(const braid_schedule *schedule, struct plan_arrays *arrays)
{
    size_t first = 0;
    for (uint32_t lane = 0; lane < schedule->info.num_lanes; lane++) {
        arrays->lanes[lane].steps = arrays->by_lane + first;
        arrays->next[lane] = first;
        first += arrays->lanes[lane].num_steps;
    }
    for (size_t i = 0; i < schedule->num_steps; i++)
        arrays->by_lane[arrays->next[arrays->order_lane[i]]++] = arrays->order[i];
}

// Native calls are handed a public stream round the one that the backend captures or serves.
static braid_status call_native(const struct backend_task *task, struct backend_stream *stream)
{
    braid_stream wrapper = { .device = task->native.device, .backend = stream, .wrapped = true };
    braid_status status = task->native.call(task->native.device, &wrapper, task->native.user);
    if (status)
        return braid_error(status, "node %s (%s, lane %u): its native call returned %s",
                           braid_node_text(task->node, task->name).text, task->native.device->label,
                           task->lane, braid_status_name(status));
    return BRAID_OK;
}

static braid_status create_program(braid_exec *exec, const struct plan_arrays *arrays)
{
    struct backend *backend = exec->device->backend;
    const struct backend_plan plan = {
        .lanes = arrays->lanes,
        .num_lanes = exec->schedule->info.num_lanes,
        .num_records = arrays->num_records,
        .tasks = exec->tasks.items,
        .num_tasks = exec->tasks.num,
        .order = arrays->order,
        .order_lane = arrays->order_lane,
        .num_order = exec->schedule->num_steps,
        .device = exec->device,
        .call_native = call_native,
    };
    return backend->ops->program_create(backend, &plan, &exec->program);
}

static braid_status create_native(braid_exec *exec)
{
    if (!exec->device->backend->ops->program_create)
        return braid_error(BRAID_UNSUPPORTED, "%s has no native replay", exec->device->label);
    struct plan_arrays arrays = { 0 };
    braid_status status = BRAID_OK;
    if (!allocate_arrays(exec->schedule, &arrays)) {
        status = braid_error_no_memory("the plan of an exec");
    } else {
        fill_order(exec->schedule, &arrays);
        fill_lanes(exec->schedule, &arrays);
        status = create_program(exec, &arrays);
    }
    finish_arrays(&arrays);
    return status;
}

static braid_status launch_native(braid_exec *exec, braid_stream *stream)
{
    struct backend *backend = exec->device->backend;
    struct backend_stream *queue = device_backend_stream(stream);
    braid_status status = BRAID_OK;
    if (backend->ops->programs_overlap)
        status = backend->ops->stream_wait(backend, queue, exec->done->backend);
    if (!status)
        status = backend->ops->program_launch(backend, exec->program, queue);
    return status ? status : braid_exec_record_done(exec, stream);
}

static braid_status set_native_args(braid_exec *exec, uint32_t node, void *const *args)
{
    struct backend *backend = exec->device->backend;
    return backend->ops->program_set_args(backend, exec->program, node, args);
}

static void destroy_native(braid_exec *exec)
{
    struct backend *backend = exec->device->backend;
    if (exec->program)
        backend->ops->program_destroy(backend, exec->program);
    exec->program = NULL;
}

const struct lowering braid_native_lowering = {
    .mode = BRAID_MODE_NATIVE,
    .create = create_native,
    .launch = launch_native,
    .set_args = set_native_args,
    .destroy = destroy_native,
};
