// SPDX-License-Identifier: Apache-2.0
// The tasks of one frame with their values in them, resolved from the value table (tasks.h). Every
// frame that may be in flight has its own.
#ifndef BRAID_TASKS_FRAME_H
#define BRAID_TASKS_FRAME_H

#include <stdatomic.h>

#include "base/note.h"
#include "base/store.h"
#include "device/backend.h"
#include "tasks/tasks.h"

// The counts of a loop's iterations, or of how often the first arm of a branch ran.
enum iterations { ITERATIONS_OF_FRAME, ITERATIONS_SINCE_ENTRY, NUM_ITERATIONS };

// The record of a call, which a backend gets by reference.
struct host_call {
    struct host_call *next;
    struct work_host work;
    _Atomic uint64_t num_begun;
    _Atomic uint64_t num_run; // written last by the call
};

// The calls that no frame uses.
struct host_calls {
    struct host_call *first;
};

// A node's trap. Who drives a loop notes the iteration, from 1, in which it first saw a code.
struct frame_trap {
    braid_trap trap; // first: a kernel has its address
    _Atomic uint64_t iteration;
};

static inline bool frame_trap_is_set(const struct frame_trap *trap)
{
    return atomic_load_explicit((const _Atomic uint32_t *)&trap->trap.code, memory_order_acquire);
}

struct frame {
    unsigned char *arguments;   // all kernels', laid out as in the master copy
    unsigned char *room;        // for the arguments of any one task
    void **args;                // all kernels', node by node: pointers into arguments
    struct backend_task *tasks; // by node index, ready to be submitted
    struct note *notes;       // as many, and a last row whose first word says whether the exec was
                              // cancelled; NULL: there is no black box
    struct frame_trap *traps; // by number
    uint32_t num_tasks;
    struct backend *backend;            // at place 0
    const struct places *places;        // as those of its tasks
    unsigned char *arenas[MOST_PLACES]; // by place; NULL: there is none
    uint64_t num_launches;              // this slot's launches, begun so far
    // By loop, of the frame at hand, or of the last one.
    _Atomic uint64_t (*iterations)[NUM_ITERATIONS];
    struct host_calls host_calls;
    struct backend_task *replaced; // whose detours and host calls frames in flight may still use
    uint32_t num_replaced, room_replaced;
    uint64_t *changed_at; // by task: num_launches when it was replaced; NULL: none was
    struct store store;   // holds the arrays
};

// The words of a black box on a place. NULL: there are none.
struct box_words {
    uint32_t *cancelled;    // see backend_task
    uint64_t *block_counts; // for the frame's tasks
};

// `arenas` are the memory of each place for the frame's transient buffers, which outlives it; NULL
// where there are none. `number` is the frame's, of which it has the versions. `notes` are zeros,
// one more than tasks; NULL: there is no black box. `words` are zeros of each place. `traps` are
// zeros, too. All outlive the frame. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR (the memory of a
// copy could not be asked about).
braid_status braid_frame_create(const struct tasks *tasks, unsigned char *const *arenas,
                                uint64_t number, struct note *notes, const struct box_words *words,
                                struct frame_trap *traps, struct frame *out_frame);
// Has the backend look at a task: it makes the detour of a copy, which depends on the frame's
// memory, and checks a kernel.
braid_status braid_frame_prepare(const struct frame *frame, struct backend_task *task);
// No frame is in flight.
void braid_frame_finish(struct frame *frame);

// Gives a task the values of the table for the frame of that number. Frames in flight keep the
// objects that only the task before had. *out_changed: the values differ from those before. Errors:
// BRAID_NO_MEMORY, BRAID_DEVICE_ERROR; then the task is as it was.
braid_status braid_frame_resolve(const struct tasks *tasks, struct frame *frame, uint32_t task,
                                 uint64_t number, bool *out_changed);

// Frees the first `num` objects that were kept for frames in flight, which have ended.
void braid_frame_free_replaced(struct frame *frame, uint32_t num);

#endif
