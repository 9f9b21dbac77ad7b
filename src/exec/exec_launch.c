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
#include "base/ranges.h"
#include "exec/exec.h"

static braid_status wait(braid_exec *exec, braid_stream *stream, const braid_event *event)
{
    struct backend *backend = exec->device->backend;
    return backend->ops->stream_wait(backend, device_backend_stream(stream), event->backend);
}

// The fork that the last launch on the stream began behind, if nothing was queued there since.
static braid_event *find_fork(const braid_exec *exec, const braid_stream *stream, uint64_t uses)
{
    if (!stream || atomic_load_explicit(&stream->exposed, memory_order_relaxed))
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
        status = backend->ops->event_record(backend, behind->backend,
                                            device_backend_stream(launch->stream));
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
    braid_status status = backend->ops->event_record(backend, slot->done->backend,
                                                     device_backend_stream(launch->queue));
    if (status)
        return braid_error(
            status, "launch on %s: the frame's end could not be recorded, so it was awaited: %s",
            exec->device->label, braid_error_message());
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

// A frame that failed half-way keeps its slot: the next one is queued behind its queued part. If
// nothing was queued, the stream may not be behind the frames before, and `done` goes on standing
// for them.
braid_status braid_exec_launch_frames(braid_exec *exec, braid_stream *stream, uint32_t num_frames)
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
