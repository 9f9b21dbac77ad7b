// SPDX-License-Identifier: Apache-2.0
// A player: one way to play a plan's program on a device.
//
// A backend lists its players, best first (backend.h); an exec has one of them play. One more
// player is a folder and a row in the lists of src/backends (players.h).
#ifndef BRAID_TASKS_PLAYER_H
#define BRAID_TASKS_PLAYER_H

#include "base/running.h"
#include "device/places.h"
#include "tasks/frame.h"
#include "tasks/profile.h"
#include "tasks/program_tasks.h"

// A program that a player has prepared for one frame at a time: a playing. Players embed it first.
struct playing {
    uint32_t num_streams, num_events;       // leased from the device
    uint32_t num_islands, num_island_nodes; // kernels that are islands, and their calls
    uint32_t num_prefetches;                // kernels that fetch inputs of the next one
    // Its next launch may overlap the one before, and is queued behind that by the caller. The
    // player's launches do not overlap otherwise.
    bool overlaps;
};

// A program and the objects to play it with. Device, program and frame outlive the playing.
struct stage {
    const struct player *player;
    braid_device *device;        // at place 0
    const struct places *places; // NULL: there is no other
    const struct program *program;
    const struct frame *frame;
    int32_t priority;         // for kernels that have none, and for streams
    uint32_t num_profiled;    // how many of its last frames' times are kept; 0: none
    bool must_have_islands;   // one that cannot be made is an error, not left out
    bool no_early_start;      // also none of the player's own kernels
    uint32_t slot, num_slots; // which of the frames in flight it plays
    struct playing *first;    // plays slot 0, for the others; NULL: this is it
    const void *exec;         // whose queue calls the player makes
    struct playing *beside;   // plays other tasks of the frame, and lives longer; NULL: none
};

// The state after a launch, also after a failed one. Zeroed before.
struct play_result {
    bool queued;   // something was queued; false only with an error
    bool unjoined; // and of that, something is not joined to the stream: it is to be awaited
};

// Calls are made with the exec's lock held, or before and after anyone else knows the exec.
struct player {
    const char *name;
    braid_exec_mode mode; // by which the public interface asks for it

    bool plays_loops; // graphs with loops or branches are refused otherwise
    // Streams: the player that plays each loop, with times, as a program of its own.
    const struct player *plays_loops_by;

    // The host plays loops and branches behind a launch, on a thread of the stream
    // (backend_ops.drive). A slot takes new values once its frames have ended.
    bool is_driven;

    bool makes_islands; // makes kernels of parts of a program, or all of it, by exec/exec_islands.h

    // Launches on two streams may overlap: each is queued behind the one before by the caller.
    // Otherwise the player keeps that order itself.
    bool launches_overlap;
    // Streams: each position has two event objects, which are recorded by turns, so that an object
    // is recorded again as late as possible. The fork, the joins and the frame's end have one event
    // each all the same. With more than two frames in flight, all events are recorded again while
    // they are pending. So a backend must keep the earlier record for the waits that are already
    // queued.
    bool renews_events;
    // Kernels get an early start, if the cost model gains by it, only right behind the kernel
    // before them: not even a record stands between.
    bool starts_early_if_adjacent;

    // The costs of ordering with this player, for the planner.
    void (*get_cost_model)(struct backend *backend, braid_cost_model *out_model);
    // Optional: BRAID_UNSUPPORTED, and the reason, for a plan's program that cannot be played this
    // way.
    braid_status (*check)(const struct stage *stage);
    // Prepares launches. BRAID_UNSUPPORTED, and the reason, where that turns out only now.
    braid_status (*create)(const struct stage *stage, struct playing **out_playing);
    // Optional, for players that keep values of their own. Takes arguments, grid, work and
    // disabling of tasks of the frame, from frame `frame` of the next launch on. If it fails, it
    // has taken some of them: the caller hands all of them over again before it launches.
    // BRAID_UNSUPPORTED, and why, if a value cannot be. No tasks from frame 0 on: forgets values
    // for later frames of a launch that was not made.
    braid_status (*update)(struct playing *playing, const struct backend_task *const *tasks,
                           uint32_t num, uint32_t frame);
    // Optional: BRAID_UNSUPPORTED, and why, where `update` is known to refuse this of a task. It
    // calls no driver; the task is not the frame's.
    braid_status (*check_task)(const struct playing *playing, const struct backend_task *task);
    // Whether the player orders frames by frame positions on this device. NULL: it does not.
    bool (*orders_frames)(struct backend *backend, bool several_places);
    // Optional, beside orders_frames. Called once, before any launch, with the playing of the slot
    // before: frames of this one await its positions.
    void (*follow)(struct playing *playing, struct playing *before);
    // Queues one frame. It starts after earlier work on the stream. Later work on the stream starts
    // after it, also if the launch fails half-way.
    braid_status (*launch)(struct playing *playing, braid_stream *stream,
                           struct play_result *out_result);
    // Optional, both or neither: a player without them refuses, in `check`, stages that ask for
    // times. Appends the times of the last frames, which have all ended. The room is zeroed and is
    // enough for as many frames as the stage asked for.
    braid_status (*read_times)(struct playing *playing, struct profile *profile);
    // The host's clock at a moment of the times that were just read (profile->clock.host).
    braid_status (*read_clock)(struct playing *playing, struct profile *profile);
    // Optional, both or neither: many frames by one launch. How many at most, with arguments of
    // their own (`in_rows`) or with the same; 1: no more than `launch` does.
    uint32_t (*most_frames)(const struct playing *playing, bool in_rows);
    // As launch, for several frames in a row. Each has the values that `update` gave it.
    braid_status (*launch_many)(struct playing *playing, braid_stream *stream, uint32_t num_frames,
                                struct play_result *out_result);
    // Optional, for players that count iterations elsewhere than in the frame. Those of a frame are
    // told once it has ended, and those since the entry where there is a black box. The loop is a
    // number of work_loop.
    uint64_t (*num_iterations)(const struct playing *playing, uint32_t loop, enum iterations which);
    // Optional: after the device failed, adds the tasks that ran in islands, as far as known.
    void (*find_running)(const struct playing *playing, struct running *running);
    // Optional: waits for each stream of its own, also if others fail. Then it waits for work that
    // no stream tells of, as the streams that it was given have ended.
    braid_status (*synchronize)(struct playing *playing);
    // Optional: the first failure behind a launch that returned BRAID_OK, told once.
    braid_status (*tell_failure)(struct playing *playing);
    // No launch is in flight.
    void (*destroy)(struct playing *playing);
};

// Makes a queue call with its device current, and with a stream to queue on.
braid_status braid_player_queue_call(braid_device *device, const struct backend_task *task,
                                     braid_stream *stream);

#endif
