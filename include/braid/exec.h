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

// A graph ready to run on a device, or on the members of a group. Launches of one exec run one
// after another, in launch order, whatever streams they are on, unless braid_exec_options.frames
// lets them overlap; different execs run at once.
// Thread-safety: any thread; calls on one exec are serialised by a lock. While a launch or a reader
// of its times waits for frames, others may change its values, but not launch it.
typedef struct braid_exec braid_exec;

// How a plan reaches the device. Every mode executes the same schedule.
typedef enum braid_exec_mode {
    BRAID_MODE_AUTO = 0,    // a graph where everything in the graph can be, else streams
    BRAID_MODE_STREAMS = 1, // leased streams, with records and waits
    BRAID_MODE_GRAPH = 2,   // the backend's own replay: a CUDA or HIP graph, the CPU's lane walker
} braid_exec_mode;

// Whether kernels of a plan may become calls inside one kernel, an island (docs/cuda.md). Only CUDA
// has islands, and only in graph mode: elsewhere WHOLE and ALWAYS are refused with
// BRAID_UNSUPPORTED.
typedef enum braid_islands {
    // In graph mode, for kernels that have source: the whole graph where all of it is such and has
    // costs; else stretches of lanes whose kernels follow each other with nothing between; where
    // that is expected to make the frame at least 3 % shorter (for a whole graph of 256 nodes or
    // more 1 %). Creating such an exec compiles, and may wait for other work on the device.
    BRAID_ISLANDS_AUTO = 0,
    BRAID_ISLANDS_NEVER = 1,  // none
    BRAID_ISLANDS_WHOLE = 2,  // the whole graph is one island, or creating the exec fails with
                              // BRAID_UNSUPPORTED and names the first node that cannot be inside.
                              // Creating one compiles, and may wait for other work on the device
    BRAID_ISLANDS_ALWAYS = 3, // every such stretch of two kernels and more, shorter or not; one
                              // that cannot be made is an error
} braid_islands;

// What a launch does while as many frames are in flight as braid_exec_options.frames allows.
typedef enum braid_exec_when_full {
    BRAID_FULL_QUEUES = 0,  // queues the frame behind the one whose place it takes
    BRAID_FULL_WAITS = 1,   // blocks until that one has ended; other threads use the exec meanwhile
    BRAID_FULL_REFUSES = 2, // returns BRAID_BUSY, and queues nothing
} braid_exec_when_full;

// Frames of an exec count from 0 in launch order.
typedef void braid_frame_function(uint64_t frame, void *user);

typedef struct braid_exec_options {
    braid_exec_mode mode;
    const braid_schedule *schedule; // NULL: plan the graph here, with `plan` and, where its costs
                                    // are all zero, the device's own cost model; otherwise a
                                    // schedule of this graph, copied
    braid_schedule_options plan;
    // CUDA, sm_90 and newer: kernels that Braid has as text (source, or PTX) are launched while
    // the kernel before them on their lane still runs, where the device's cost model says that it
    // pays, and wait for its end before they do anything. True: they are launched after it, and
    // so are kernels with braid_kernel.programmatic.
    bool no_early_start;
    braid_islands islands;
    // How many of the last frames' times are kept, of every node, wait, lane and frame: see
    // timings.h, and docs/profile.md for what it costs a frame. 0: none, at no cost. Driver graphs
    // of HIP keep none: there an exec with BRAID_MODE_GRAPH is refused.
    uint32_t profile;
    // How many frames may be in flight at once, up to 16; 0: 1. Each has its own arguments and
    // transient buffers. What they share is ordered by the declared accesses, node by node: a node
    // starts when those of the frames before have ended that touch the same resources, one of them
    // writing. So all that nodes touch must be declared: edges hold inside a frame only. Where a
    // node declares nothing at all, frames run one after another. Frames end in launch order, by
    // all that tells of it, but for their times (see braid_frame_timing). Launches on different
    // streams overlap, and so do those on one stream of braid_stream_create, unless other work was
    // queued between them or its handle was asked for; on other streams a launch starts
    // after earlier launches there. Where frames cannot overlap, info.frames_reason says why.
    uint32_t frames;
    braid_exec_when_full when_full; // where frames is more than 1
    // Called once for each frame that braid_exec_num_frames counts, in launch order, when it has
    // ended and before waits for it return, on a thread of the CPU's workers or the driver's, or of
    // a launch that could not queue it. It may do what a host call may. Not called for a launch
    // that failed before it was counted, nor once the device has. A frame takes longer by a host
    // call; braid_exec_launch_many launches frames one by one. NULL: not called. For an event
    // instead, record one on the stream right behind the launch.
    braid_frame_function *on_frame_end;
    void *on_frame_end_user; // must live as long as the exec
} braid_exec_options;

// Plans (unless given a schedule), verifies, leases streams and events, loads kernels and allocates
// everything later launches need. The graph and the schedule may be destroyed afterwards.
// NULL options are all defaults. May wait for other work on the device where it loads a kernel that
// no exec uses yet: drivers do.
// On a group: `plan.places` counts, and if it is NULL, braid_device_get_place_model of the group. A
// schedule that is given was planned for at most as many places; one planned for one place runs on
// the first member. The exec is launched on streams of the first member, which braid_exec_info also
// counts. If the plan has several places, islands are left out and times of frames are refused
// (BRAID_UNSUPPORTED). If a member breaks, waits and launches fail and name it; execs on others go
// on.
// Errors: those of braid_schedule_create; BRAID_UNSUPPORTED (a kernel without code for this device,
// a mode that this device or graph does not allow: the message says why); BRAID_INVALID_ARGUMENT (a
// transient buffer whose first access reads it: the message names buffer and node);
// BRAID_NO_MEMORY; BRAID_DEVICE_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_create(braid_device *device,
                                                          const braid_graph *graph,
                                                          const braid_exec_options *options,
                                                          braid_exec **out_exec);

// Waits for this exec's own launches in flight, and for nothing else, then frees it; freeing the
// memory of transient buffers may wait for other work, as braid_memory_free does.
BRAID_API void braid_exec_destroy(braid_exec *exec);

// Runs one frame: it starts after all earlier work on `stream` and later work on `stream` starts
// after it. It waits for the device only where braid_exec_when_full or the text below says so. A
// program that can run ahead of its device must therefore wait now and then itself, for instance
// for the event of two frames ago. After the first launch it creates, allocates and frees nothing;
// only when more launches are in flight at once than ever before may the CPU backend, or the
// driver, take more memory for them.
// A launch takes the values that were set since the last one. If memory runs out for one, or the
// driver refuses one, the launch fails: the message names the node, nothing is queued, and no frame
// counts. The next launch tries the same values again, or others that were set in between. Each
// frame in flight takes a change by itself, so the launch that fails may be a later one. What a
// change may cost its launch: a copy of pageable memory allocates; the first changed grid or
// disabled node inside an island compiles the island anew, and waits as creating an exec does (no
// parameter does that); scratch that grows waits for the frames in flight and allocates.
// If a launch fails, what was queued is joined to `stream`, or waited for where that fails as well,
// and the message names the node; the exec can be launched again. Until such a launch returns,
// waits of other threads wait for it, and query says BRAID_NOT_READY. If the waiting fails too, the
// device has failed (see status.h).
// A stream that is being captured into a graph of the program's own (CUDA, HIP) is refused before
// anything is queued, and the capture goes on: use Braid's graph instead, with queue calls.
// Errors: BRAID_DEVICE_ERROR, BRAID_INVALID_ARGUMENT (a stream of another device),
// BRAID_UNSUPPORTED (a stream that is being captured; a value that the exec cannot take: in an
// island a copy or fill that leaves the device, in CUDA and HIP graphs a copy that gets pageable
// memory, and what the driver refuses), BRAID_NO_MEMORY (for a value, or for scratch that grows),
// BRAID_BUSY (see braid_exec_when_full), and what a queue call returned.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_launch(braid_exec *exec, braid_stream *stream);

// Runs `num_frames` frames, one after another, as so many launches on `stream` would: with one
// launch of the driver's for many of them where the whole graph is an island, and with one for each
// otherwise. A frame takes the values of its own row of each parameter that has rows
// (braid_exec_set_param_rows), which are used up by that. No frames are no work, and no error.
// If a frame fails, those before it have been queued and run; the message says which one failed,
// and what braid_exec_launch says of a launch that fails holds for that frame. No frame is queued
// after it. Rows are used up by a call that fails, too, whether a frame was queued or none: before
// it is tried again they are to be set again; the parameters have the rows of the frame that
// failed. Rows stay only where the call is refused for what it was given (another number of frames
// than rows, a stream of another device or one that is being captured) or since it is made inside a
// host call. Errors: those of braid_exec_launch and braid_exec_set_param; BRAID_INVALID_ARGUMENT (a
// parameter has rows for another number of frames).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_launch_many(braid_exec *exec,
                                                               braid_stream *stream,
                                                               size_t num_frames);

// How many iterations of a loop ran in the last frame that was launched, once it has ended. Of a
// loop inside another one: all of the frame together. Errors: BRAID_INVALID_ARGUMENT (no loop of
// the exec's graph, no frame was launched), BRAID_NOT_READY (the frame has not ended),
// BRAID_DEVICE_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_get_iterations(braid_exec *exec, braid_node loop,
                                                                  uint64_t *out_num);

// Setters. Each writes a value for later launches; frames in flight keep what they were launched
// with. A setter copies the bytes, calls no driver, allocates nothing and waits for no frame, and
// costs the same however many frames may be in flight. It refuses what can be known without the
// driver, and then changes nothing; what the driver makes of a value the next launch tells (see
// braid_exec_launch). A value that is what the node has costs the launch nothing.
// Thread-safety: as for all calls on an exec; not inside a host call or queue call.

// Replaces one argument (or all) of a kernel node.
// This is what can change from frame to frame: time steps, pointers; what many nodes use alike is a
// parameter, see braid_exec_set_param. To swap two buffers, declare them by their roles (front,
// back) and swap the pointers of the kernels. Sizes must be those given to the graph: an argument
// takes a pointer, never braid_resource_address. Errors:
// BRAID_INVALID_ARGUMENT (not a kernel node of this graph, no such argument, another size).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_arg(braid_exec *exec, braid_node node,
                                                           size_t index, braid_arg arg);
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_args(braid_exec *exec, braid_node node,
                                                            const braid_arg *args, size_t num_args);

// Gives a node another value of any kind. `value` points to it, and the target says its type (see
// braid_target): &(braid_dim3){ 64 } for BRAID_TARGET_GRID, &(bool){ false } for
// BRAID_TARGET_ENABLED, &pointer for BRAID_TARGET_USER. `index` is that of the argument for
// BRAID_TARGET_ARGUMENT, and 0 otherwise. No value is part of the plan: the node's accesses and
// edges stay and must hold for what it does now, and so do the lifetimes of transient buffers.
// An end of a copy or fill that was a resource may get another address; while it is that resource
// the node must not go beyond its end. Nor may it go beyond the end of a buffer that was declared
// with its address, if an end is in one. Each call is checked with what the node has then, so
// BRAID_TARGET_COPY and BRAID_TARGET_FILL change end and size together.
// Errors, which name the node: BRAID_INVALID_ARGUMENT (no node of the exec's graph, a node that has
// no such target, another index than there is, a value that the graph would not take, value is
// NULL), BRAID_UNSUPPORTED (the exec is known not to make such a change, and why: in an island
// several blocks that may wait for each other; in CUDA and HIP graphs copies that were added with
// pageable memory, and several kinds of nodes).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set(braid_exec *exec, braid_node node,
                                                       braid_target target, size_t index,
                                                       const void *value);

// Gives scratch more bytes, for each node that uses it; fewer than it has change nothing, but that
// they take back a growth that no launch has made yet. The next launch packs the memory of a frame
// anew and proves it anew, waits for this exec's frames in flight, allocates memory for each frame
// that may be in flight, and frees the old one: that may wait for other work on the device. So let
// it grow by much, seldom. If there is no memory, the launch fails with BRAID_NO_MEMORY and the
// frames keep what they have. What the program has put in place of an address (braid_exec_set_arg
// and the like) stays. What the nodes are told of the size, an argument for instance, is the
// program's to change; to a copy or fill that has the address of scratch nothing but its end is
// known, as it was added. Errors: BRAID_INVALID_ARGUMENT (no scratch of the exec's graph, 0 bytes),
// BRAID_UNSUPPORTED where the address of a transient buffer or of scratch cannot change in a
// driver's graph (the message names the node).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_scratch(braid_exec *exec,
                                                               braid_resource scratch,
                                                               uint64_t bytes);

// Gives a parameter another value. `value` points to as many bytes as the parameter has. All nodes
// that use it get it, whatever braid_exec_set_arg and the like gave them before. It costs in
// proportion to their number; in graph mode on GPUs the next launch tells a graph of the driver's
// of each user.
// Errors: BRAID_INVALID_ARGUMENT (no parameter of the exec's graph as it was when the exec was
// made, value is NULL, a user cannot take the value), BRAID_UNSUPPORTED (as above); the message
// names the node, and all users keep what they had.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_param(braid_exec *exec,
                                                             braid_parameter parameter,
                                                             const void *value);

// Gives a parameter a value for each frame of the next braid_exec_launch_many, which must be of
// `num_rows` frames: row f, of as many bytes as the parameter has, is for frame f. Rows are copied,
// and replace those set before; no rows take them away. What the parameter is until then stays;
// afterwards it is the last row that a frame took. Memory for rows is kept for later ones; it may
// wait for other work on the device where there are more of them than ever before, and it waits for
// a launch that does (BRAID_FULL_WAITS).
// Errors: BRAID_INVALID_ARGUMENT (no parameter of the exec's graph, rows is NULL), BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_param_rows(braid_exec *exec,
                                                                  braid_parameter parameter,
                                                                  const void *rows,
                                                                  size_t num_rows);

// Blocks until this exec's last launch has ended; query does not block and returns BRAID_NOT_READY
// before that. BRAID_OK when it was never launched.
// Errors: BRAID_DEVICE_ERROR (work on the device failed). CUDA and HIP do not tell which work:
// after a fault the whole context is broken, every later call on it reports the same error, and the
// cause may be other work than this exec's; where the exec has islands, the message names the nodes
// inside that were running, and their islands (docs/cuda.md). On the CPU work does not fail.
// Thread-safety: query takes no lock of the exec's, so a queue call may ask as well.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_wait(braid_exec *exec);
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_query(braid_exec *exec);

// How many frames have been launched. They count from 0 in launch order.
// Thread-safety: takes no lock and may be asked anywhere, also in a host call, a queue call or a
// frame's callback.
BRAID_API uint64_t braid_exec_num_frames(braid_exec *exec);

#define BRAID_LAST_FRAME UINT64_MAX

// Blocks until a frame has ended, and with it all before, or for `ns` nanoseconds from now. The
// calling thread asks with short sleeps, of 1 ms at most. A limit of 0 asks once. UINT64_MAX is no
// limit: the thread waits as in braid_exec_wait. BRAID_LAST_FRAME waits for all frames, also for
// those that other threads launch meanwhile. If launches queue although all places are taken
// (BRAID_FULL_QUEUES), the call waits for the latest frame in the same place. To wait for a frame
// on the device, record an event on the stream right behind the launch.
// Errors: BRAID_TIMEOUT (the frame goes on, and can be waited for again), BRAID_INVALID_ARGUMENT (a
// frame that was not launched yet), those of braid_exec_wait. Thread-safety: as braid_exec_wait.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_wait_until(braid_exec *exec, uint64_t frame,
                                                              uint64_t ns);

// The schedule that the exec runs; lives as long as the exec.
BRAID_API const braid_schedule *braid_exec_schedule(const braid_exec *exec);

typedef struct braid_exec_info {
    braid_exec_mode mode;      // never BRAID_MODE_AUTO
    char reason[256];          // why this mode
    uint32_t num_streams;      // streams leased while the exec lives
    uint32_t num_events;       // events leased while the exec lives
    uint64_t argument_bytes;   // of all kernels
    uint32_t num_early_starts; // kernels launched while their lane predecessor still runs
    uint32_t num_island_nodes; // nodes that are calls inside an island
    // Of the device's memory, in bytes. Frames of one exec share the memory of transient buffers.
    uint64_t transient_bytes;          // what the transient buffers of a frame take
    uint64_t unshared_transient_bytes; // what they would take if no two shared memory
    uint64_t transient_bound_bytes;    // no packing takes less: the most that may be alive at once
    uint64_t memory_bytes;             // all that was allocated for the exec
    uint32_t num_islands;              // kernels that are islands
    uint32_t num_frames;               // that may be in flight at once
    bool whole_frames;                 // a frame starts when the one before has ended
    uint32_t num_frame_waits;          // in a frame, for nodes of the frame before
    // What a further frame takes while so many are in flight, and what a frame alone takes, by the
    // plan's times. Where these are equal, more frames in flight gain nothing.
    uint64_t frame_period_ns, frame_alone_ns;
    char frames_reason[256]; // how far frames overlap, why not further, and what that gains
} braid_exec_info;

BRAID_API void braid_exec_get_info(const braid_exec *exec, braid_exec_info *out_info);

// The cost model of a device in a mode, as braid_exec_create uses it.
BRAID_API void braid_device_get_cost_model(const braid_device *device, braid_exec_mode mode,
                                           braid_cost_model *out_model);

#ifdef __cplusplus
}
#endif

#endif
