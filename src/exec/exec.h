// SPDX-License-Identifier: Apache-2.0
// The inside of an exec: a schedule, its program, a player, and what each frame in flight has.
#ifndef BRAID_EXEC_EXEC_H
#define BRAID_EXEC_EXEC_H

#include <pthread.h>

#include <braid/exec.h>

#include "device/kept.h"
#include "exec/exec_params.h"
#include "exec/exec_times.h"
#include "program/player.h"

// A frame that may be in flight. There is one so far: the next launch is queued behind the last,
// which the player does or `done`.
struct frame_slot {
    struct frame frame;
    struct playing *playing;
    void *memory;         // of the device; NULL: the graph has no transient buffers
    unsigned char *arena; // in it
    braid_event *done;    // leased; its latest record is behind every frame of the slot
};

struct braid_exec {
    braid_device *device;
    uint32_t graph_id; // whose node handles it takes
    braid_schedule *schedule;
    struct tasks tasks;
    struct program program;
    const struct player *player;
    struct frame_slot slot;
    uint64_t arena_alignment;
    struct exec_params params; // its room is guarded by lock
    struct exec_times times;   // guarded by lock, but for its room
    void **scratch_args;       // as many as any node has, for changing arguments
    pthread_mutex_t lock;      // guards launches and the slot
    braid_exec_info info;      // constant once the exec is made
    struct kept kept;          // once destroyed, where its frames could not be told to have ended
    // Guarded by lock: some frame's end could be neither recorded nor awaited, so that `done` does
    // not stand for it, and the stream it was launched on. See exec_lost.c.
    bool lost;
    braid_stream *lost_stream; // never looked at, only compared: it may be gone
};

// Waits for the frame just queued on `stream`, since no event can be recorded on it: the message
// tells why, and stays. Where that fails as well, the frame is lost.
void braid_exec_await_or_lose(braid_exec *exec, braid_stream *stream);
void braid_exec_lose(braid_exec *exec, braid_stream *stream);

// Before a launch on `stream`, with the lock held: waits for a lost frame, if it was on this stream
// too. Errors: BRAID_DEVICE_ERROR, and the frame is still lost.
braid_status braid_exec_find_lost(braid_exec *exec, braid_stream *stream);

// BRAID_DEVICE_ERROR where a frame is lost. Takes the lock.
braid_status braid_exec_check_lost(braid_exec *exec);

// Whether all frames have ended, as far as the device tells. With `wait` it waits for them, twice
// where that fails. The exec is used by nobody else. `drained`: see kept.h.
bool braid_exec_is_idle(braid_exec *exec, bool wait, bool drained);

// Hands the player the arguments in scratch_args, and keeps their bytes only if it took them. The
// caller holds the lock.
braid_status braid_exec_take_args(braid_exec *exec, uint32_t node);

#endif
