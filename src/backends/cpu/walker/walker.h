// SPDX-License-Identifier: Apache-2.0
// The inside of the walker, the CPU's own player: plans compiled for threads that walk lanes.
#ifndef BRAID_BACKENDS_CPU_WALKER_WALKER_H
#define BRAID_BACKENDS_CPU_WALKER_WALKER_H

#include "backends/cpu/cpu.h"
#include "base/array.h"
#include "base/store.h"
#include "tasks/player.h"

// Here a program is a struct cpu_program, compiled from a plan's program for one slot.
//
// A program compiles to one array of steps a lane. After a lane's nth position its progress is n.
// To wait for a position is to wait until the progress of its lane is at least that. Launches of
// one program never overlap, so a program has one set of progress words and of argument bytes.
//
// Frame positions order the frames of several programs (slots), and count on through all frames. A
// program has a gate for each lane, and programs of later slots wait for its progress. The frame's
// number turns a position into that progress.

enum cpu_step_kind {
    CPU_STEP_RUN,           // calls a function; then publishes position, if that is not 0
    CPU_STEP_SHARE,         // runs work that idle workers may help with, or that sleeps elsewhere
    CPU_STEP_PUBLISH,       // publishes position
    CPU_STEP_WAIT,          // waits until producer has made the progress that is wanted
    CPU_STEP_PUBLISH_FRAME, // makes that progress of producer, a gate
    CPU_STEP_LOOP,          // plays body once and comes back to this step, until its loop has ended
    CPU_STEP_END,           // the lane ends
};

struct cpu_step {
    uint32_t kind;
    uint32_t position;
    union {
        braid_cpu_function *call;  // RUN
        struct cpu_work *work;     // SHARE
        struct cpu_lane *producer; // WAIT, PUBLISH_FRAME
        struct cpu_program *body;  // LOOP
    };
    union {
        const braid_blocks *blocks; // RUN
        // WAIT, PUBLISH_FRAME: 2 * position. Of gates it is another one in each frame, and is read
        // by walkers that have lost their lane in an earlier one.
        _Atomic uint64_t wanted;
    };
    void *const *args; // RUN, LOOP
};

struct cpu_lane {
    // 2 * position, + 1 when lanes are parked until a later one. Its own cache line: written by the
    // lane's walker, polled by others.
    _Alignas(CPU_LINE_BYTES) _Atomic uint64_t progress;

    _Alignas(CPU_LINE_BYTES) struct cpu_job job; // first of the second line
    struct cpu_program *program;
    const struct cpu_step *steps; // ended by CPU_STEP_END
    const struct cpu_step *next;  // where a walker that left goes on; handed over by the lock
    atomic_bool walked;           // a hint: some thread walks the lane now
    atomic_uint num_yields;       // a hint: by its walkers in the way of others
    atomic_uint num_sleeps;       // a hint: its walkers' next waits to sleep in; see walker_lane.c
    _Atomic uint64_t open_at;   // where others may take it over: frame << 32 | step + 1; 0: nowhere
    atomic_uint num_polling;    // threads that left it open and have not come back
    uint64_t wanted;            // lock; while parked: the progress it waits for
    struct cpu_job_list parked; // lock; lanes that wait for this one's progress
};

// A step whose progress is a gate's. Between two frames of a program it grows by `stride`.
struct cpu_frame_step {
    struct cpu_step *step;
    uint64_t stride;
    uint32_t lane;          // the gate's
    uint32_t frames_before; // an awaited gate is that of the program so many slots before
};

#define CPU_NO_STEP UINT32_MAX

// The changing parts of a task: its arguments, in the program's arena, and its step.
struct cpu_changing {
    struct cpu_values values;
    struct cpu_program *program; // the body that the task is in, or the whole
    uint32_t step;               // in that program; CPU_NO_STEP: it runs nothing
    uint32_t entry;              // index in the pending patch, valid if that entry is this task's
};

struct cpu_profile; // walker_profile.h

struct cpu_program {
    struct playing base;
    struct cpu_play play;
    struct backend *backend;
    struct cpu_lane *lanes;   // as in the program
    struct cpu_lane **active; // the lanes with something to do
    uint32_t num_active;
    struct cpu_step *steps;
    braid_blocks *blocks;          // shapes of the steps that run
    struct cpu_work *works;        // the steps that share have one each
    size_t num_works;              //
    unsigned char *arena;          // argument pointers and bytes
    struct cpu_changing *changing; // a task
    bool shares_changing;          // it is another program's
    braid_blocks *own_blocks;      // patch_lock; a task: once it has other blocks. NULL: none has
    bool shares;                   // there is somebody to share a grid with
    uint32_t num_tasks;
    struct cpu_job *then;       // the stream of the frame that runs
    uint32_t frame;             // its number
    struct cpu_point *last_end; // issue lock; of the latest launch

    struct cpu_lane
        *gates; // one a lane, of which only the progress counts; NULL: no frame positions
    struct cpu_frame_step *frame_steps;
    size_t num_frame_steps;
    struct cpu_program *before, *after; // in the slots before and after; NULL: none, or gone

    pthread_mutex_t patch_lock;     // taken before the issue lock, where both are
    struct cpu_patch *pending;      // patch_lock; changes for the next launch
    struct cpu_patch *free_patches; // patch_lock
    struct cpu_profile *profile;    // NULL: nobody asked for times
    struct cpu_program **bodies;    // as in the program
    uint32_t num_bodies;
    // A body has these. The thread that walks the lane of its loop writes them.
    struct cpu_program *around;     // the program that has the loop; NULL: this is no body
    _Atomic uint64_t *iterations;   // the loop's, by enum iterations
    const struct program *traps_of; // itself, in the plan, if it is a loop's; NULL: no node traps
    const struct frame *traps_frame;
    const uint32_t *cancelled; // see backend_task
    bool is_entered;
    bool is_else;              // the second arm of a branch, which is not counted
    struct cpu_program *other; // the second arm, if this is a first one; NULL: there is none

    _Alignas(CPU_LINE_BYTES) atomic_uint num_unfinished; // lanes of the frame that runs
    struct store store;                                  // holds most arrays
};

static inline struct cpu_lane *cpu_lane_of_job(struct cpu_job *job)
{
    return (struct cpu_lane *)(void *)((char *)job - offsetof(struct cpu_lane, job));
}

static inline uint64_t cpu_step_wanted(const struct cpu_step *step)
{
    return atomic_load_explicit(&step->wanted, memory_order_relaxed);
}

static inline bool cpu_step_is_satisfied(const struct cpu_step *wait)
{
    return atomic_load_explicit(&wait->producer->progress, memory_order_acquire) >=
           cpu_step_wanted(wait);
}

static inline struct cpu_program *cpu_program_of(struct playing *playing)
{
    return (struct cpu_program *)(void *)playing;
}

// walker_lane.c
struct cpu_job *braid_cpu_lane_run(struct cpu_backend *backend, struct cpu_job *job,
                                   const struct cpu_point *until);
struct cpu_job *braid_cpu_lane_run_timed(struct cpu_backend *backend, struct cpu_job *job,
                                         const struct cpu_point *until);
struct cpu_job *braid_cpu_lane_pass(struct cpu_backend *backend, struct cpu_job *job);
// Begins a frame of the program and returns a lane for the calling thread to run, or NULL if there
// is nothing to do. The thread that ends the last lane runs `then`. Lock not held.
struct cpu_job *braid_cpu_program_start(struct cpu_backend *backend, struct cpu_play *play,
                                        struct cpu_patch *patch, struct cpu_job *then);

// walker_lane.c
// Begins the next iteration of the step's loop, and returns a lane of it for the calling thread.
// The thread that ends it comes back to the step. NULL: the loop has ended.
struct cpu_job *braid_cpu_loop_go_on(struct cpu_backend *backend, struct cpu_lane *lane,
                                     const struct cpu_step *step);

// walker_lane.c
enum cpu_poll_end {
    CPU_POLL_REACHED,    // the wait is over
    CPU_POLL_LEFT,       // it is not, but there is something better to do
    CPU_POLL_IN_THE_WAY, // it is not, and the caller keeps the core from the lane it waits for
    CPU_POLL_TAKEN,      // another thread walks the lane now; the caller must not touch it any more
};

// Polls for the step's wait while that is likely to be over soon. If *out_taken is not NULL, the
// caller has taken that lane over, with any result, and must run it.
enum cpu_poll_end braid_cpu_lane_poll(struct cpu_backend *backend, struct cpu_lane *lane,
                                      const struct cpu_step *step, struct cpu_lane **out_taken);
// A lane of the frame that runs whose walker has stopped, taken over; NULL: there is none.
struct cpu_lane *braid_cpu_program_take_over(struct cpu_program *program);
// Returns when no thread polls in the program any more. All its frames have ended.
void braid_cpu_program_await_polls(const struct cpu_program *program);

// Writes the new values at the start of the frame, and recycles the patch. NULL does nothing.
void braid_cpu_patch_apply(struct cpu_program *program, struct cpu_patch *patch);

// walker_profile.c
// Keeps the times of the last `num_frames` frames. `op_of_step` lives as long as the program.
braid_status braid_cpu_profile_create(struct cpu_program *program, const struct program *from,
                                      uint32_t num_frames, size_t num_steps,
                                      const size_t *op_of_step);
// An iteration of a body with times has ended, or those of the frame that runs begin.
void braid_cpu_profile_tally(struct cpu_program *body);
void braid_cpu_profile_clear(struct cpu_program *body);
void braid_cpu_profile_destroy(struct cpu_profile *profile); // NULL does nothing
// A frame begins; its lanes have not. As braid_cpu_program_start.
struct cpu_job *braid_cpu_profile_start(struct cpu_backend *backend, struct cpu_play *play,
                                        struct cpu_patch *patch, struct cpu_job *then);
// No frame is in flight.
braid_status braid_cpu_profile_read(struct playing *playing, struct profile *profile);
braid_status braid_cpu_profile_read_clock(struct playing *playing, struct profile *profile);

#endif
