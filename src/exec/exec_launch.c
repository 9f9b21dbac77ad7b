// SPDX-License-Identifier: Apache-2.0
// Launching frames: each is queued behind the caller's stream, played, and its end is recorded.
//
// With one frame in flight a frame runs on the caller's stream, behind the end of the frame before.
// With several, or with a priority, each slot has a stream of its own, its queue: see
// exec_frames.c. A frame is played there behind a fork from the caller's stream, and the caller's
// stream waits for its end. The queue waits for the end of the frame before, so that frames end in
// launch order.
//
// Behind a launch the caller's stream is blocked until the frame has ended. A next launch on it
// with nothing queued between takes the fork of the one before, and so overlaps it.
#include "base/error.h"
#include "base/inside.h"
#include "base/node_text.h"
#include "base/ranges.h"
#include "base/sized.h"
#include "exec/exec_memory.h"
#include "exec/exec_times.h"

// ---- launches ----

static braid_status wait(braid_exec *exec, braid_stream *stream, const braid_event *event)
{
    struct backend *backend = exec->device->backend;
    return backend->ops->stream_wait(backend, stream->backend, event->backend);
}

// The fork that the last launch on the stream began behind, if nothing was queued there since.
static braid_event *find_fork(const braid_exec *exec, const braid_stream *stream, uint64_t uses)
{
    if (atomic_load_explicit(&stream->exposed, memory_order_relaxed))
        return NULL;
    for (uint32_t i = 0; i < exec->frames.num; i++) {
        const struct frame_slot *slot = &exec->frames.slots[i];
        if (slot->launched_on == stream && slot->launched_uses == uses)
            return slot->began_behind;
    }
    return NULL;
}

// A fork that is recorded anew is no longer the one that frames of other slots began behind.
static void forget_fork(braid_exec *exec, const braid_event *fork)
{
    for (uint32_t i = 0; i < exec->frames.num; i++) {
        if (exec->frames.slots[i].began_behind == fork)
            exec->frames.slots[i].launched_on = NULL;
    }
}

static braid_status fork_queue(braid_exec *exec, const struct exec_launch *launch)
{
    struct backend *backend = exec->device->backend;
    struct frame_slot *slot = launch->slot;
    braid_event *behind = find_fork(exec, launch->stream, launch->uses);
    braid_status status = BRAID_OK;
    slot->launched_on = NULL;
    if (!behind) {
        behind = slot->fork;
        forget_fork(exec, behind);
        status = backend->ops->event_record(backend, behind->backend, launch->stream->backend);
    }
    if (!status)
        status = wait(exec, slot->queue, behind);
    slot->began_behind = behind;
    return status;
}

// Before the first launch `done` was never recorded, and the wait for it is satisfied. With several
// slots, each one's queue orders its launches.
static braid_status order_begin(braid_exec *exec, const struct exec_launch *launch)
{
    bool overlaps = exec->frames.num == 1 && launch->slot->playing->overlaps;
    braid_status status = launch->slot->queue ? fork_queue(exec, launch) : BRAID_OK;
    if (!status && (exec->frames.behind_last || overlaps))
        status = wait(exec, launch->queue, launch->before->done);
    return status;
}

static braid_status play(braid_exec *exec, struct exec_launch *launch)
{
    struct play_result result = { 0 };
    struct frame_slot *slot = launch->slot;
    slot->frame.num_launches += launch->num_frames;
    struct inside inside; // queue calls are made on this thread
    braid_inside_begin(&inside, "a queue call", exec);
    ranges_begin("braid frame");
    braid_status status =
        launch->num_frames > 1
            ? exec->player->launch_many(slot->playing, launch->queue, launch->num_frames, &result)
            : exec->player->launch(slot->playing, launch->queue, &result);
    ranges_end();
    braid_inside_end(&inside);
    if (result.unjoined)
        atomic_store(&exec->turn.is_unrecorded, true);
    launch->queued = !status || result.queued;
    if (launch->queued)
        slot->is_partial = status;
    launch->num_launched = status ? 0 : launch->num_frames;
    exec->frames.num_launched += launch->num_launched;
    return status;
}

static braid_status order_end(braid_exec *exec, struct exec_launch *launch)
{
    return launch->slot->queue ? wait(exec, launch->queue, launch->before->done) : BRAID_OK;
}

static braid_status tell_parts(braid_exec *exec, struct exec_launch *launch)
{
    return braid_exec_parts_after(exec->parts, exec, launch);
}

// If the end of a frame cannot be recorded, the launch waits for it. Nothing could wait for it
// later: the stream may belong to the program and be gone by then.
//
// If other threads queued something on the stream meanwhile, it may be behind the fork: then no
// later frame begins there.
static braid_status record_end(braid_exec *exec, struct exec_launch *launch)
{
    struct backend *backend = exec->device->backend;
    struct frame_slot *slot = launch->slot;
    bool is_alone = device_use_stream(launch->stream) == launch->uses;
    braid_status status =
        backend->ops->event_record(backend, slot->done->backend, launch->queue->backend);
    if (status)
        return braid_error(
            status, "launch on %s: the frame's end could not be recorded, so it was awaited: %s",
            exec->device->label, braid_error_get_message());
    braid_exec_mark_replaced(exec, slot, launch->queue);
    if (slot->queue)
        status = wait(exec, launch->stream, slot->done);
    if (!status && !launch->status && is_alone) {
        slot->launched_on = launch->stream;
        slot->launched_uses = launch->uses + 1;
    }
    return status;
}

// A step behind the player's launch is taken in any case. Of two failures the first is told. If a
// step fails, nothing tells of the end of queued work, so the launch waits for it.
static void then(braid_exec *exec, struct exec_launch *launch,
                 braid_status (*step)(braid_exec *exec, struct exec_launch *launch))
{
    struct error_attempt attempt;
    if (launch->status)
        braid_error_begin_attempt(&attempt);
    braid_status status = step(exec, launch);
    if (launch->status)
        braid_error_end_attempt(&attempt, BRAID_OK);
    if (status && launch->queued)
        atomic_store(&exec->turn.is_unrecorded, true);
    launch->status = launch->status ? launch->status : status;
}

// exec_launch.c: queues frames that the player launches at once, with the lock held, and records
// their end.
// A frame that failed half-way keeps its slot: the next one is queued behind its queued part. If
// nothing was queued, the stream may not be behind the frames before, and `done` goes on standing
// for them.
static braid_status exec_launch_frames(braid_exec *exec, braid_stream *stream, uint32_t num_frames)
{
    uint64_t number = exec->frames.num_launched, num = exec->frames.num;
    struct frame_slot *slot = &exec->frames.slots[number % num];
    struct exec_launch launch = {
        .stream = stream,
        .queue = slot->queue ? slot->queue : stream,
        .slot = slot,
        .before = &exec->frames.slots[(number + num - 1) % num],
        .first = number,
        .num_frames = num_frames,
    };
    launch.status = braid_exec_update(exec, slot, number, 0);
    if (launch.status)
        return launch.status;
    launch.uses = device_stream_uses(stream);
    launch.status = braid_exec_parts_before(exec->parts, exec, &launch);
    if (!launch.status)
        launch.status = order_begin(exec, &launch);
    if (!launch.status)
        launch.status = play(exec, &launch);
    if (launch.queued)
        then(exec, &launch, order_end);
    then(exec, &launch, tell_parts);
    if (launch.queued)
        then(exec, &launch, record_end);
    return launch.status;
}

// ---- checks, waits and questions ----

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

// Whether a launch's stream is of the exec's device, and takes one. `function` is for the message.
static braid_status exec_check_launch(const char *function, const braid_exec *exec,
                                      const braid_stream *stream, bool *out_captures)
{
    struct backend *backend = exec->device->backend;
    braid_status status = braid_device_check_stream(function, exec->device, stream);
    if (!status && exec->player->is_driven && stream->backend && stream->backend->wrapped)
        status = braid_error(BRAID_UNSUPPORTED,
                             "%s: the host drives loops, and no work of your program's own stream "
                             "would wait for it: launch on a stream that Braid made",
                             function);
    if (!status && exec->memory.pool)
        status = exec->memory.pool->check_launch(exec->memory.pool, function);
    if (status || !backend->ops->stream_check_launch)
        return status;
    status = backend->ops->stream_check_launch(backend, stream->backend, out_captures);
    return braid_exec_explain_launch(exec, status);
}

static void end_launch(braid_exec *exec, braid_stream *stream)
{
    braid_exec_await_unrecorded(exec, stream);
    braid_exec_parts_end_launch(exec->parts);
    braid_exec_end_launch(exec);
}

static braid_status launch_one(braid_exec *exec, braid_stream *stream)
{
    bool captures = false;
    braid_status status = exec_check_launch("braid_exec_launch", exec, stream, &captures);
    if (status || captures)
        return status ? status : braid_exec_launch_captured(exec, stream);
    braid_exec_begin_launch(exec);
    status = braid_exec_make_room(exec);
    if (!status)
        status = braid_exec_explain_launch(exec, exec_launch_frames(exec, stream, 1));
    end_launch(exec, stream);
    return status;
}

braid_status braid_exec_launch(braid_exec *exec, braid_stream *stream)
{
    EXEC_MEMORY(exec);
    braid_status status = braid_exec_enter("braid_exec_launch", exec);
    if (status)
        return status;
    status = launch_one(exec, device_stream(exec->device, stream));
    device_leave(exec->device);
    return status;
}

static braid_status ask_all(braid_exec *exec, exec_ask *ask)
{
    braid_status status = braid_exec_ask_frames(exec, ask);
    for (uint32_t i = 0; i < exec->frames.num && !status; i++)
        status = braid_exec_tell_failure(exec, &exec->frames.slots[i]);
    return status ? status : braid_exec_parts_wait(exec->parts, exec);
}

// Asks for the end of the last frame. If the device failed, the message also has the tasks that
// were running, if the player knows them.
static braid_status ask_for_end(braid_exec *exec, exec_ask *ask)
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
    EXEC_MEMORY(exec);
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
uint64_t braid_exec_get_num_launched(braid_exec *exec)
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
    uint64_t num = braid_exec_get_num_launched(exec);
    if (num == 0)
        return braid_error(BRAID_WRONG_STATE, "%s: no frame was launched", function);
    braid_status status = atomic_load(&exec->turn.is_unrecorded) ? BRAID_NOT_READY : BRAID_OK;
    if (!status) // and not the parts: a failure that they tell is for those who wait
        status = braid_exec_ask_frames(exec, exec->device->backend->ops->event_query);
    if (status)
        return status;
    const struct frame_slot *slot = &exec->frames.slots[(num - 1) % exec->frames.num];
    if (slot->is_partial)
        return braid_error(BRAID_WRONG_STATE, "%s: a launch after the last frame failed half-way",
                           function);
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
    EXEC_MEMORY(exec);
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

const braid_schedule *braid_exec_get_schedule(const braid_exec *exec)
{
    return exec ? exec->schedule : NULL;
}

void braid_exec_get_info_sized(const braid_exec *exec, braid_exec_info *out_info, size_t size)
{
    braid_exec_info info = { .reason = "", .frames_reason = "" };
    if (exec && device_is_here(exec->device)) {
        info = exec->info;
        info.reason = exec->texts.reason;
        info.frames_reason = exec->texts.frames_reason;
        braid_exec_tell_memory(exec, &info);
    }
    braid_sized_give(&info, sizeof(info), out_info, size);
}

// ---- several frames by one call ----

struct many {
    braid_stream *stream;
    size_t num_frames;
    const braid_parameter_rows *rows;
    size_t num_rows;
};

static braid_status check_rows(const braid_exec *exec, const struct many *many)
{
    static const char function[] = "braid_exec_launch_many";
    const struct exec_params *params = &exec->params;
    if (many->num_rows && !many->rows)
        return braid_error_null(function, "rows");
    for (size_t i = 0; i < many->num_rows; i++) {
        const braid_parameter_rows *rows = &many->rows[i];
        braid_status status = braid_exec_check_param(function, exec, rows->parameter);
        if (status)
            return status;
        uint32_t index = rows->parameter.index;
        const char *name = braid_names_at(&params->names, params->name[index]);
        if (rows->num != many->num_frames)
            return braid_error_invalid("%s: parameter %s has rows for %zu frames, not %zu",
                                       function, braid_node_text(index, name).text, rows->num,
                                       many->num_frames);
        if (!rows->values && rows->num)
            return braid_error_null(function, "values");
    }
    return BRAID_OK;
}

static braid_status put_rows(braid_exec *exec, const struct many *many, size_t frame)
{
    for (size_t i = 0; i < many->num_rows; i++) {
        uint32_t index = many->rows[i].parameter.index;
        const unsigned char *values = many->rows[i].values;
        braid_status status =
            braid_exec_put_param(exec, index, values + frame * exec->params.bytes[index]);
        if (status)
            return status;
    }
    return BRAID_OK;
}

// As many frames as one launch of the player's may have, but no more than *num_frames.
static void limit(const braid_exec *exec, const struct many *many, uint32_t *num_frames)
{
    uint32_t most = 1;
    bool differ = exec->frames.version_period > 1 || braid_exec_parts_need_each_frame(exec->parts);
    if (exec->player->most_frames && exec->frames.num == 1 && !differ)
        most = exec->player->most_frames(exec->frames.slots[0].playing, many->num_rows > 0);
    *num_frames = *num_frames < most ? *num_frames : most;
}

// Some frames by one launch of the player's: *num_frames or fewer.
static braid_status launch_some(braid_exec *exec, const struct many *many, size_t first,
                                uint32_t *num_frames)
{
    limit(exec, many, num_frames);
    // Before its row is put in place: while this waits, others may set the parameter.
    braid_status status = braid_exec_make_room(exec);
    if (!status && *num_frames > 1)
        status = exec->player->update(exec->frames.slots[0].playing, NULL, 0, 0);
    for (uint32_t i = 0; i < *num_frames && many->num_rows && !status; i++) {
        status = put_rows(exec, many, first + i);
        if (!status && *num_frames > 1)
            status = braid_exec_update(exec, &exec->frames.slots[0], exec->frames.num_launched, i);
        if (i == 0)
            limit(exec, many, num_frames); // a node's change may leave room for fewer
        if (!status && *num_frames > 1)
            braid_exec_note_disabled(exec, exec->frames.num_launched + i, 1);
    }
    if (status)
        return braid_exec_explain_launch(exec, status);
    uint64_t number = exec->frames.num_launched;
    status = exec_launch_frames(exec, many->stream, *num_frames);
    if (!many->num_rows)
        braid_exec_note_disabled(exec, number, *num_frames);
    return braid_exec_explain_launch(exec, status);
}

static braid_status launch_all(braid_exec *exec, const struct many *many)
{
    size_t num_frames = many->num_frames;
    for (size_t done = 0; done < num_frames;) {
        size_t left = num_frames - done;
        uint32_t num = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
        braid_status status = launch_some(exec, many, done, &num);
        if (status && num == 1)
            return braid_error(status, "frame %zu of %zu: %s", done, num_frames,
                               braid_error_get_message());
        if (status)
            return braid_error(status, "frames %zu to %zu of %zu: %s", done, done + num - 1,
                               num_frames, braid_error_get_message());
        done += num;
    }
    return BRAID_OK;
}

// The message of a frame is told once, with its number.
static braid_status launch_many(braid_exec *exec, const struct many *many)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = launch_all(exec, many);
    braid_error_end_attempt(&attempt, status);
    return status;
}

static braid_status launch_in_turn(braid_exec *exec, const struct many *many)
{
    braid_status status = exec_check_launch("braid_exec_launch_many", exec, many->stream,
                                            many->num_frames ? NULL : &(bool){ 0 });
    if (!status)
        status = check_rows(exec, many);
    if (status || many->num_frames == 0)
        return status;
    braid_exec_begin_launch(exec);
    status = launch_many(exec, many);
    end_launch(exec, many->stream);
    return status;
}

braid_status braid_exec_launch_many(braid_exec *exec, braid_stream *stream, size_t num_frames,
                                    const braid_parameter_rows *rows, size_t num_rows)
{
    EXEC_MEMORY(exec);
    braid_status status = braid_exec_enter("braid_exec_launch_many", exec);
    if (status)
        return status;
    const struct many many = { device_stream(exec->device, stream), num_frames, rows, num_rows };
    status = launch_in_turn(exec, &many);
    device_leave(exec->device);
    return status;
}
