// SPDX-License-Identifier: Apache-2.0
// Execs: a schedule bound to a device, replayed frame by frame.
#ifndef BRAID_EXEC_H
#define BRAID_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/device.h>
#include <braid/graph.h>
#include <braid/schedule.h>
#include <braid/status.h>
#include <braid/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

// A graph ready to run on a device or a group. Frames count from 0 in launch order. They run one
// after another, on any streams, unless braid_exec_options.frames_in_flight lets them overlap.
// Different execs run at once. Names and schedules that an exec gives live as long as it does.
// Thread-safety: any thread; a lock serialises calls on one exec. While a launch or a reader of its
// times waits for frames, other threads may change its values, but not launch it.
typedef struct braid_exec braid_exec;

// How a plan reaches the device. Every mode executes the same schedule.
typedef enum braid_exec_mode {
    BRAID_MODE_AUTO = 0,    // a graph if the device can play every node that way, else streams
    BRAID_MODE_STREAMS = 1, // leased streams, with records and waits
    BRAID_MODE_GRAPH = 2,   // the backend's own replay: a CUDA graph, the CPU's lane walker
} braid_exec_mode;

// Whether kernels of a plan may become calls inside one kernel, an island (docs/cuda.md). Creating
// such an exec compiles, and may wait for other work on the device. Elsewhere than in CUDA's graph
// mode, WHOLE and ALWAYS are BRAID_UNSUPPORTED.
typedef enum braid_islands {
    // In graph mode: the whole graph, or stretches of lanes without waits in between, where the
    // plan expects a gain.
    BRAID_ISLANDS_AUTO = 0,
    BRAID_ISLANDS_NEVER = 1,  // none
    BRAID_ISLANDS_WHOLE = 2,  // the whole graph is one island; else BRAID_UNSUPPORTED names the
                              // nodes that cannot be inside (many: braid_error_get_details)
    BRAID_ISLANDS_ALWAYS = 3, // every such stretch of two kernels and more, gain or not; one that
                              // cannot be made is an error
} braid_islands;

// The action of a launch while braid_exec_options.frames_in_flight frames are in flight.
typedef enum braid_exec_when_full {
    BRAID_FULL_QUEUES = 0,  // queues the frame behind the one whose slot it takes
    BRAID_FULL_WAITS = 1,   // blocks until a slot is free; other threads may use the exec meanwhile
    BRAID_FULL_REFUSES = 2, // returns BRAID_BUSY, and queues nothing
} braid_exec_when_full;

// Memory that execs share (pool.h).
// Thread-safety: any thread.
typedef struct braid_memory_pool braid_memory_pool;

// Receives the number of a frame that has ended. It keeps the rules for a host call
// (braid_host_call).
typedef void braid_frame_function(uint64_t frame, void *user);

// A node that runs.
typedef struct braid_running_node {
    braid_node node;
    const char *name;
    uint64_t frame;
    uint64_t iteration;         // which one of the innermost loop around it, from 0
    uint32_t lane, place, rank; // place: 1 on a single device
    uint32_t num_words;         // how many words a kernel's arguments take; 0: not known
    uint64_t arguments[16];     // each argument begins a word. They are stored here, since the
                                // handler of a fault must not allocate
} braid_running_node;

// Receives a late frame and the nodes that run (without black_box: none). Keeps the rules for a
// host call, but may call braid_exec_get_running and braid_exec_cancel.
typedef void braid_deadline_function(uint64_t frame, const braid_running_node *nodes,
                                     size_t num_nodes, void *user);

// Options of braid_exec_create.
typedef struct braid_exec_options {
    braid_exec_mode mode;
    // For this graph, copied; if it was planned for other costs, info.reason says so. NULL: plan
    // here, with the five options of braid_schedule_options that follow.
    const braid_schedule *schedule;
    uint32_t max_lanes;
    bool fixed_lanes;
    bool ignore_costs;
    const braid_cost_model *costs; // NULL: the device's own
    const braid_place_model *places;
    // Every kernel runs as the program gave it: no islands, early starts or prefetches
    // (docs/cuda.md). Refused with BRAID_ISLANDS_WHOLE and BRAID_ISLANDS_ALWAYS.
    bool no_rewriting;
    bool no_early_start; // no kernel starts early, also not with braid_kernel.programmatic
    bool no_prefetch;    // no kernel fetches inputs of the next one
    braid_islands islands;
    // The number of latest frames whose times are kept (timings.h; cost: docs/profile.md). 0: none,
    // at no cost.
    uint32_t frames_kept;
    // The number of frames that may be in flight at once, up to 16; 0: 1. Nodes of different frames
    // are ordered by declared accesses, and not by edges. So declare all that nodes touch.
    // docs/book/pipelines.md tells when frames overlap.
    uint32_t frames_in_flight;
    braid_exec_when_full when_full; // where frames_in_flight is more than 1
    // Called once for each frame, in launch order, after its end and before waits for it return
    // (docs/book/pipelines.md). NULL: not called.
    braid_frame_function *on_frame_end;
    void *on_frame_end_user; // must live as long as the exec
    bool black_box;          // keeps which nodes run (docs/book/reliability.md)
    bool capture;            // the exec can be captured (capture.h)
    uint64_t deadline_ns;    // a frame is late if it has not ended so long after its launch; 0:
                             // no frame is late
    braid_deadline_function *on_deadline; // called once for each late frame; NULL: not called
    void *on_deadline_user;               // as on_frame_end_user
    int32_t priority;                     // streams and kernels have it (docs/book/concepts.md)
    // Execs of one pool share transient memory and scratch. A frame of one starts when the frames
    // of the exec launched before have ended (docs/book/buffers.md). NULL: no pool.
    braid_memory_pool *pool;
} braid_exec_options;

// Makes an exec: plans the graph, proves the plan, loads kernels, and leases and allocates all that
// launches need. The graph and the schedule may be destroyed afterwards. Loading a kernel may wait
// for other work on the device.
// Errors: those of braid_schedule_create. BRAID_UNSUPPORTED (a kernel without code for this device;
// a mode or option that this device or graph does not allow). BRAID_INVALID_ARGUMENT (the first
// access of a transient buffer reads it).
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_exec_create(braid_device *device,
                                                             const braid_graph *graph,
                                                             const braid_exec_options *options,
                                                             braid_exec **out_exec);

// Waits for this exec's own frames in flight, then frees it. If it has transient buffers, that may
// wait for other work.
BRAID_API void braid_exec_destroy(braid_exec *exec);

// Runs one frame with the values set so far, and does not wait for its end. The frame starts after
// all earlier work on `stream`, and later work on `stream` starts after it. After the first launch,
// the call creates and allocates nothing and does not wait, except as docs/book/concepts.md lists.
// If it fails, all work that it queued is joined to `stream` or waited for, and the exec can be
// launched again. If the program captures `stream` as a CUDA graph, the plan becomes part of that
// graph, and no frame runs (docs/book/from-cuda-graphs.md).
// Errors: BRAID_UNSUPPORTED (a plan that cannot be captured: docs/book/from-cuda-graphs.md; a value
// that the exec cannot take: docs/book/buffers.md; a wrapped stream, if the host drives loops).
// BRAID_INVALID_ARGUMENT (set ends of a copy overlap). BRAID_BUSY (see braid_exec_when_full and
// braid_exec_cancel). The status of a queue call.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_launch(braid_exec *exec, braid_stream *stream);

// A value of a parameter for each of `num` frames, one behind the other.
typedef struct braid_parameter_rows {
    braid_parameter parameter;
    const void *values;
    size_t num;
} braid_parameter_rows;

// Runs `num_frames` frames, as so many launches on `stream` would; 0 frames are no error. Frame f
// takes value f of each of the rows. Afterwards their parameters have values of the last frame, or
// of the last ones tried. If a frame fails, those before it run, none after it is queued, and the
// message names it.
// Errors: those of braid_exec_launch and braid_exec_set_parameter. BRAID_INVALID_ARGUMENT (rows for
// another number of frames).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_launch_many(braid_exec *exec,
                                                               braid_stream *stream,
                                                               size_t num_frames,
                                                               const braid_parameter_rows *rows,
                                                               size_t num_rows);

// Tells how often the body of a loop, or the first arm of a branch, ran in the last frame. Inside
// another loop, it is the sum over all iterations of that one. Errors: BRAID_WRONG_STATE (no frame
// was launched, or a later launch failed half-way), BRAID_NOT_READY (the frame runs).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_get_iterations(braid_exec *exec, braid_node loop,
                                                                  uint64_t *out_num);

// Setters. Each copies a value for later launches; frames in flight keep theirs. It calls no
// driver, allocates nothing and waits for no frame. It refuses all that can be known without the
// driver, names the node, and changes nothing. The next launch reports a refusal of the driver.
// Accesses, edges and lifetimes of transient buffers stay, and must hold for the value.
// Thread-safety: as for all calls on an exec, but not inside a host call or queue call.

// Replaces one argument, or all, of a kernel node. Sizes are those given to the graph. An address
// is a pointer here, never braid_resource_address.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_arg(braid_exec *exec, braid_node node,
                                                           size_t index, braid_arg arg);
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_args(braid_exec *exec, braid_node node,
                                                            const braid_arg *args, size_t num_args);

// Gives a node another value of any kind. `value` points to one of the target's type
// (braid_target): &(braid_dim3){ 64 } for BRAID_TARGET_GRID. `index` is the argument for
// BRAID_TARGET_ARGUMENT, and 0 otherwise.
// Errors: BRAID_UNSUPPORTED (islands and driver graphs that cannot take the value:
// docs/book/buffers.md).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set(braid_exec *exec, braid_node node,
                                                       braid_target target, size_t index,
                                                       const void *value);

// Gives scratch more bytes, for each node that uses it. The next launch waits for this exec's
// frames in flight and allocates. If memory runs out, it fails, and the exec keeps the old scratch.
// Fewer bytes only take back a growth that no launch has made yet.
// Errors: BRAID_UNSUPPORTED (an address in a driver's graph cannot change).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_scratch(braid_exec *exec,
                                                               braid_resource scratch,
                                                               uint64_t bytes);

// Gives a parameter another value, of as many bytes as it has. All nodes that use it get the value,
// also after braid_exec_set_arg. If it fails, all nodes keep their values.
// Errors: as braid_exec_set.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_parameter(braid_exec *exec,
                                                                 braid_parameter parameter,
                                                                 const void *value);

// Blocks until this exec's last launch has ended. Before a launch it returns BRAID_OK.
// Errors: BRAID_TRAPPED (see braid_trap). BRAID_TIMEOUT (once for each late frame).
// BRAID_DEVICE_ERROR (work on the device failed; with CUDA and HIP perhaps outside this exec). Once
// for a frame whose loops the host drives: why it could not be queued (docs/book/loops.md).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_wait(braid_exec *exec);

// The number of frames launched. Thread-safety: takes no lock; any code may call it, also a host
// call, a queue call or braid_exec_options.on_frame_end.
BRAID_API uint64_t braid_exec_get_num_launched(braid_exec *exec);

// The frame of braid_exec_wait_for that stands for all frames.
#define BRAID_LAST_FRAME UINT64_MAX

// Blocks until a frame and all before it have ended, for at most `ns` nanoseconds. 0 asks once, and
// tells no trap; UINT64_MAX is no limit. BRAID_LAST_FRAME waits for all frames; without a deadline,
// also those launched meanwhile. docs/book/pipelines.md tells more.
// Errors: BRAID_NOT_READY (`ns` is 0), BRAID_TIMEOUT (the program may wait again),
// BRAID_WRONG_STATE (the frame was not launched yet), those of braid_exec_wait.
// Thread-safety: 0 with BRAID_LAST_FRAME takes no lock of the exec, so a queue call may ask.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_wait_for(braid_exec *exec, uint64_t frame,
                                                            uint64_t ns);

// Writes the nodes that run, at most `room` of them, and the number of all. After a failure of the
// device, these are the nodes that ran when it failed. While a launch or setter runs, arguments are
// not known.
// Errors: BRAID_UNSUPPORTED (no black_box).
// Thread-safety: any thread, and the program's handler of a fault.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_get_running(braid_exec *exec,
                                                               braid_running_node *nodes,
                                                               size_t room, size_t *out_num);

// Ends launched frames. Loops stop within two tests. The CPU begins no further node. An island
// begins at most three on each lane. Launches return BRAID_BUSY until all has ended, on_frame_end
// included. Errors: BRAID_NOT_READY (something runs), BRAID_UNSUPPORTED (communicators, no
// black_box), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR. Thread-safety: any thread outside host calls.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_cancel(braid_exec *exec);

// The schedule that the exec runs.
BRAID_API const braid_schedule *braid_exec_get_schedule(const braid_exec *exec);

// The mode, leases, memory and frames of an exec.
typedef struct braid_exec_info {
    braid_exec_mode mode;      // never BRAID_MODE_AUTO
    const char *reason;        // why the exec has this mode, and whether it has no_rewriting; it
                               // lives as long as the exec
    uint32_t num_streams;      // leased while the exec lives
    uint32_t num_events;       // leased while the exec lives
    uint64_t argument_bytes;   // all kernels' together
    uint32_t num_early_starts; // kernels launched while their lane predecessor still runs
    uint32_t num_island_nodes; // nodes that are calls inside an island
    // Device memory in bytes. Each frame in flight has its own transient buffers.
    uint64_t transient_bytes;          // one frame's transient buffers
    uint64_t unshared_transient_bytes; // the same if no two shared memory
    uint64_t memory_bytes;             // all that was allocated for the exec, without a pool's
    uint32_t num_islands;              // kernels that are islands
    uint32_t frames_in_flight;         // the most frames that may be in flight at once
    bool whole_frames;                 // a frame starts when the one before has ended
    uint32_t num_frame_waits;          // in a frame, for nodes of the frame before
    // By the plan: the time of one more frame with so many in flight, and of a frame alone. If both
    // are equal, more frames in flight gain nothing.
    uint64_t frame_period_ns, frame_alone_ns;
    const char *frames_reason; // how far frames overlap, why not further, and the gain
    uint32_t num_prefetches;   // kernels that fetch inputs of the next one
} braid_exec_info;

// Writes the info of an exec.
BRAID_INLINE void braid_exec_get_info(const braid_exec *exec, braid_exec_info *out_info);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_create_sized(
    braid_device *device, const braid_graph *graph, const braid_exec_options *options,
    braid_exec **out_exec, size_t size, size_t costs_size, size_t places_size);
BRAID_INLINE braid_status braid_exec_create(braid_device *device, const braid_graph *graph,
                                            const braid_exec_options *options,
                                            braid_exec **out_exec)
{
    return braid_exec_create_sized(device, graph, options, out_exec, sizeof(braid_exec_options),
                                   sizeof(braid_cost_model), sizeof(braid_place_model));
}
BRAID_API void braid_exec_get_info_sized(const braid_exec *exec, braid_exec_info *out_info,
                                         size_t size);
BRAID_INLINE void braid_exec_get_info(const braid_exec *exec, braid_exec_info *out_info)
{
    braid_exec_get_info_sized(exec, out_info, sizeof(braid_exec_info));
}

#ifdef __cplusplus
}
#endif

#endif
