// SPDX-License-Identifier: Apache-2.0
// The part that tells the program when a frame has ended.

#include <stdatomic.h>
#include <time.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"
#include "exec/exec.h"

struct exec_end {
    struct exec_part part;
    braid_frame_function *call;
    void *user;
    _Atomic uint64_t num_begun; // frames told of
    _Atomic uint64_t num_told;  // calls that have ended, written last by each
};

// Frames end in the order of launches, and so are told of.
static void tell_end(void *user)
{
    struct exec_end *end = user;
    struct inside inside;
    braid_inside_begin(&inside, "a frame's callback", NULL);
    end->call(atomic_fetch_add(&end->num_begun, 1), end->user);
    braid_inside_end(&inside);
    atomic_fetch_add_explicit(&end->num_told, 1, memory_order_release);
}

// The callback is behind that of the frame before, on any stream. A queue of the slot's own is
// behind the end of that frame already.
static braid_status queue_call(struct exec_end *end, braid_exec *exec,
                               const struct exec_launch *launch)
{
    struct backend *backend = exec->device->backend;
    struct backend_stream *queue = launch->queue->backend;
    const struct backend_task task = {
        .kind = WORK_HOST,
        .name = "frame's callback",
        .node = BACKEND_NO_NODE,
        .host = { .call = tell_end, .user = end },
    };
    braid_status status = BRAID_OK;
    if (!launch->slot->queue)
        status = backend->ops->stream_wait(backend, queue, launch->before->done->backend);
    return status ? status : backend->ops->submit(backend, queue, &task);
}

static braid_status after_launch(struct exec_part *part, braid_exec *exec,
                                 const struct exec_launch *launch)
{
    if (!launch->num_launched)
        return BRAID_OK;
    braid_status status =
        launch->status ? BRAID_OK : queue_call((struct exec_end *)part, exec, launch);
    part->is_unsettled = launch->status || status;
    if (!status)
        return BRAID_OK;
    return braid_error(status,
                       "launch on %s: the frame's callback could not be queued, so the frame's end "
                       "was awaited: %s",
                       exec->device->label, braid_error_get_message());
}

// The device has told of all frames whose callback was queued. Only the last ones can be left.
static void settle(struct exec_part *part, braid_exec *exec)
{
    struct exec_end *end = (struct exec_end *)part;
    while (atomic_load(&end->num_begun) < exec->frames.num_launched)
        tell_end(end);
}

// If the device has failed, a call may still run on a thread of the driver.
static void finish(struct exec_part *part, braid_exec *exec)
{
    struct exec_end *end = (struct exec_end *)part;
    const struct timespec pause = { .tv_nsec = 50000 };
    (void)exec;
    while (atomic_load_explicit(&end->num_told, memory_order_acquire) <
           atomic_load(&end->num_begun))
        nanosleep(&pause, NULL);
    braid_free(end);
}

static const struct exec_part_ops ops = {
    .frame_by_frame = true,
    .after_launch = after_launch,
    .settle = settle,
    .finish = finish,
};

braid_status braid_exec_add_end(braid_exec *exec, const braid_exec_options *options)
{
    if (!options->on_frame_end)
        return BRAID_OK;
    struct exec_end *end = braid_allocate_zeroed(1, sizeof(*end));
    if (!end)
        return braid_error_no_memory("an exec");
    *end = (struct exec_end){ .part.ops = &ops,
                              .call = options->on_frame_end,
                              .user = options->on_frame_end_user };
    braid_exec_add_part(&exec->parts, &end->part);
    return BRAID_OK;
}
