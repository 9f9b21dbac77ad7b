// SPDX-License-Identifier: Apache-2.0
// The one interface between Braid and a kind of device. It knows nothing of graphs or schedules.
#ifndef BRAID_BACKENDS_BACKEND_H
#define BRAID_BACKENDS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/braid.h>

// Rules for every backend:
// - every entry may be called from any thread, and leaves the thread's current context as it was;
// - arguments were checked by the caller: no NULL where none is allowed, no zero sizes;
// - a NULL struct backend_stream means the device's default stream;
// - an entry that fails writes the message (error.h) and leaves nothing half-made;
// - destroying, freeing, unloading: what cannot be told to have ended is kept, not freed; what
// fails
//   is said to the log alone, and the thread's message stays;
// - the ordering laws hold: a wait captures the event's latest record when it is queued.

struct backend_ops;

// An opened device. Backends embed it first.
struct backend {
    const struct backend_ops *ops;
};

// Opaque to callers; each backend defines its own.
struct backend_stream;
struct backend_event;
struct backend_kernel;
struct backend_program;
struct backend_detour;

// A kernel launch, as submitted. args[i] points to the bytes of argument i; they are captured
// during the call. Dimensions hold no zeros, except cluster, which is all zero for none.
struct backend_launch {
    struct backend_kernel *kernel;
    braid_dim3 grid, block, cluster;
    uint32_t shared_bytes;
    int32_t priority;
    bool starts_early; // is launched while its lane predecessor, also a kernel, still runs
    uint32_t num_args;
    void *const *args;
    const uint32_t *arg_bytes;
};

// What was current on the calling thread before the backend came: its own business.
struct backend_scope {
    void *context; // CUDA
    int device;    // HIP
    bool changed;
};

enum backend_task_kind {
    BACKEND_TASK_KERNEL,
    BACKEND_TASK_COPY,
    BACKEND_TASK_FILL,
    BACKEND_TASK_HOST,
    BACKEND_TASK_NATIVE,
    BACKEND_TASK_EMPTY,
};

#define BACKEND_NO_NODE UINT32_MAX

// One node's work, or what a program queues on a stream by itself.
struct backend_task {
    enum backend_task_kind kind;
    const char *name; // for messages; lives as long as what was made with the task
    uint32_t lane;    // for messages
    uint32_t node;    // likewise: its index in the graph, or BACKEND_NO_NODE
    // A copy or fill that the backend does in another way; made by task_prepare. NULL: none.
    struct backend_detour *detour;
    union {
        struct backend_launch launch;
        struct {
            void *to;
            const void *from;
            uint64_t bytes;
        } copy;
        struct {
            void *to;
            uint32_t value;
            uint32_t value_bytes; // 1, 2 or 4
            uint64_t num_values;
        } fill;
        struct {
            braid_host_function *call;
            void *user;
        } host;
        struct {
            braid_native_function *call;
            void *user;
            braid_device *device; // handed to the call
        } native;
    };
};

// One step of a lane; see braid_step. `index` is a task (run) or a record (record, wait): record r
// is the end of one task, waited for on other lanes. Each record is made once in a frame.
struct backend_step {
    braid_step_kind kind;
    uint32_t index;
};

struct backend_lane {
    const struct backend_step *steps;
    size_t num_steps;
};

// A whole plan, for backends that replay it by themselves. All of it is copied by program_create,
// except task names and kernels, which outlive the program.
struct backend_plan {
    const struct backend_lane *lanes;
    uint32_t num_lanes;
    uint32_t num_records;
    const struct backend_task *tasks;
    uint32_t num_tasks;
    const struct backend_step *order; // all steps, in issue order
    const uint32_t *order_lane;       // and the lane of each
    size_t num_order;
    braid_device *device;
    // Native calls under capture are made with the device current and handed a braid_stream round a
    // backend stream: wrap makes one for the length of the call.
    braid_status (*call_native)(const struct backend_task *task, struct backend_stream *stream);
};

struct backend_ops {
    const char *name; // "cpu", "cuda", "hip"
    // BRAID_MODE_AUTO tries program_create first, and streams where that is BRAID_UNSUPPORTED.
    bool prefers_native;
    // The streams lowering uses one event object a record and two sets of them in turn, so that
    // objects are recorded again as late as that allows. The events of the fork, the joins and the
    // frame's end are one each all the same, and with more than two frames in flight all are
    // recorded again while they are pending: a backend must keep the earlier record for the waits
    // that are queued already.
    bool renew_events;
    // Launches of one program on two streams may overlap: the lowering orders them.
    bool programs_overlap;

    // Optional: waits for all work that came through the backend, but for that on wrapped streams.
    // Fails, after a line in the log, where that cannot be told to have ended: then the backend is
    // not closed.
    braid_status (*drain)(struct backend *backend);
    // Frees everything, the struct included, behind the backend's own work: where there is a drain,
    // it has succeeded.
    void (*close)(struct backend *backend);
    void (*get_info)(struct backend *backend, braid_device_info *out_info);
    void (*get_cost_model)(struct backend *backend, braid_exec_mode mode,
                           braid_cost_model *out_model);

    braid_status (*allocate)(struct backend *backend, braid_memory_kind kind, uint64_t bytes,
                             void **out_memory);
    void (*release)(struct backend *backend, braid_memory_kind kind, void *memory);

    braid_status (*stream_create)(struct backend *backend, int32_t priority,
                                  struct backend_stream **out_stream);
    // Optional: NULL where there are no native streams to wrap.
    braid_status (*stream_wrap)(struct backend *backend, void *native,
                                struct backend_stream **out_stream);
    // Waits for the stream's work, unless it is wrapped.
    void (*stream_destroy)(struct backend *backend, struct backend_stream *stream);
    void *(*stream_native)(struct backend *backend, struct backend_stream *stream); // optional
    braid_status (*stream_synchronize)(struct backend *backend, struct backend_stream *stream);
    braid_status (*stream_query)(struct backend *backend, struct backend_stream *stream);
    braid_status (*stream_wait)(struct backend *backend, struct backend_stream *stream,
                                struct backend_event *event);
    // Optional: BRAID_UNSUPPORTED, with the reason, where the stream takes no launch of an exec
    // now.
    braid_status (*stream_check_launch)(struct backend *backend, struct backend_stream *stream);
    // Optional, both or neither: stream-ordered memory.
    braid_status (*stream_allocate)(struct backend *backend, struct backend_stream *stream,
                                    uint64_t bytes, void **out_memory);
    braid_status (*stream_free)(struct backend *backend, struct backend_stream *stream,
                                void *memory);

    braid_status (*event_create)(struct backend *backend, bool timing,
                                 struct backend_event **out_event);
    braid_status (*event_wrap)(struct backend *backend, void *native,
                               struct backend_event **out_event); // optional
    void (*event_destroy)(struct backend *backend, struct backend_event *event);
    braid_status (*event_record)(struct backend *backend, struct backend_event *event,
                                 struct backend_stream *stream);
    braid_status (*event_query)(struct backend *backend, struct backend_event *event);
    braid_status (*event_synchronize)(struct backend *backend, struct backend_event *event);
    braid_status (*event_elapsed)(struct backend *backend, struct backend_event *start,
                                  struct backend_event *end, uint64_t *out_ns);

    // Optional, both or neither: makes the device current on this thread for a native call, and
    // what was current before again.
    braid_status (*enter)(struct backend *backend, struct backend_scope *out_scope);
    void (*leave)(struct backend *backend, const struct backend_scope *scope);

    // Loads (or finds, counted) a kernel; fails with BRAID_UNSUPPORTED where it has no code for
    // this device. arg_bytes[i] is the size of argument i, for backends that can check it.
    braid_status (*kernel_load)(struct backend *backend, const braid_kernel *kernel,
                                const uint32_t *arg_bytes, uint32_t num_args,
                                struct backend_kernel **out_kernel);
    // Optional, both or neither: whether a mode can launch kernels early (backend_launch), and
    // whether a kernel waits, before it does anything, for what it was launched early behind.
    bool (*can_start_early)(struct backend *backend, braid_exec_mode mode);
    bool (*kernel_waits_first)(struct backend *backend, const struct backend_kernel *kernel);
    void (*kernel_unload)(struct backend *backend, struct backend_kernel *kernel);

    // Optional, both or neither. Looks at the memory of a task before it is submitted or made part
    // of a program, and readies what it needs so that queueing it will not block the host. The
    // task's work has ended when task_finish is called.
    braid_status (*task_prepare)(struct backend *backend, struct backend_task *task);
    void (*task_finish)(struct backend *backend, struct backend_task *task);

    // Queues one task; never a native one (the caller makes that call itself).
    braid_status (*submit)(struct backend *backend, struct backend_stream *stream,
                           const struct backend_task *task);

    // Optional, all or none: the backend's own replay of a whole plan. A launch starts after
    // earlier work on the stream and (unless programs_overlap) the program's own last launch; later
    // work on the stream starts after it. Programs of one backend run at once. program_destroy may
    // be called only when the program's launches have ended.
    braid_status (*program_create)(struct backend *backend, const struct backend_plan *plan,
                                   struct backend_program **out_program);
    braid_status (*program_set_args)(struct backend *backend, struct backend_program *program,
                                     uint32_t task, void *const *args);
    braid_status (*program_launch)(struct backend *backend, struct backend_program *program,
                                   struct backend_stream *stream);
    void (*program_destroy)(struct backend *backend, struct backend_program *program);
};

// A row of the table of backends: how to count its devices and open one.
struct backend_driver {
    const char *name;
    // Writes the number of devices; where it is 0, writes why, with every name tried, to
    // out_reason.
    void (*query)(uint32_t *out_num_devices, char *out_reason, size_t reason_size);
    braid_status (*open)(const braid_device_options *options, struct backend **out_backend);
    // Optional: opens on a context that the program owns.
    braid_status (*adopt)(void *context, struct backend **out_backend);
};

extern const struct backend_driver braid_cpu_driver;
extern const struct backend_driver braid_cuda_driver;
extern const struct backend_driver braid_hip_driver;

#endif
