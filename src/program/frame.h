// SPDX-License-Identifier: Apache-2.0
// What the tasks of one frame are given: memory for the values that are bound, and the tasks with
// those values in them. Every frame that may be in flight has its own.
#ifndef BRAID_PROGRAM_FRAME_H
#define BRAID_PROGRAM_FRAME_H

#include "program/tasks.h"

struct frame {
    unsigned char *slots[TASK_NUM_SLOTS];
    void **args;                // of all kernels, node by node: pointers into slots
    struct backend_task *tasks; // by node index, ready to be submitted
    uint32_t num_tasks;
    struct backend *backend;
};

// `arena` is the device's memory for the frame's transient buffers, which outlives it.
// Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR (the memory of a copy could not be asked about).
braid_status braid_frame_create(const struct tasks *tasks, unsigned char *arena,
                                struct frame *out_frame);
void braid_frame_finish(struct frame *frame);

// Reads the bound values of a task anew, after the bytes of a slot have changed.
void braid_frame_resolve(const struct tasks *tasks, struct frame *frame, uint32_t task);

#endif
