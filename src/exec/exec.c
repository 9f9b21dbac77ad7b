// SPDX-License-Identifier: Apache-2.0
// Using an exec: launch, change arguments, wait, ask.
#include "exec/exec.h"

#include <string.h>

#include "base/error.h"
#include "base/inside.h"
#include "base/node_text.h"
#include "base/sized.h"

// Also refuses what would wait for itself.
static braid_status check_exec(const char *function, const braid_exec *exec)
{
    if (!exec)
        return braid_error_null(function, "exec");
    return braid_inside_check(function, exec);
}

// Where the end of a frame cannot be recorded, nothing could wait for it later: the stream may
// belong to the program and be gone by then. So it is awaited here.
static braid_status await_unrecorded(braid_exec *exec, braid_stream *stream, braid_status status)
{
    status = braid_error(
        status, "launch on %s: the frame's end could not be recorded, so it was awaited: %s",
        exec->device->label, braid_error_message());
    braid_exec_await_or_lose(exec, stream);
    return status;
}

braid_status braid_exec_record_done(braid_exec *exec, struct frame_slot *slot, braid_stream *stream)
{
    struct backend *backend = exec->device->backend;
    braid_status status =
        backend->ops->event_record(backend, slot->done->backend, device_backend_stream(stream));
    return status ? await_unrecorded(exec, stream, status) : BRAID_OK;
}

// Of two failures the first tells what happened.
static braid_status record_done_of_failed(braid_exec *exec, braid_stream *stream,
                                          braid_status status)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    (void)braid_exec_record_done(exec, &exec->slots[0], stream);
    braid_error_end_attempt(&attempt, BRAID_OK);
    return status;
}

// Adds to the message of a device's failure what was running.
static braid_status add_running(const braid_exec *exec, braid_status status)
{
    char running[ERROR_MESSAGE_BYTES / 2];
    exec->player->describe_running(exec->slots[0].playing, running, sizeof(running));
    return braid_error(status, "%.400s; %s", braid_error_message(), running);
}

// A launch is often the first to hear that a frame before it broke the device.
braid_status braid_exec_explain_launch(const braid_exec *exec, braid_status status)
{
    struct backend *backend = exec->device->backend;
    if (status != BRAID_DEVICE_ERROR || !exec->player->describe_running)
        return status;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    bool broken = backend->ops->event_query(backend, exec->slots[0].done->backend) == status;
    braid_error_end_attempt(&attempt, BRAID_OK);
    return broken ? add_running(exec, status) : status;
}

// Before the first launch `done` was never recorded, and the wait for it is satisfied. Where
// nothing was queued, the stream may not be behind the frames before, and `done` must go on
// standing for them.
static braid_status launch_frames(braid_exec *exec, braid_stream *stream, uint32_t num_frames,
                                  bool in_rows)
{
    if (exec->num_slots > 1)
        return braid_exec_launch_frame(exec, stream);
    struct backend *backend = exec->device->backend;
    struct frame_slot *slot = &exec->slots[0];
    braid_status status = BRAID_OK;
    if (exec->player->launches_overlap || exec->times.profile.room) // times are read and zeroed
        status =
            backend->ops->stream_wait(backend, device_backend_stream(stream), slot->done->backend);
    if (status)
        return status;
    device_use_stream(stream);
    struct play_result result = { 0 };
    struct inside inside; // native calls are made on this thread
    braid_inside_begin(&inside, "a native call", exec);
    status = num_frames > 1
                 ? exec->player->launch_many(slot->playing, stream, num_frames, in_rows, &result)
                 : exec->player->launch(slot->playing, stream, &result);
    exec->times.num_launches += num_frames;
    braid_inside_end(&inside);
    if (result.lost)
        braid_exec_lose(exec, stream);
    exec->num_frames += status ? 0 : num_frames;
    if (!status)
        return braid_exec_record_done(exec, &exec->slots[0], stream);
    return result.queued ? record_done_of_failed(exec, stream, status) : status;
}

braid_status braid_exec_launch_frames(braid_exec *exec, braid_stream *stream, uint32_t num_frames,
                                      bool in_rows)
{
    return braid_exec_explain_launch(exec, launch_frames(exec, stream, num_frames, in_rows));
}

braid_status braid_exec_check_launch(const char *function, braid_exec *exec, braid_stream *stream)
{
    braid_status status = check_exec(function, exec);
    if (!status)
        status = braid_device_check_stream(function, exec->device, stream);
    if (status)
        return status;
    struct backend *backend = exec->device->backend;
    if (backend->ops->stream_check_launch)
        status = backend->ops->stream_check_launch(backend, device_backend_stream(stream));
    return braid_exec_explain_launch(exec, status);
}

braid_status braid_exec_launch(braid_exec *exec, braid_stream *stream)
{
    braid_status status = braid_exec_check_launch("braid_exec_launch", exec, stream);
    if (status)
        return status;
    braid_exec_begin_launch(exec);
    status = braid_exec_find_lost(exec, stream);
    if (!status)
        status = braid_exec_make_room(exec);
    if (!status)
        status = braid_exec_launch_frames(exec, stream, 1, false);
    braid_exec_end_launch(exec);
    return status;
}

static braid_status ask_all(braid_exec *exec, braid_status (*ask)(struct backend *backend,
                                                                  struct backend_event *event))
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->num_slots && !status; i++)
        status = ask(exec->device->backend, exec->slots[i].done->backend);
    return status;
}

// Asks for the end of the last frame. Where the device failed, the message also tells what was
// running, if the player knows.
static braid_status ask_for_end(braid_exec *exec, braid_status (*ask)(struct backend *backend,
                                                                      struct backend_event *event))
{
    if (!exec->player->describe_running)
        return ask_all(exec, ask);
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = ask_all(exec, ask);
    bool failed = status && status != BRAID_NOT_READY;
    if (failed)
        status = add_running(exec, status);
    braid_error_end_attempt(&attempt, failed ? status : BRAID_OK);
    return status;
}

braid_status braid_exec_wait(braid_exec *exec)
{
    braid_status status = check_exec("braid_exec_wait", exec);
    if (status)
        return status;
    status = ask_for_end(exec, exec->device->backend->ops->event_synchronize);
    return status ? status : braid_exec_check_lost(exec);
}

braid_status braid_exec_query(braid_exec *exec)
{
    if (!exec)
        return braid_error_null("braid_exec_query", "exec");
    braid_status status = ask_for_end(exec, exec->device->backend->ops->event_query);
    return status ? status : braid_exec_check_lost(exec);
}

uint64_t braid_exec_num_frames(braid_exec *exec)
{
    if (!exec)
        return 0;
    pthread_mutex_lock(&exec->lock);
    uint64_t num = exec->num_frames;
    pthread_mutex_unlock(&exec->lock);
    return num;
}

braid_status braid_exec_wait_frame(braid_exec *exec, uint64_t frame)
{
    braid_status status = check_exec("braid_exec_wait_frame", exec);
    if (status)
        return status;
    uint64_t num = braid_exec_num_frames(exec);
    if (frame >= num)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_exec_wait_frame: frame %llu was not launched, %llu were",
                           (unsigned long long)frame, (unsigned long long)num);
    struct backend *backend = exec->device->backend;
    const struct frame_slot *slot = &exec->slots[frame % exec->num_slots];
    status = backend->ops->event_synchronize(backend, slot->done->backend);
    return status ? status : braid_exec_check_lost(exec);
}

const braid_schedule *braid_exec_schedule(const braid_exec *exec)
{
    return exec ? exec->schedule : NULL;
}

void braid_exec_get_info_sized(const braid_exec *exec, braid_exec_info *out_info, size_t bytes)
{
    static const braid_exec_info none;
    write_sized(out_info, bytes, exec ? &exec->info : &none, sizeof(none));
}

static struct node_text name_node(const struct backend_task *task)
{
    return braid_node_text(task->node, task->name);
}

static braid_status check_kernel_node(const char *function, const braid_exec *exec, braid_node node,
                                      struct backend_launch **out_launch)
{
    braid_status status = check_exec(function, exec);
    if (status)
        return status;
    if (node.graph != exec->graph_id || node.index >= exec->tasks.num)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "%s: node %u of graph %u is not a node of the exec's graph", function,
                           node.index, node.graph);
    struct backend_task *task = &exec->slots[0].frame.tasks[node.index];
    if (task->kind != WORK_KERNEL)
        return braid_error(BRAID_INVALID_ARGUMENT, "%s: node %s is not a kernel", function,
                           name_node(task).text);
    *out_launch = &task->launch;
    return BRAID_OK;
}

static braid_status check_arg(const char *function, const braid_exec *exec, braid_node node,
                              size_t index, braid_arg arg)
{
    const struct backend_task *task = &exec->slots[0].frame.tasks[node.index];
    if (!arg.data)
        return braid_error(BRAID_INVALID_ARGUMENT, "%s: node %s: argument %zu is NULL", function,
                           name_node(task).text, index);
    if (arg.bytes != task->launch.arg_bytes[index])
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "%s: node %s: argument %zu has %u bytes, not %zu", function,
                           name_node(task).text, index, task->launch.arg_bytes[index], arg.bytes);
    return BRAID_OK;
}

static void fill_kept(braid_exec *exec, const struct frame_slot *slot, uint32_t node, void *user)
{
    (void)user;
    const struct backend_launch *launch = &slot->frame.tasks[node].launch;
    for (uint32_t i = 0; i < launch->num_args; i++)
        exec->scratch_args[i] = launch->args[i];
}

static braid_status hand_over(braid_exec *exec, struct frame_slot *slot, uint32_t node,
                              braid_exec_fill_args *fill, void *user)
{
    struct backend_task changed = slot->frame.tasks[node];
    fill(exec, slot, node, user);
    changed.launch.args = exec->scratch_args;
    return exec->player->set_bindings(slot->playing, &changed);
}

static void keep_args(braid_exec *exec, struct frame_slot *slot, uint32_t node,
                      braid_exec_fill_args *fill, void *user)
{
    const struct backend_launch *launch = &slot->frame.tasks[node].launch;
    fill(exec, slot, node, user);
    for (uint32_t i = 0; i < launch->num_args; i++)
        memmove(launch->args[i], exec->scratch_args[i], launch->arg_bytes[i]);
}

braid_status braid_exec_change_args(braid_exec *exec, uint32_t node, braid_exec_fill_args *fill,
                                    void *user)
{
    braid_status status = BRAID_OK, restored = BRAID_OK;
    uint32_t done = 0;
    while (exec->player->set_bindings && done < exec->num_slots && !status) {
        status = hand_over(exec, &exec->slots[done], node, fill, user);
        done += !status;
    }
    if (!status) {
        for (uint32_t i = 0; i < exec->num_slots; i++)
            keep_args(exec, &exec->slots[i], node, fill, user);
        return BRAID_OK;
    }
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    for (uint32_t i = 0; i < done && !restored; i++)
        restored = hand_over(exec, &exec->slots[i], node, fill_kept, NULL);
    braid_error_end_noted(&attempt, restored);
    return status;
}

// New bytes of some arguments of a node; the others stay.
struct new_args {
    size_t first, num;
    const braid_arg *args;
};

static void fill_new(braid_exec *exec, const struct frame_slot *slot, uint32_t node, void *user)
{
    const struct new_args *new_args = user;
    fill_kept(exec, slot, node, NULL);
    for (size_t i = 0; i < new_args->num; i++)
        exec->scratch_args[new_args->first + i] = (void *)(uintptr_t)new_args->args[i].data;
}

static braid_status change_args(braid_exec *exec, uint32_t node, struct new_args new_args)
{
    pthread_mutex_lock(&exec->lock);
    braid_status status = braid_exec_change_args(exec, node, fill_new, &new_args);
    pthread_mutex_unlock(&exec->lock);
    return status;
}

braid_status braid_exec_set_arg(braid_exec *exec, braid_node node, size_t index, braid_arg arg)
{
    struct backend_launch *launch = NULL;
    braid_status status = check_kernel_node("braid_exec_set_arg", exec, node, &launch);
    if (status)
        return status;
    if (index >= launch->num_args)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_exec_set_arg: node %s has %u arguments, there is no number %zu",
                           name_node(&exec->slots[0].frame.tasks[node.index]).text,
                           launch->num_args, index);
    status = check_arg("braid_exec_set_arg", exec, node, index, arg);
    return status ? status : change_args(exec, node.index, (struct new_args){ index, 1, &arg });
}

braid_status braid_exec_set_args(braid_exec *exec, braid_node node, const braid_arg *args,
                                 size_t num_args)
{
    struct backend_launch *launch = NULL;
    braid_status status = check_kernel_node("braid_exec_set_args", exec, node, &launch);
    if (status)
        return status;
    if (num_args && !args)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_exec_set_args: node %s: args is NULL",
                           name_node(&exec->slots[0].frame.tasks[node.index]).text);
    if (num_args != launch->num_args)
        return braid_error(
            BRAID_INVALID_ARGUMENT, "braid_exec_set_args: node %s has %u arguments, %zu were given",
            name_node(&exec->slots[0].frame.tasks[node.index]).text, launch->num_args, num_args);
    for (size_t i = 0; i < num_args && !status; i++)
        status = check_arg("braid_exec_set_args", exec, node, i, args[i]);
    return status ? status : change_args(exec, node.index, (struct new_args){ 0, num_args, args });
}
