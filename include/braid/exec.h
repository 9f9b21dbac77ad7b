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

// A graph ready to run on a device or a group. Launches of one exec run one after another, in
// launch order, on any streams, unless braid_exec_options.frames lets them overlap. Different execs
// run at once. Thread-safety: any thread; a lock serialises calls on one exec. While a launch or a
// reader of its times waits for frames, other threads may change its values, but not launch it.
typedef struct braid_exec braid_exec;

// How a plan reaches the device. Every mode executes the same schedule.
typedef enum braid_exec_mode {
    BRAID_MODE_AUTO = 0,    // a graph where everything in the graph can be, else streams
    BRAID_MODE_STREAMS = 1, // leased streams, with records and waits
    BRAID_MODE_GRAPH = 2,   // the backend's own replay: a CUDA or HIP graph, the CPU's lane walker
} braid_exec_mode;

// Whether kernels of a plan may become calls inside one kernel, an island (docs/cuda.md). Elsewhere
// than in CUDA's graph mode, WHOLE and ALWAYS are BRAID_UNSUPPORTED.
typedef enum braid_islands {
    // In graph mode, for kernels with source or PTX: the whole graph, or stretches of lanes without
    // waits in between. The expected gain must be at least 3 % of the frame (1 % for a whole graph
    // of 256 nodes or more). Creating such an exec compiles, and may wait for other work on the
    // device.
    BRAID_ISLANDS_AUTO = 0,
    BRAID_ISLANDS_NEVER = 1,  // none
    BRAID_ISLANDS_WHOLE = 2,  // the whole graph is one island, or creating the exec fails with
                              // BRAID_UNSUPPORTED and names the first node that cannot be inside.
                              // Creating one compiles, and may wait for other work on the device
    BRAID_ISLANDS_ALWAYS = 3, // every such stretch of two kernels and more, shorter or not; one
                              // that cannot be made is an error
} braid_islands;

// The action of a launch while braid_exec_options.frames frames are in flight.
typedef enum braid_exec_when_full {
    BRAID_FULL_QUEUES = 0,  // queues the frame behind the one whose slot it takes
    BRAID_FULL_WAITS = 1,   // blocks until that one has ended; other threads use the exec meanwhile
    BRAID_FULL_REFUSES = 2, // returns BRAID_BUSY, and queues nothing
} braid_exec_when_full;

// Receives the number of a frame that has ended. Frames of an exec count from 0 in launch order.
typedef void braid_frame_function(uint64_t frame, void *user);

// Options of braid_exec_create.
typedef struct braid_exec_options {
    braid_exec_mode mode;
    const braid_schedule *schedule; // NULL: plan the graph here, with `plan` and, where its costs
                                    // are all zero, the device's own cost model; otherwise a
                                    // schedule of this graph, copied
    braid_schedule_options plan;
    // CUDA, sm_90 and newer. False: kernels with source or PTX start early (programmatic dependent
    // launch), if that pays. True: none does, also not with braid_kernel.programmatic.
    bool no_early_start;
    braid_islands islands;
    // The number of latest frames whose times are kept, for every node, wait, lane and frame
    // (timings.h; cost: docs/profile.md). 0: none, at no cost. Driver graphs of HIP keep none:
    // BRAID_MODE_GRAPH is refused there.
    uint32_t profile;
    // The number of frames that may be in flight at once, up to 16; 0: 1 (docs/book/pipelines.md).
    // Each frame has its own arguments and transient buffers. Declared accesses order the rest,
    // node by node: edges hold inside a frame only, so all that nodes touch must be declared. If a
    // node declares nothing at all, frames run one after another. Frames end in launch order for
    // waits and callbacks. Launches overlap on different streams, and on one stream of
    // braid_stream_create unless other work was queued between them or its handle was asked for.
    // info.frames_reason tells why frames cannot overlap.
    uint32_t frames;
    braid_exec_when_full when_full; // where frames is more than 1
    // Called once for each frame, in launch order, after its end and before waits for it return. It
    // runs on a thread of Braid's, the driver's, or of a launch, by the rules for a host call. It
    // is not called after the device has failed. It makes a frame longer by a host call. NULL: not
    // called.
    braid_frame_function *on_frame_end;
    void *on_frame_end_user; // must live as long as the exec
    bool black_box;          // keeps which nodes run, for braid_exec_get_running and messages
                             // (docs/book/reliability.md)
} braid_exec_options;

// Plans (unless given a schedule), verifies, leases streams and events, loads kernels, and
// allocates everything that later launches need. The graph and the schedule may be destroyed
// afterwards. Loading a kernel may wait for other work on the device. On a group (docs/places.md),
// `plan.places` counts; NULL: braid_device_info.place_model. The exec is launched on streams of the
// first member. If the plan has several places, there are no islands, and times of frames are
// refused.
// Errors: those of braid_schedule_create. BRAID_UNSUPPORTED (a kernel without code for this device;
// a mode that this device or graph does not allow). BRAID_INVALID_ARGUMENT (a transient buffer
// whose first access reads it: the message names buffer and node).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_create(braid_device *device,
                                                          const braid_graph *graph,
                                                          const braid_exec_options *options,
                                                          braid_exec **out_exec);

// Waits for this exec's own launches in flight, then frees it. Freeing transient buffers may wait
// for other work, as braid_memory_free does.
BRAID_API void braid_exec_destroy(braid_exec *exec);

// Runs one frame. It starts after all earlier work on `stream`, and later work on `stream` starts
// after it. After the first launch the call creates, allocates and frees nothing, except as listed
// below. It waits for the device only as braid_exec_when_full and this text say. More launches in
// flight than ever before may take memory of the CPU backend or the driver.
//
// A launch takes the values that were set since the last one. If there is no memory for a value, or
// the driver refuses one, the launch fails, names the node, and queues nothing. The next launch
// tries again. Each frame in flight takes a change by itself, so a later launch may be the one that
// fails. Changes may cost a launch:
// - A copy of pageable memory allocates.
// - The first changed grid or disabled node in an island compiles it anew, and may wait. A
//   parameter never does.
// - Scratch that grows waits for the frames in flight and allocates.
//
// If a launch fails later, all work already queued is joined to `stream` or waited for, and the
// exec can be launched again. If that fails too, the device has failed (status.h). A stream under
// capture by the program is refused before anything is queued.
// Errors: BRAID_INVALID_ARGUMENT (a stream of another device). BRAID_UNSUPPORTED (a stream under
// capture, or a value that the exec cannot take). BRAID_BUSY (see braid_exec_when_full). The status
// of a queue call. The exec cannot take these values:
// - In an island: a copy or fill that leaves the device.
// - In CUDA and HIP graphs: a copy that gets pageable memory, and anything that the driver refuses.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_launch(braid_exec *exec, braid_stream *stream);

// Runs `num_frames` frames, one after another, as so many launches on `stream` would. If the whole
// graph is an island, one launch of the driver does many frames; otherwise each frame is one
// launch. A frame takes its own row of each parameter with rows (braid_exec_set_param_rows), and
// uses it up. No frames are no work, and no error.
//
// If a frame fails, the frames before it run, no frame is queued after it, and the message names
// it. braid_exec_launch describes the state of the frame that failed. A call that fails uses up all
// rows, also if no frame was queued; the parameters keep the rows of the frame that failed. Rows
// stay only if the call is made inside a host call, or refuses the number of frames or the stream.
// Errors: those of braid_exec_launch and braid_exec_set_param. BRAID_INVALID_ARGUMENT (a parameter
// has rows for another number of frames).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_launch_many(braid_exec *exec,
                                                               braid_stream *stream,
                                                               size_t num_frames);

// How many iterations of a loop ran in the last frame that was launched, once it has ended. Of a
// branch: how often its first arm ran. Of one inside a loop: all of the frame together.
// Errors: BRAID_INVALID_ARGUMENT (no loop or branch of the exec's graph, no frame was launched),
// BRAID_NOT_READY (the frame has not ended).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_get_iterations(braid_exec *exec, braid_node loop,
                                                                  uint64_t *out_num);

// Setters. Each writes a value for later launches; frames in flight keep their values. A setter
// copies the bytes, calls no driver, allocates nothing and waits for no frame. It refuses all that
// can be known without the driver, and then changes nothing. The message names the node. The next
// launch reports a refusal of the driver. Thread-safety: as for all calls on an exec; not inside a
// host call or queue call.

// Replaces one argument (or all) of a kernel node. For a value that many nodes use, see
// braid_exec_set_param. To swap two buffers, declare them by their roles (front, back) and swap the
// pointers of the kernels. An argument takes a pointer, never braid_resource_address.
// Errors: BRAID_INVALID_ARGUMENT (not a kernel node, no such argument, another size than given to
// the graph).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_arg(braid_exec *exec, braid_node node,
                                                           size_t index, braid_arg arg);
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_args(braid_exec *exec, braid_node node,
                                                            const braid_arg *args, size_t num_args);

// Gives a node another value of any kind. `value` points to the value, of the target's type
// (braid_target): &(braid_dim3){ 64 } for BRAID_TARGET_GRID, &(bool){ false } for
// BRAID_TARGET_ENABLED. `index` is the argument for BRAID_TARGET_ARGUMENT, and 0 otherwise. No
// value is part of the plan: accesses, edges and lifetimes of transient buffers stay, and must
// hold.
//
// An end of a copy or fill that was a resource may get another address. While it is that resource,
// or lies in a buffer declared with its address, the node must not go beyond the buffer's end. To
// change end and size together, use BRAID_TARGET_COPY and BRAID_TARGET_FILL.
// Errors:
// - BRAID_INVALID_ARGUMENT: a node without such a target, a wrong index, or a value that the graph
//   would not take.
// - BRAID_UNSUPPORTED: in an island, several blocks that may wait for each other.
// - BRAID_UNSUPPORTED: in CUDA and HIP graphs, copies that were added with pageable memory, and
//   several kinds of nodes.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set(braid_exec *exec, braid_node node,
                                                       braid_target target, size_t index,
                                                       const void *value);

// Gives scratch more bytes, for each node that uses it. Fewer bytes only take back a growth that no
// launch has made yet. The next launch waits for this exec's frames in flight, allocates the new
// memory and frees the old. If there is none, the launch fails and the frames keep their memory. An
// address that the program has replaced stays. The program itself changes arguments that carry the
// size.
// Errors: BRAID_INVALID_ARGUMENT (no scratch, 0 bytes). BRAID_UNSUPPORTED (an address in a driver's
// graph cannot change: the message names the node).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_scratch(braid_exec *exec,
                                                               braid_resource scratch,
                                                               uint64_t bytes);

// Gives a parameter another value, of as many bytes as it has. All nodes that use it get the value,
// also after braid_exec_set_arg. The cost is in proportion to their number.
// Errors: BRAID_INVALID_ARGUMENT (a user cannot take the value). BRAID_UNSUPPORTED (as above). All
// users keep their values.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_param(braid_exec *exec,
                                                             braid_parameter parameter,
                                                             const void *value);

// Gives a parameter a value for each frame of the next braid_exec_launch_many, of `num_rows`
// frames. Row f, of as many bytes as the parameter has, is for frame f. Rows are copied, and
// replace earlier rows; 0 rows remove them. Afterwards the parameter has the last row that a frame
// took. If there are more rows than ever before, the call may wait for other work on the device. It
// waits for a launch that waits (BRAID_FULL_WAITS).
// Errors: BRAID_INVALID_ARGUMENT (no parameter of the exec's graph, rows is NULL). BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_param_rows(braid_exec *exec,
                                                                  braid_parameter parameter,
                                                                  const void *rows,
                                                                  size_t num_rows);

// Blocks until this exec's last launch has ended. braid_exec_query does not block, and returns
// BRAID_NOT_READY before that end. Both return BRAID_OK if the exec was never launched.
// Errors: BRAID_DEVICE_ERROR (work on the device failed, perhaps outside this exec). CUDA and HIP
// do not tell which. If the exec has islands, the message names the nodes that were running inside
// (docs/cuda.md). Thread-safety: query takes no lock of the exec, so a queue call may use it.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_wait(braid_exec *exec);
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_query(braid_exec *exec);

// The number of frames launched. Frames count from 0 in launch order. Thread-safety: takes no lock
// and may be called anywhere, also in a host call, a queue call or a frame's callback.
BRAID_API uint64_t braid_exec_num_frames(braid_exec *exec);

// The frame of braid_exec_wait_until that stands for all frames.
#define BRAID_LAST_FRAME UINT64_MAX

// Blocks until a frame and all before it have ended, or for `ns` nanoseconds from now. The thread
// polls with sleeps of at most 1 ms. A limit of 0 asks once; UINT64_MAX is no limit.
// BRAID_LAST_FRAME waits for all frames, also for those launched meanwhile. If launches queue while
// all slots are taken (BRAID_FULL_QUEUES), the call waits for the latest frame in the same slot. To
// wait on the device, record an event on the stream right behind the launch.
// Errors: BRAID_TIMEOUT (the program may wait again), BRAID_INVALID_ARGUMENT (the frame was not
// launched yet), those of braid_exec_wait.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_wait_until(braid_exec *exec, uint64_t frame,
                                                              uint64_t ns);

// A node that runs.
typedef struct braid_running_node {
    braid_node node;
    const char *name; // lives as long as the exec
    uint64_t frame;
    uint64_t iteration; // of the innermost loop around it, from 0
    uint32_t lane, place, rank;
    uint32_t num_words; // of a kernel's arguments, each of which begins a word; 0: not known
    uint64_t arguments[16];
} braid_running_node;

// Writes up to `room` of the nodes that run, or ran when the device failed, and their number.
// Arguments are not known while a launch or setter runs.
// Errors: BRAID_UNSUPPORTED (made without black_box).
// Thread-safety: any thread at any time, and in the program's handler of a fault.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_get_running(braid_exec *exec,
                                                               braid_running_node *nodes,
                                                               size_t room, size_t *out_num);

// Ends launched frames: nodes that have not begun do nothing, and loops stop at their next test.
// BRAID_NOT_READY: something still runs. Until it ends, launches return BRAID_BUSY.
// Errors: BRAID_UNSUPPORTED (a GPU, communicators, no black_box), those of braid_exec_query.
// Thread-safety: as braid_exec_get_running.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_cancel(braid_exec *exec);

// The schedule that the exec runs. It lives as long as the exec.
BRAID_API const braid_schedule *braid_exec_schedule(const braid_exec *exec);

// The mode, leases, memory and frames of an exec.
typedef struct braid_exec_info {
    braid_exec_mode mode;      // never BRAID_MODE_AUTO
    char reason[256];          // why this mode
    uint32_t num_streams;      // streams leased while the exec lives
    uint32_t num_events;       // events leased while the exec lives
    uint64_t argument_bytes;   // of all kernels
    uint32_t num_early_starts; // kernels launched while their lane predecessor still runs
    uint32_t num_island_nodes; // nodes that are calls inside an island
    // Device memory in bytes. Frames of one exec share the memory of transient buffers.
    uint64_t transient_bytes;          // of the transient buffers of a frame
    uint64_t unshared_transient_bytes; // the same if no two shared memory
    uint64_t transient_bound_bytes;    // no packing takes less: the most that may be alive at once
    uint64_t memory_bytes;             // all that was allocated for the exec
    uint32_t num_islands;              // kernels that are islands
    uint32_t num_frames;               // that may be in flight at once
    bool whole_frames;                 // a frame starts when the one before has ended
    uint32_t num_frame_waits;          // in a frame, for nodes of the frame before
    // By the plan's times: the time of one more frame with so many in flight, and of a frame alone.
    // If both are equal, more frames in flight gain nothing.
    uint64_t frame_period_ns, frame_alone_ns;
    char frames_reason[256]; // how far frames overlap, why not further, and the gain
    uint32_t num_prefetches; // kernels that fetch inputs of the next one into the device's cache
} braid_exec_info;

// Writes the info of an exec.
BRAID_API void braid_exec_get_info(const braid_exec *exec, braid_exec_info *out_info);

// The cost model of a device in a mode, as braid_exec_create uses it.
BRAID_API void braid_device_get_cost_model(const braid_device *device, braid_exec_mode mode,
                                           braid_cost_model *out_model);

#ifdef __cplusplus
}
#endif

#endif
