// SPDX-License-Identifier: Apache-2.0
// The part that tells how many frames have ended, and when a frame was launched.
//
// Behind each frame a mark is recorded. Marks are a ring. While it has no room for a further one,
// the latest mark moves behind the new frame: then it also stands for the frames before. So no
// frame counts as ended too early, nor as launched too early. A frame whose mark cannot be
// recorded, or whose launch failed, gets none: its launch waits for it.
//
// Who asks takes no lock: launches may be stuck. The number of a mark is written behind all else of
// it, and is read before.
#include <stdatomic.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "exec/exec.h"
#include "exec/exec_parts.h"

struct mark {
    braid_event *event;          // leased
    _Atomic uint64_t num_frames; // that have ended when the event has; 0: it was never recorded
    _Atomic uint64_t launched_ns;
};

struct exec_ended {
    struct exec_part part;
    struct mark marks[EXEC_MARKS];
    _Atomic uint64_t num_marks; // so far; that of number n is n % EXEC_MARKS
    _Atomic uint64_t num_ended; // frames, as far as it was asked
};

static const struct exec_part_ops ops;

static struct exec_ended *find(const braid_exec *exec)
{
    return (struct exec_ended *)braid_exec_find_part(exec->parts, &ops);
}

// BRAID_NOT_READY: it has not passed.
static braid_status ask_mark(const braid_exec *exec, struct exec_ended *ended,
                             const struct mark *mark)
{
    struct backend *backend = exec->device->backend;
    uint64_t num = atomic_load(&mark->num_frames), before = atomic_load(&ended->num_ended);
    if (num <= before)
        return BRAID_OK;
    braid_status status = backend->ops->event_query(backend, mark->event->backend);
    while (!status && num > before &&
           !atomic_compare_exchange_weak(&ended->num_ended, &before, num))
        continue;
    return status;
}

// Frames end in launch order, so the latest mark that has passed tells of all before it.
braid_status braid_exec_ask_ended(const braid_exec *exec, uint64_t *out_num)
{
    struct exec_ended *ended = find(exec);
    uint64_t num = atomic_load(&ended->num_marks), oldest = num > EXEC_MARKS ? num - EXEC_MARKS : 0;
    braid_status status = BRAID_NOT_READY;
    for (; num > oldest && status == BRAID_NOT_READY; num--)
        status = ask_mark(exec, ended, &ended->marks[(num - 1) % EXEC_MARKS]);
    *out_num = atomic_load(&ended->num_ended);
    return status == BRAID_NOT_READY ? BRAID_OK : status;
}

uint64_t braid_exec_count_ended(const braid_exec *exec)
{
    struct error_attempt attempt;
    uint64_t num;
    braid_error_begin_attempt(&attempt);
    (void)braid_exec_ask_ended(exec, &num);
    braid_error_end_attempt(&attempt, BRAID_OK);
    return num;
}

bool braid_exec_knows_ended(const braid_exec *exec, uint64_t num)
{
    return find(exec) && braid_exec_count_ended(exec) >= num;
}

uint64_t braid_exec_launched_ns(const braid_exec *exec, uint64_t frame)
{
    const struct exec_ended *ended = find(exec);
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < EXEC_MARKS; i++) {
        const struct mark *mark = &ended->marks[i];
        if (atomic_load(&mark->num_frames) <= frame)
            continue;
        uint64_t launched_ns = atomic_load(&mark->launched_ns);
        least = launched_ns < least ? launched_ns : least;
    }
    return least;
}

static braid_status record_mark(struct exec_ended *ended, const braid_exec *exec,
                                const struct exec_launch *launch)
{
    struct backend *backend = exec->device->backend;
    uint64_t num = atomic_load(&ended->num_marks);
    braid_status status = ask_mark(exec, ended, &ended->marks[num % EXEC_MARKS]);
    if (status && status != BRAID_NOT_READY)
        return status;
    bool has_room = !status;
    struct mark *mark = &ended->marks[(has_room ? num : num - 1) % EXEC_MARKS];
    status = backend->ops->event_record(backend, mark->event->backend, launch->queue->backend);
    if (status)
        return status;
    atomic_store(&mark->launched_ns, clock_now_ns());
    atomic_store(&mark->num_frames, launch->first + launch->num_launched);
    atomic_store(&ended->num_marks, num + has_room);
    return BRAID_OK;
}

static braid_status after_launch(struct exec_part *part, braid_exec *exec,
                                 const struct exec_launch *launch)
{
    if (!launch->num_launched)
        return BRAID_OK;
    braid_status status = BRAID_OK;
    if (!launch->status)
        status = record_mark((struct exec_ended *)part, exec, launch);
    part->is_unsettled = launch->status || status;
    return status;
}

// No mark tells of the last frames.
static void settle(struct exec_part *part, braid_exec *exec)
{
    atomic_store(&((struct exec_ended *)part)->num_ended, exec->frames.num_launched);
}

static void finish(struct exec_part *part, braid_exec *exec)
{
    struct exec_ended *ended = (struct exec_ended *)part;
    for (uint32_t i = 0; i < EXEC_MARKS; i++) {
        if (ended->marks[i].event)
            braid_device_return_event(exec->device, ended->marks[i].event);
    }
    braid_free(ended);
}

static const struct exec_part_ops ops = {
    .frame_by_frame = true,
    .after_launch = after_launch,
    .settle = settle,
    .finish = finish,
};

braid_status braid_exec_add_ended(braid_exec *exec)
{
    struct exec_ended *ended = braid_allocate_zeroed(1, sizeof(*ended));
    braid_status status = BRAID_OK;
    if (!ended)
        return braid_error_no_memory("the marks behind frames");
    ended->part.ops = &ops;
    braid_exec_add_part(&exec->parts, &ended->part);
    for (uint32_t i = 0; i < EXEC_MARKS && !status; i++)
        status = braid_device_lease_event(exec->device, &ended->marks[i].event);
    return status;
}
