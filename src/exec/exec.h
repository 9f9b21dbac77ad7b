// SPDX-License-Identifier: Apache-2.0
// The inside of an exec: a schedule, its program, a player, and the slots of frames in flight.
#ifndef BRAID_EXEC_EXEC_H
#define BRAID_EXEC_EXEC_H

#include <pthread.h>
#include <stdatomic.h>

#include <braid/exec.h>

#include "base/store.h"
#include "exec/exec_params.h"
#include "exec/exec_part.h"
#include "graph/cull.h"
#include "graph/extents.h"
#include "plan/memory/memory_plan.h"
#include "tasks/player.h"

enum { EXEC_MOST_FRAMES = 16 }; // in flight

// A frame that may be in flight. With one, the next launch is queued behind the last, which the
// player does or `done`. With more, frame f is launched on the queue of slot f % frames.num: see
// exec_launch.c.
struct frame_slot {
    struct frame frame;
    struct playing *playing;
    braid_event *done; // leased; its latest record is behind every frame of the slot
    uint64_t number;   // the number of a frame whose versions the tasks are given
    uint64_t seen;     // the latest change of values that it has taken
    bool is_refused;   // its last update failed
    bool is_partial;   // the last launch that queued something of it failed
    uint64_t num_told; // that many of its frames have no trap to tell
    // Leased once needed. Recorded behind the frames that may use the first `num_marked` replaced
    // values.
    braid_event *mark;
    uint32_t num_marked;
    // With more than one slot, or a priority: leased, too.
    braid_stream *queue;
    braid_event *fork;
    // The caller's stream of the latest launch, its count of uses right behind that, and the fork
    // that the frame began behind. NULL: that is not known any more.
    const braid_stream *launched_on;
    uint64_t launched_uses;
    braid_event *began_behind;
};

// The frames in flight.
struct exec_frames {
    struct frame_slot *slots;
    uint32_t num;
    _Atomic uint64_t num_launched; // so far; written with the turn's lock
    uint64_t version_period;       // frames so far apart have the same versions of all buffers
    bool behind_last;              // a frame starts behind `done` of the one before
    braid_exec_when_full when_full;
};

struct exec_arena {
    void *memory; // on the device; NULL: there are none
    uint64_t bytes;
    unsigned char *begin;     // in it, aligned
    struct pool_block *block; // the pool's, whose memory it is
};

// The turn's lock guards all of it.
struct exec_memory {
    struct memory_plan plan;      // for a frame's arenas
    struct exec_arena *arenas;    // by slot, then by place
    braid_memory_pool *pool;      // has the arenas; NULL: the exec has
    struct exec_arena versions;   // for versioned buffers without addresses
    struct exec_arena *box_words; // by place: whether the exec was cancelled; then, slot by slot
                                  // and by task, how many blocks have ended
    braid_graph *scratch_graph;   // with the sizes of scratch that are asked for; NULL: it has none
    uint64_t *scratch_bytes;      // by resource of that graph, what the arenas have
    bool must_grow;               // the graph has more than they
    pthread_mutex_t lock; // who writes plan and arenas has it, too: info may be asked any time
};

// Whose turn it is: launches and setters have the lock. A launch, or who else keeps launches away,
// waits without it: see exec_wait.c.
struct exec_turn {
    pthread_mutex_t lock;
    bool is_waiting;           // guarded by lock
    pthread_cond_t has_waited; // for who waits for the end of that
    // Nothing is recorded for the end of the frame at hand, so its launch waits for it. Written
    // with the lock.
    atomic_bool is_unrecorded;
};

// Nodes that rest while parameters disable all that need them: exec_idle.c.
struct exec_idle {
    bool *needed; // by vertex of `culled.reach`; NULL: there are no such nodes
    uint32_t *room;
    uint64_t seen; // the values.num_controls for which they are found
};

struct braid_exec {
    braid_device *device; // at place 0, on whose streams it is launched
    struct places places;
    struct placed *placed;    // what the graph became on several places; NULL: it is as it was
    braid_schedule *schedule; // plans the graph whose handles the exec takes
    struct tasks tasks;
    struct extents extents; // the graph's, for copies and fills that change
    struct array words;     // the graph's struct code_word, which setters leave as they are
    bool edges_only;        // the graph's: setters leave all memory of its nodes as it is
    struct program program;
    const struct player *player;
    const struct island_shape *shape; // the whole graph is one island; NULL: it is not
    bool has_lone_calls;              // and each of its calls has the room of a lane to itself
    struct exec_frames frames;
    int32_t priority; // its streams have it, and kernels without one
    struct exec_memory memory;
    struct exec_part *parts; // in the order in which launches call them
    struct exec_params params;
    struct exec_values values; // guarded by the turn's lock
    struct exec_turn turn;
    struct exec_idle idle;
    struct culled culled;  // only an audit reads more than the nodes of `own` once the exec is made
    braid_graph *captured; // a copy of what is planned, for captures; NULL: there are none
    struct exported *exported; // with the turn's lock; NULL: there are none
    struct {
        char reason[256], frames_reason[256];
    } texts;              // `info` has them
    braid_exec_info info; // constant once the exec is made, but that it tells nothing of memory
    struct store store;   // holds arrays that live as long
};

// As DEVICE_MEMORY. NULL: nothing happens.
static inline struct host_scope exec_scope_begin(const braid_exec *exec)
{
    return host_scope_begin(host_allocators_are_held() && exec ? exec->device->allocator : NULL);
}
#define EXEC_MEMORY(exec) HOST_SCOPE = exec_scope_begin(exec)

// The node of the exec's graph if a plan leaves it out; NULL: it has a task.
static inline const struct graph_node *exec_left_out(const braid_exec *exec, uint32_t node)
{
    const struct array *nodes = &exec->culled.own.nodes;
    const struct graph_node *found =
        node < nodes->num ? &graph_nodes(&exec->culled.own)[node] : NULL;
    return found && found->is_left_out ? found : NULL;
}

// exec_code.c: compares a graph with its kernels, once these are loaded. Errors: as
// graph_check_code.
braid_status braid_exec_check_code(braid_exec *exec, const braid_graph *graph);

// exec_launch.c: whether one of its devices has failed.
bool braid_exec_has_failed(const braid_exec *exec);
// Counts a loop's iterations in the slot's latest frame, by the loop's number. Takes no lock.
uint64_t braid_exec_count_iterations(const braid_exec *exec, const struct frame_slot *slot,
                                     uint32_t loop, enum iterations which);
// Whether the exec may be used: it is not NULL, its devices work, and the call would not wait for
// itself. If a device has failed, the message has the first error, and the tasks that were running
// then. Errors: BRAID_INVALID_ARGUMENT, BRAID_WRONG_STATE, BRAID_DEVICE_ERROR.
braid_status braid_exec_check(const char *function, const braid_exec *exec);
braid_status braid_exec_check_devices(const char *function, const braid_exec *exec);
// As braid_exec_check. If it succeeds, the device is entered, which the caller leaves.
braid_status braid_exec_enter(const char *function, const braid_exec *exec);

// addons/export: adds the plan to the capture of the stream. Errors: as braid_exec_launch.
braid_status braid_exec_launch_captured(braid_exec *exec, braid_stream *stream);
void braid_exec_free_exported(braid_exec *exec);

// exec_create.c: makes all that depends on the player, or nothing. Errors: as braid_exec_create.
braid_status braid_exec_make_program(braid_exec *exec, const braid_graph *graph,
                                     const braid_exec_options *options,
                                     const struct player *player);

// exec_choose.c: has the best player make it, of those that the options allow.
// Errors: BRAID_UNSUPPORTED (there is none), as braid_exec_make_program.
braid_status braid_exec_choose_player(braid_exec *exec, const braid_graph *graph,
                                      const braid_exec_options *options);
// The costs of ordering in the exec's way of playing, for the planner.
void braid_exec_get_cost_model(const braid_exec *exec, braid_cost_model *out_model);
// The first of these players that a mode allows, or the end of the list.
const struct player *const *braid_exec_find_player(const struct player *const *players,
                                                   braid_exec_mode mode);

// exec_update.c. Before a launch that has queued nothing, with the lock held. Gives a slot's tasks
// and its player the values that were set since its last launch, and the versions of the frame of
// that number. They hold from frame `frame` of the next launch on (of several frames; otherwise 0).
// Errors: those of braid_frame_resolve and of the player's update; then the next launch tries
// again.
braid_status braid_exec_update(braid_exec *exec, struct frame_slot *slot, uint64_t number,
                               uint32_t frame);

// Behind a frame whose end was recorded on the stream: marks replaced values, which are freed once
// this frame has ended. If that fails, the launch is complete all the same, and the log tells. The
// values are kept until a later launch marks them, or all frames have ended.
void braid_exec_mark_replaced(braid_exec *exec, struct frame_slot *slot, braid_stream *stream);

// exec_memory.c: says in info how much memory the exec has.
void braid_exec_tell_memory(const braid_exec *exec, braid_exec_info *info);

// black_box.c: whether the exec has notes of nodes, or islands that have.
bool braid_exec_knows_running(const braid_exec *exec);
// Adds to a message which nodes ran in all frames in flight, and to its details more of them.
braid_status braid_exec_add_running(const braid_exec *exec, braid_status status);
// The innermost loop that the node is in; NULL: it is in none.
const struct program *braid_exec_find_loop(const braid_exec *exec, uint32_t node);

// exec_wait.c: if the exec has a deadline, waits until the frame has ended. *out_later: that
// is so, and later ones have not ended, for which the caller need not wait. Errors: BRAID_TIMEOUT
// (frames are late, once for each), those of braid_exec_ask.
braid_status braid_exec_await_deadline(const char *caller, braid_exec *exec, uint64_t frame,
                                       bool *out_later);

// Asks whether all frames have ended, without a lock. Errors: BRAID_NOT_READY, BRAID_DEVICE_ERROR.
braid_status braid_exec_ask(const char *function, braid_exec *exec);

// exec_traps.c: behind a wait that found that the frame has ended, without the lock. Traps of other
// slots with running frames are left to later waits. Errors: BRAID_TRAPPED, once for each trap.
braid_status braid_exec_tell_traps(braid_exec *exec, uint64_t frame);

// Adds the running tasks to a launch's failure, if the device broke before and the player knows.
braid_status braid_exec_explain_launch(const braid_exec *exec, braid_status status);

// exec_wait.c: takes the lock when no launch is under way, and gives it back.
void braid_exec_begin_launch(braid_exec *exec);
void braid_exec_end_launch(braid_exec *exec);
// Between those two, around a wait, which is made without the lock. Running work may ask the exec,
// or wait for a thread that asks or changes it. There is still no other launch.
void braid_exec_begin_wait(braid_exec *exec);
void braid_exec_end_wait(braid_exec *exec);
// Whether frames of the slot run, or queued work of a failed launch, which is no frame. Takes no
// lock.
bool braid_exec_slot_has_work(const braid_exec *exec, uint32_t slot);
// Asks the backend for the end of each slot's frames. Errors: those of `ask`.
typedef braid_status exec_ask(struct backend *backend, struct backend_event *event);
braid_status braid_exec_ask_frames(braid_exec *exec, exec_ask *ask);
// For who waits by itself: the first failure behind a launch in the slot (player.tell_failure).
braid_status braid_exec_tell_failure(const braid_exec *exec, const struct frame_slot *slot);
// Such a wait, for the ends of all frames, which then settles parts. Errors: those of
// event_synchronize.
braid_status braid_exec_await_frames(braid_exec *exec);
// Behind a launch on `stream`, which is under way: if nothing is recorded for the end of its frame,
// waits for that. If the wait fails, the device has failed. The thread's message stays.
void braid_exec_await_unrecorded(braid_exec *exec, braid_stream *stream);
// Waits for another launch that waits so. Takes the lock. Errors: BRAID_DEVICE_ERROR.
braid_status braid_exec_await_launch(const char *function, braid_exec *exec);
// A wait that nothing can replace has failed, for the reason in the thread's message. So the device
// has failed, unless another one of the exec's has. Returns BRAID_DEVICE_ERROR.
braid_status braid_exec_fail(braid_exec *exec, const char *what);
// Waits for each of the exec's own streams, if some fail for the others. Errors: those of
// stream_synchronize.
braid_status braid_exec_synchronize(braid_exec *exec);

// exec_frames.c. Sees to it that there is a slot for the next frame. Errors: BRAID_BUSY (see
// braid_exec_when_full), BRAID_DEVICE_ERROR.
braid_status braid_exec_make_room(braid_exec *exec);
// Waits for the slot's frames without the lock. Errors: BRAID_DEVICE_ERROR.
braid_status braid_exec_await_slot(braid_exec *exec, const struct frame_slot *slot);

// Leases each slot's event, and the queues of several. Errors: as lease_stream and lease_event.
braid_status braid_exec_lease_queues(braid_exec *exec);
void braid_exec_return_queues(braid_exec *exec);
// Adds to the exec's program the waits by which its frames overlap, and writes to info how far they
// do. Errors: BRAID_NO_MEMORY, BRAID_INTERNAL.
braid_status braid_exec_order_frames(braid_exec *exec, const braid_graph *graph);

// exec_create.c: the schedule for one player: the one that the user's program gave, or one planned
// with the player's costs. Errors: those of braid_schedule_create.
braid_status braid_exec_find_schedule(braid_exec *exec, const braid_graph *graph,
                                      const braid_exec_options *options,
                                      const struct player *player);
// exec_create.c: makes all of an exec, without asking other ranks.
braid_status braid_exec_make(braid_exec *exec, const braid_graph *graph,
                             const braid_exec_options *options);

// Gives a parameter another value, with the lock held.
braid_status braid_exec_put_param(braid_exec *exec, uint32_t parameter, const void *value);
// Whether the exec has the parameter, and may be changed now.
braid_status braid_exec_check_param(const char *function, const braid_exec *exec,
                                    braid_parameter parameter);

// exec_set.c: gives kernels whose grids have no block these grids, before the first launch. They
// were made with others, which a driver takes.
void braid_exec_empty_grids(braid_exec *exec, const braid_graph *graph);

// exec_end.c: the part that tells the program when a frame has ended.
// Does nothing if the options name no function. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_add_end(braid_exec *exec, const braid_exec_options *options);

// exec_traps.c: the part that tells of traps, once their frames have ended.
// Does nothing if no node has a trap. Behind the tasks. Errors: BRAID_NO_MEMORY,
// BRAID_DEVICE_ERROR.
braid_status braid_exec_add_traps(braid_exec *exec);
// Returns the traps of a slot, by number; NULL: there are none.
struct frame_trap *braid_exec_traps(const braid_exec *exec, uint32_t slot);

#endif
