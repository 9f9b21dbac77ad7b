// SPDX-License-Identifier: Apache-2.0
// What the tasks of one frame are given: memory for the values that are bound, and the tasks with
// those values in them. Every frame that may be in flight has its own.
#ifndef BRAID_PROGRAM_FRAME_H
#define BRAID_PROGRAM_FRAME_H

#include "program/host_calls.h"
#include "program/tasks.h"

struct frame {
    unsigned char *slots[TASK_NUM_SLOTS];
    void **args;                // of all kernels, node by node: pointers into slots
    struct backend_task *tasks; // by node index, ready to be submitted
    uint32_t num_tasks;
    struct backend *backend;     // of place 0
    const struct places *places; // as those of its tasks
    uint64_t num_launches;       // of this frame's slot, begun so far
    struct host_calls host_calls;
    struct backend_task *replaced; // whose detours frames in flight may still use
    uint32_t num_replaced, room_replaced;
    uint64_t *changed_at; // by task: num_launches when it got its detour; NULL: none has changed
};

// `arenas` are the memory of each place for the frame's transient buffers, which outlives it; NULL
// where there are none. `number` is the frame's, of which it has the versions.
// Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR (the memory of a copy could not be asked about).
braid_status braid_frame_create(const struct tasks *tasks, unsigned char *const *arenas,
                                uint64_t number, struct frame *out_frame);
// No frame is in flight.
void braid_frame_finish(struct frame *frame);

// Reads the values of a task anew, after bytes of a slot have changed. The caller keeps a copy of
// the task as it was, and then either settles or takes back the change. Errors, with the task as it
// was: BRAID_INVALID_ARGUMENT (a value that the graph would not have taken), BRAID_NO_MEMORY,
// BRAID_DEVICE_ERROR.
braid_status braid_frame_change(const struct tasks *tasks, struct frame *frame, uint32_t task);

// The change stands: what only the old task had is kept for frames in flight, if it was launched.
void braid_frame_settle(struct frame *frame, const struct backend_task *old);

// A task is the frame's again, instead of the one that is; the caller has put back the bytes that
// it was made of, and keeps the other one until the player has this one, too.
void braid_frame_put(const struct tasks *tasks, struct frame *frame,
                     const struct backend_task *task);
// Frees what only such another one had, which no launch has seen.
void braid_frame_discard(const struct frame *frame, struct backend_task *unused);

// Frees the first `num` of what was kept for frames in flight, which have ended.
void braid_frame_free_replaced(struct frame *frame, uint32_t num);

// The address that a node is given of a version by the frame of that number.
static inline const void *frame_version(const struct tasks *tasks,
                                        const struct task_version *version, uint64_t number)
{
    uint64_t which = (number + version->num - version->frames_before) % version->num;
    return (const char *)tasks->version_memory[version->first + which] + version->memory_offset;
}

#endif
