// SPDX-License-Identifier: Apache-2.0
// Parts of an exec take part in its launches and waits, besides the frames themselves.
//
// The launch does not know which parts there are. It calls each in the order in which they were
// added. An exec adds its parts in one fixed order.
#ifndef BRAID_EXEC_EXEC_PART_H
#define BRAID_EXEC_EXEC_PART_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/exec.h>

struct frame;
struct frame_slot;

// One launch of one frame or of several in a row.
struct exec_launch {
    braid_stream *stream;              // the caller's
    braid_stream *queue;               // the frames run and end on it: the slot's, or the caller's
    struct frame_slot *slot, *before;  // the first frame's, and that of the frame before it
    uint64_t first;                    // number of the first frame
    uint32_t num_frames, num_launched; // num_launched is 0 until the player has taken the frames
    bool queued;                       // something of the frames is queued
    uint64_t uses;                     // the uses of `stream`, before the launch
    braid_status status;               // tells of the steps so far
};

struct exec_part;

// All but `frame_by_frame` are optional.
struct exec_part_ops {
    bool frame_by_frame; // each frame has a launch of its own
    // Before a player is made that plays this frame, the first of the exec. If a part fails, no
    // other player is tried.
    braid_status (*meet)(struct exec_part *part, braid_exec *exec, const struct frame *frame);
    // Before anything of the launch is queued, with the lock held. If a part fails, nothing of the
    // launch is queued.
    braid_status (*before_launch)(struct exec_part *part, braid_exec *exec,
                                  const struct exec_launch *launch);
    // For each part whose before_launch succeeded, with the lock held. The frames are queued, or
    // the launch has failed (launch->status). Their end is recorded on launch->queue next, behind
    // the end of the frame before. If a part fails, the launch waits for the frames.
    braid_status (*after_launch)(struct exec_part *part, braid_exec *exec,
                                 const struct exec_launch *launch);
    // Behind each launch, with the lock held: the ends of its frames are recorded, or were awaited.
    void (*end_launch)(struct exec_part *part);
    // By a wait or query that found that all frames have ended. It does not block, and it may run
    // on several threads. Errors: failures of these frames that the part knows.
    braid_status (*wait)(struct exec_part *part, braid_exec *exec);
    // Once all frames have ended, if the part is unsettled. No launch is under way, and the lock is
    // not held.
    void (*settle)(struct exec_part *part, braid_exec *exec);
    // Frees the part. No frame is in flight.
    void (*finish)(struct exec_part *part, braid_exec *exec);
};

// Each kind of part embeds it first.
struct exec_part {
    const struct exec_part_ops *ops;
    struct exec_part *next;
    bool has_begun; // in the launch at hand
    // Guarded by the exec's lock. after_launch sets it if a failed launch has left something: the
    // next launch waits for all frames, and settles it before.
    bool is_unsettled;
    bool has_failed; // to meet the first frame
};

// A list of parts is an exec's, which owns them from then on.
void braid_exec_add_part(struct exec_part **parts, struct exec_part *part);
// NULL: the exec has no such part.
struct exec_part *braid_exec_find_part(struct exec_part *parts, const struct exec_part_ops *ops);
// Finishes the part, if there is one.
void braid_exec_drop_part(struct exec_part **parts, braid_exec *exec,
                          const struct exec_part_ops *ops);
// The last one first.
void braid_exec_drop_parts(struct exec_part **parts, braid_exec *exec);

// Whether some part has each frame launched by itself.
bool braid_exec_parts_need_each_frame(const struct exec_part *parts);

// Whether some part has failed to meet the first frame.
bool braid_exec_parts_have_failed(const struct exec_part *parts);

// Each calls an operation of all parts. Errors: those of the first part that fails.
braid_status braid_exec_parts_meet(struct exec_part *parts, braid_exec *exec,
                                   const struct frame *frame);
braid_status braid_exec_parts_before(struct exec_part *parts, braid_exec *exec,
                                     const struct exec_launch *launch);
braid_status braid_exec_parts_after(struct exec_part *parts, braid_exec *exec,
                                    const struct exec_launch *launch);
void braid_exec_parts_end_launch(struct exec_part *parts);
braid_status braid_exec_parts_wait(struct exec_part *parts, braid_exec *exec);
bool braid_exec_parts_are_unsettled(const struct exec_part *parts);
void braid_exec_parts_settle(struct exec_part *parts, braid_exec *exec);

#endif
