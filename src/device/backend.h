// SPDX-License-Identifier: Apache-2.0
// The one interface between Braid and a kind of device. It knows nothing of graphs or plans.
#ifndef BRAID_DEVICE_BACKEND_H
#define BRAID_DEVICE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/braid.h>

#include "base/work.h"

// Rules for every backend:
// - every entry may be called from any thread, and leaves the thread's current context as it was;
// - arguments were checked by the caller: no NULL where none is allowed, no zero sizes;
// - a NULL struct backend_stream means the device's default stream;
// - an entry that fails writes the message (error.h) and leaves nothing half-made;
// - destroying, freeing and unloading free host memory even if the driver fails. The log alone
//   tells the failure, once for a failed device. The thread's message stays;
// - an error after which the driver fails every call on the device is noted in `failure`;
// - the ordering laws hold: a wait captures the event's latest record when it is queued.

struct backend_ops;
struct failure; // base/failure.h
struct note;    // base/note.h
struct player;

// An opened device. Backends embed it first.
struct backend {
    const struct backend_ops *ops;
    struct failure *failure; // the device's; NULL while it is being opened
};

// Backends extend these too: only the backend knows the rest of each.
struct backend_stream {
    bool wrapped; // the program's: never destroyed
};

struct backend_event {
    bool timing;
};

struct backend_kernel {
    bool waits_first; // at its begin, for the kernels that it was launched early behind
    bool notes_begin; // by itself: three more arguments stand behind those of backend_launch
    bool notes_end;   // the same, if its task has a block_count
};

struct backend_detour;

// When a kernel is launched, if its lane predecessor is a kernel too.
enum backend_start {
    BACKEND_STARTS_IN_ORDER,       // after the predecessor has ended
    BACKEND_STARTS_AS_BLOCKS_END,  // when all blocks of the predecessor have ended or say so
    BACKEND_STARTS_AS_BLOCKS_BEGIN // when all blocks of the predecessor have begun, where the
                                   // player can do that
};

// A kernel launch, as submitted. args[i] points to the bytes of argument i; they are captured
// during the call. Dimensions hold no zeros, except cluster, which is all zero for none.
struct backend_launch {
    struct backend_kernel *kernel;
    braid_dim3 grid, block, cluster;
    uint32_t shared_bytes;
    int32_t priority;
    bool cooperative; // all its blocks must run at once; refused where they cannot
    enum backend_start start;
    // The last argument, added by Braid, is the address of three words: the grid. The kernel's
    // start reads it. No dimension counts as more than `grid` has.
    bool grid_from;
    uint32_t num_args;
    void *const *args;
    const uint32_t *arg_bytes;
    // Bytes that the next kernel reads and nobody writes, for the device's cache. A player may
    // fetch them as the kernel ends. 0: there are none now.
    const void *next;
    uint64_t next_bytes;
};

#define BACKEND_NO_NODE UINT32_MAX

// The work of one node, or work that a program queues on a stream by itself.
struct backend_task {
    enum work_kind kind;
    const char *name; // for messages; lives as long as all that was made with the task
    uint32_t lane;    // for messages
    uint32_t node;    // for messages: its index in the graph, or BACKEND_NO_NODE
    uint32_t place;   // the device that it runs on, if there are several
    // It does nothing this time. Players leave it out: it is never submitted.
    bool disabled;
    bool is_inside;    // a loop or branch
    bool may_idle;     // it may be disabled while nothing needs it, if the player can do that
    uint32_t varies;   // the parts that parameters change: a bit for each braid_target
    struct note *note; // the row of the black box that tells of it; NULL: there is no black box
    const uint32_t *cancelled; // with a note: an atomic; not 0: what has not begun is left out
    const uint32_t *cancelled_there; // the same in memory of the device; NULL: there is none
    // In a lane's row (base/note.h), which of them the player notes by a fill. The kernel notes
    // every other begin, and the end with this word of the device; NULL: it notes no end.
    bool notes_begin, notes_end;
    uint64_t *block_count;
    // NULL, or the backend's own form of a copy, a fill or a call that blocks. task_prepare makes
    // it; for a changed call, it starts from the detour of the call before.
    struct backend_detour *detour;
    union {
        struct backend_launch launch;
        struct work_copy copy;
        struct work_fill fill;
        struct work_host host;
        struct work_queue queue;
        struct work_post post;
        struct work_await await;
        union work work; // all of these
    };
};

// Whose the rows are that it writes of tasks with a note.
enum backend_notes { BACKEND_NOTES_NOTHING, BACKEND_NOTES_NODES, BACKEND_NOTES_LANES };

// Changes of a kernel's code. Each is a bit; a backend says in backend_ops which it can make.
enum kernel_change {
    KERNEL_AS_IT_IS = 0,
    // Its last argument is the address of its grid (backend_launch.grid_from).
    KERNEL_READS_GRID = 1 << 0,
    KERNEL_CHANGED = 1 << 1, // by a backend_change
    // With rows of lanes: it notes its begin and its end. It takes three more arguments: the
    // address of its task's note, its node, and its block_count, which counts its blocks and is
    // zero between launches.
    KERNEL_NOTES = 1 << 2,
    KERNEL_NOTES_BEGIN = 1 << 3,  // the same, but it notes no end
    KERNEL_WRITES_TIMES = 1 << 4, // gpu/gpu_ptx_stamps.h
    KERNEL_WAITS_FIRST = 1 << 5,  // gpu/gpu_ptx_early.h; a kernel that cannot is loaded without
    KERNEL_PREFETCHES = 1 << 6,   // gpu/gpu_ptx_prefetch.h; it waits first
};

struct ptx_reason; // ptx/ptx_read.h

// A change of kernels that somebody above the backend makes. Kernels that it loads from one module
// share the variables of this module with each other, and with no other change.
struct backend_change {
    const char *what; // a kernel does then, such as "tell of its accesses"
    // The text of a module so changed, for the caller to free. NULL: it cannot be changed, for the
    // reason; or memory ran out, and the reason is empty.
    char *(*change_text)(const struct backend_change *change, const char *text,
                         struct ptx_reason *out_reason);
    uint32_t num_parameters; // that kernels take behind their own
};

struct backend_ops {
    const char *name; // "cpu", "cuda", "hip"
    enum backend_notes notes;
    unsigned kernel_changes;      // the enum kernel_change that it can make
    bool kernels_have_priorities; // each has its own, apart from that of its stream
    // How programs can be played on it, best first, ended by NULL; see tasks/player.h.
    const struct player *const *players;
    const char *why_no_graphs; // for messages, where it is known; NULL otherwise

    // Waits for the backend's own work, then frees everything, the struct included.
    void (*close)(struct backend *backend);
    void (*get_info)(struct backend *backend, braid_device_info *out_info);
    // The costs of ordering on streams. Players know those of other modes.
    void (*get_cost_model)(struct backend *backend, braid_cost_model *out_model);
    // The engine that plays posts and the works that await them.
    enum rank_engine_kind rank_engine;
    // The time that timed events between the tasks of a stream add to each task.
    uint64_t timing_adds_ns;
    // The resolution of such events, and that of times of nodes in driver graphs. A time below the
    // cost of measuring counts as at least one step.
    uint64_t event_step_ns, stamp_step_ns;

    braid_status (*allocate)(struct backend *backend, braid_memory_kind kind, uint64_t bytes,
                             void **out_memory);
    void (*release)(struct backend *backend, braid_memory_kind kind, void *memory);

    braid_status (*stream_create)(struct backend *backend, int32_t priority,
                                  struct backend_stream **out_stream);
    // Optional: NULL where there are no streams of a driver to wrap.
    braid_status (*stream_wrap)(struct backend *backend, void *handle,
                                struct backend_stream **out_stream);
    // Waits for the stream's work, unless it is wrapped.
    void (*stream_destroy)(struct backend *backend, struct backend_stream *stream);
    void *(*stream_handle)(struct backend *backend, struct backend_stream *stream); // optional
    braid_status (*stream_synchronize)(struct backend *backend, struct backend_stream *stream);
    braid_status (*stream_query)(struct backend *backend, struct backend_stream *stream);
    braid_status (*stream_wait)(struct backend *backend, struct backend_stream *stream,
                                struct backend_event *event);
    // Optional: BRAID_UNSUPPORTED, with the reason, where the stream takes no launch of an exec
    // now. *out_captures says that it is being captured; NULL: that is such a reason.
    braid_status (*stream_check_launch)(struct backend *backend, struct backend_stream *stream,
                                        bool *out_captures);

    braid_status (*event_create)(struct backend *backend, bool timing,
                                 struct backend_event **out_event);
    void (*event_destroy)(struct backend *backend, struct backend_event *event);
    braid_status (*event_record)(struct backend *backend, struct backend_event *event,
                                 struct backend_stream *stream);
    braid_status (*event_query)(struct backend *backend, struct backend_event *event);
    braid_status (*event_synchronize)(struct backend *backend, struct backend_event *event);
    // Both were made with timing.
    braid_status (*event_elapsed)(struct backend *backend, struct backend_event *start,
                                  struct backend_event *end, uint64_t *out_ns);

    // Optional: lets the device reach the memory of another one, which the same driver opened, by
    // itself. *out_reaches is false where it cannot, which is no error.
    braid_status (*reach)(struct backend *backend, struct backend *peer, bool *out_reaches);

    // Optional: the cost of going from this device to another one or to itself.
    void (*get_link)(struct backend *backend, struct backend *peer, bool reaches,
                     braid_place_link *out_link);

    // Optional, both or neither: the entries that this thread calls in between make the device
    // current once, if they are of this device. Pairs may lie within each other.
    void (*enter)(struct backend *backend);
    void (*leave)(struct backend *backend);

    // Optional: makes a call with the device current on this thread, and passes on its result.
    braid_status (*call_current)(struct backend *backend, braid_status (*call)(void *user),
                                 void *user);
    // Optional: the same for a call of the program, which has the rest of the thread's state as the
    // program left it.
    braid_status (*call_program)(struct backend *backend, braid_status (*call)(void *user),
                                 void *user);

    // Optional: the same with a stream that only captures: the work queued on it is dropped.
    // Without captures the call is not made.
    braid_status (*call_capturing)(struct backend *backend,
                                   braid_status (*call)(void *user, void *stream), void *user);

    // Loads (or finds, counted) a kernel with a set of changes. `change` is that of KERNEL_CHANGED,
    // which outlives the kernel, or NULL. arg_bytes[i] is the size of argument i, for backends that
    // can check it. BRAID_UNSUPPORTED: it has no code for this device, or none that can be changed.
    braid_status (*kernel_load)(struct backend *backend, const braid_kernel *kernel,
                                unsigned changes, const struct backend_change *change,
                                const uint32_t *arg_bytes, uint32_t num_args,
                                struct backend_kernel **out_kernel);
    void (*kernel_unload)(struct backend *backend, struct backend_kernel *kernel);
    // Where kernels can be changed: the text of one, which may be compiled now, and the kernel's
    // name in it. Both live as long as the kernel. NULL: it has none.
    braid_status (*kernel_text)(struct backend *backend, struct backend_kernel *kernel,
                                const char **out_text, const char **out_entry);
    // Optional: how many blocks of a launch the device runs at once; 0: not known.
    braid_status (*count_blocks)(struct backend *backend, const struct backend_launch *launch,
                                 uint64_t *out_num);

    // Optional, both or neither. Looks at the memory of a task before the task is submitted or
    // enters a program. Readies all that queueing needs, so that queueing does not block the host.
    // The task's work has ended when task_finish is called.
    braid_status (*task_prepare)(struct backend *backend, struct backend_task *task);
    void (*task_finish)(struct backend *backend, struct backend_task *task);
    // Optional. If a submit of the task fails halfway, a part may go on that the stream's end does
    // not cover: true. `wait`: the stream has ended; waits for that part.
    bool (*task_goes_on)(struct backend *backend, const struct backend_task *task, bool wait);

    // Optional: runs a task on this thread instead of queueing it; never a queue call nor an
    // operation between ranks. Errors: BRAID_NO_MEMORY.
    braid_status (*run_here)(struct backend *backend, const struct backend_task *task);

    // Optional: makes a call on a thread of the stream, behind all that is queued on it. The call
    // may queue work and wait for it. The rest of the stream stands behind it: see
    // gpu/gpu_driver.h. Not for a wrapped stream. Errors: BRAID_NO_MEMORY.
    braid_status (*drive)(struct backend *backend, struct backend_stream *stream,
                          void (*call)(void *user, struct backend_stream *stream), void *user);

    // Queues one task; never a queue call (the caller makes that call itself).
    braid_status (*submit)(struct backend *backend, struct backend_stream *stream,
                           const struct backend_task *task);
};

// Both are for lists of a backend's operations: BACKEND_DECLARES(cpu, submit) declares
// braid_cpu_submit, and BACKEND_FILLS(cpu, submit) puts it into a backend_ops.
#define BACKEND_DECLARES(backend, operation)                                                       \
    __typeof__(*((struct backend_ops *)0)->operation) braid_##backend##_##operation;
#define BACKEND_FILLS(backend, operation) .operation = braid_##backend##_##operation,

// A row of the table of backends: how to count its devices, describe one and open one.
struct backend_driver {
    const char *name;
    const void *own; // the backend's, which finds it in the row that its functions are given
    // Writes the number of devices; where it is 0, writes why, with every name tried, to
    // out_reason. BRAID_OK also where there is no library or no device: BRAID_DEVICE_ERROR where a
    // driver is there and fails, so that nobody knows.
    braid_status (*query)(const struct backend_driver *driver, uint32_t *out_num_devices,
                          char *out_reason, size_t reason_size);
    // Describes a device without a context or a thread. The struct is zero, with backend and
    // ordinal. Errors: as `open`.
    braid_status (*find)(const struct backend_driver *driver, uint32_t ordinal,
                         braid_found_device *out_device);
    braid_status (*open)(const struct backend_driver *driver, const braid_device_options *options,
                         struct backend **out_backend);
};

extern const struct backend_driver braid_cpu_driver;
extern const struct backend_driver braid_cuda_driver;
extern const struct backend_driver braid_hip_driver;

// The players of each, best first: players.c.
extern const struct player *const braid_cpu_players[];
extern const struct player *const braid_cuda_players[];
extern const struct player *const braid_hip_players[];

#endif
