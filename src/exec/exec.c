// SPDX-License-Identifier: Apache-2.0
// Using an exec: launch, wait, ask.
#include "exec/exec.h"

#include "base/error.h"
#include "base/inside.h"

bool braid_exec_has_failed(const braid_exec *exec)
{
    bool has_failed = failure_is_noted(&exec->device->failure);
    for (uint32_t i = 1; i < exec->places.num && !has_failed; i++)
        has_failed = failure_is_noted(&exec->places.devices[i]->failure);
    return has_failed;
}

braid_status braid_exec_check_devices(const char *function, const braid_exec *exec)
{
    if (!device_is_here(exec->device))
        return braid_device_check_open(function, exec->device);
    if (!braid_exec_has_failed(exec))
        return BRAID_OK;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->places.num && !status; i++)
        status = braid_device_check(function, exec->places.devices[i]);
    if (braid_exec_knows_running(exec))
        status = braid_exec_add_running(exec, status);
    braid_error_end_attempt(&attempt, status);
    return status;
}

braid_status braid_exec_check(const char *function, const braid_exec *exec)
{
    if (!exec)
        return braid_error_null(function, "exec");
    braid_status status = braid_inside_check(function, exec);
    return status ? status : braid_exec_check_devices(function, exec);
}

// A launch is often the first to hear that a frame before it broke the device.
braid_status braid_exec_explain_launch(const braid_exec *exec, braid_status status)
{
    if (status != BRAID_DEVICE_ERROR || !braid_exec_knows_running(exec) ||
        !failure_is_noted(&exec->device->failure))
        return status;
    return braid_exec_add_running(exec, status);
}

braid_status braid_exec_enter(const char *function, const braid_exec *exec)
{
    braid_status status = braid_exec_check(function, exec);
    if (!status)
        device_enter(exec->device);
    return status;
}

braid_status braid_exec_check_launch(const char *function, const braid_exec *exec,
                                     const braid_stream *stream)
{
    if (stream && stream->device != exec->device)
        return braid_device_refuse_stream(function, exec->device, stream);
    struct backend *backend = exec->device->backend;
    if (!backend->ops->stream_check_launch)
        return BRAID_OK;
    return braid_exec_explain_launch(
        exec, backend->ops->stream_check_launch(backend, device_backend_stream(stream)));
}

static braid_status launch(braid_exec *exec, braid_stream *stream)
{
    braid_status status = braid_exec_check_launch("braid_exec_launch", exec, stream);
    if (status)
        return status;
    braid_exec_begin_launch(exec);
    status = braid_exec_make_room(exec);
    if (!status)
        status = braid_exec_explain_launch(exec, braid_exec_launch_frames(exec, stream, 1));
    braid_exec_await_unrecorded(exec, stream);
    braid_exec_end_launch(exec);
    return status;
}

braid_status braid_exec_launch(braid_exec *exec, braid_stream *stream)
{
    braid_status status = braid_exec_enter("braid_exec_launch", exec);
    if (status)
        return status;
    status = launch(exec, stream);
    device_leave(exec->device);
    return status;
}

static braid_status ask_all(braid_exec *exec, braid_status (*ask)(struct backend *backend,
                                                                  struct backend_event *event))
{
    braid_status status = braid_exec_ask_frames(exec, ask);
    return status ? status : braid_exec_parts_wait(exec->parts, exec);
}

// Asks for the end of the last frame. If the device failed, the message also has the tasks that
// were running, if the player knows them.
static braid_status ask_for_end(braid_exec *exec, braid_status (*ask)(struct backend *backend,
                                                                      struct backend_event *event))
{
    if (!braid_exec_knows_running(exec))
        return ask_all(exec, ask);
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = ask_all(exec, ask);
    bool failed = status && status != BRAID_NOT_READY;
    if (failed)
        status = braid_exec_add_running(exec, status);
    braid_error_end_attempt(&attempt, failed ? status : BRAID_OK);
    return status;
}

// Behind the last launch's end, where no launch has been made meanwhile: settles parts that failed
// launches left so. Takes the lock.
static void settle(braid_exec *exec)
{
    if (!exec->parts)
        return;
    pthread_mutex_lock(&exec->turn.lock);
    // While another thread waits, the parts are its own.
    if (!exec->turn.is_waiting && braid_exec_parts_are_unsettled(exec->parts) &&
        !braid_exec_ask_frames(exec, exec->device->backend->ops->event_query))
        (void)braid_exec_await_frames(exec);
    pthread_mutex_unlock(&exec->turn.lock);
}

static braid_status wait_for_all(braid_exec *exec)
{
    braid_status status = ask_for_end(exec, exec->device->backend->ops->event_synchronize);
    if (!status)
        status = braid_exec_await_launch("braid_exec_wait", exec);
    if (status)
        return status;
    settle(exec);
    return braid_exec_parts_wait(exec->parts, exec);
}

braid_status braid_exec_wait(braid_exec *exec)
{
    bool later;
    braid_status status = braid_exec_enter("braid_exec_wait", exec);
    if (status)
        return status;
    status = braid_exec_await_deadline("braid_exec_wait", exec, BRAID_LAST_FRAME, &later);
    if (!status && !later)
        status = wait_for_all(exec);
    if (!status)
        status = braid_exec_tell_traps(exec, BRAID_LAST_FRAME);
    device_leave(exec->device);
    return status;
}

braid_status braid_exec_ask(const char *function, braid_exec *exec)
{
    braid_status status = braid_exec_check_devices(function, exec);
    if (status)
        return status;
    device_enter(exec->device);
    status = ask_for_end(exec, exec->device->backend->ops->event_query);
    device_leave(exec->device);
    return !status && atomic_load(&exec->turn.is_unrecorded) ? BRAID_NOT_READY : status;
}

// Without the lock: queue calls ask on the thread that launches, which has it.
uint64_t braid_exec_num_frames(braid_exec *exec)
{
    return exec ? atomic_load(&exec->frames.num_launched) : 0;
}

uint64_t braid_exec_count_iterations(const braid_exec *exec, const struct frame_slot *slot,
                                     uint32_t loop, enum iterations which)
{
    return exec->player->num_iterations ? exec->player->num_iterations(slot->playing, loop, which)
                                        : atomic_load(&slot->frame.iterations[loop][which]);
}

// Reads the last frame's. The lock is held, so there is no launch meanwhile, and a frame that
// counts has its end recorded. A node that is left out has no number.
static braid_status read_iterations(const char *function, braid_exec *exec, uint32_t node,
                                    uint64_t *out_num)
{
    uint64_t num = braid_exec_num_frames(exec);
    if (num == 0)
        return braid_error_invalid("%s: no frame was launched", function);
    braid_status status = atomic_load(&exec->turn.is_unrecorded) ? BRAID_NOT_READY : BRAID_OK;
    if (!status) // and not the parts: a failure that they tell is for those who wait
        status = braid_exec_ask_frames(exec, exec->device->backend->ops->event_query);
    if (status)
        return status;
    const struct frame_slot *slot = &exec->frames.slots[(num - 1) % exec->frames.num];
    if (slot->is_partial)
        return braid_error_invalid("%s: a launch after the last frame failed half-way", function);
    *out_num = exec_left_out(exec, node)
                   ? 0
                   : braid_exec_count_iterations(exec, slot, tasks_loop_number(&exec->tasks, node),
                                                 ITERATIONS_OF_FRAME);
    return BRAID_OK;
}

static bool has_body(const braid_exec *exec, uint32_t node)
{
    const struct graph_node *left_out = exec_left_out(exec, node);
    return work_has_body(left_out ? (enum work_kind)left_out->own_kind
                                  : exec->tasks.items[node].kind);
}

braid_status braid_exec_get_iterations(braid_exec *exec, braid_node loop, uint64_t *out_num)
{
    static const char function[] = "braid_exec_get_iterations";
    braid_status status = braid_exec_check(function, exec);
    if (status)
        return status;
    if (!out_num)
        return braid_error_null(function, "out_num");
    if (loop.graph != exec->schedule->graph_id || loop.index >= exec->tasks.num ||
        !has_body(exec, loop.index))
        return braid_error_invalid(
            "%s: node %u of graph %u is no loop or branch of the exec's graph", function,
            loop.index, loop.graph);
    pthread_mutex_lock(&exec->turn.lock);
    status = read_iterations(function, exec, loop.index, out_num);
    pthread_mutex_unlock(&exec->turn.lock);
    return status;
}

const braid_schedule *braid_exec_schedule(const braid_exec *exec)
{
    return exec ? exec->schedule : NULL;
}

void braid_exec_get_info(const braid_exec *exec, braid_exec_info *out_info)
{
    braid_exec_info info = { 0 };
    if (exec && device_is_here(exec->device)) {
        info = exec->info;
        braid_exec_tell_memory(exec, &info);
    }
    if (out_info)
        *out_info = info;
}
