// SPDX-License-Identifier: Apache-2.0
// Timings: what the last frames of an exec did, and costs from them.
#ifndef BRAID_TIMINGS_H
#define BRAID_TIMINGS_H

#include <stddef.h>
#include <stdint.h>

#include <braid/exec.h>
#include <braid/graph.h>
#include <braid/status.h>
#include <braid/timeline.h>

#ifdef __cplusplus
extern "C" {
#endif

// An exec made with braid_exec_options.profile keeps the times of its last frames, and
// braid_exec_get_timings reads all of them at once.

#define BRAID_NO_NODE UINT32_MAX

// Of one thing over the frames kept.
typedef struct braid_spread {
    uint64_t least_ns, median_ns, most_ns;
} braid_spread;

// One of the frames kept, by the host's clock (CLOCK_MONOTONIC), as all intervals of timings are.
typedef struct braid_frame_timing {
    braid_interval launch; // on the host: the call that launched it, but for waiting for a place
    // On the device, from the begin of its first node (on streams from where the frame begins) to
    // the end of its last one. With several frames in flight that of a later one may end first:
    // what waits and callbacks are told of an end stands behind the ends of all frames before, and
    // that is in no frame's times.
    braid_interval frame;
    // By how much at most times of the device are off against the host's clock: against each other
    // they are not. Of the CPU's walker some tens of nanoseconds. Of a GPU half of what the fastest
    // of nine small kernels or events took, from the host and back, and 100 millionths of the time
    // between the frame and the reading, since two clocks go apart.
    uint64_t error_ns;
} braid_frame_timing;

// What the times of a node are of. On the CPU's walker and on streams nodes are timed around.
// In a driver graph of CUDA, kernels that have source or PTX write their own times, first block's
// begin to last block's end, and so do the calls of islands. Two small kernels stand around copies,
// fills, calls, and kernels of machine code, and those some of whose threads end before a barrier
// of the others: what the code for the times would keep from ending. The log says why a kernel is
// timed around, when the first such exec is created while the kernel is loaded: again only when all
// execs with it were destroyed in between.
typedef enum braid_timed_by {
    BRAID_TIMED_NOT,    // nothing: it has no work (an empty node), or its times are not known
    BRAID_TIMED_AROUND, // from the end of what was before it, or a mark there: starting it is in it
    BRAID_TIMED_INSIDE, // itself alone: it writes down when it begins and ends
} braid_timed_by;

// The times of a node. Preludes, epilogues, copies and calls are nodes too. Empty nodes take 0.
typedef struct braid_node_timing {
    braid_spread time;
    braid_timed_by timed_by; // in the frames kept
} braid_node_timing;

// What a lane did in a frame, in the mean of those kept.
typedef struct braid_lane_timing {
    uint64_t busy_ns;    // ran nodes
    uint64_t waiting_ns; // waited for other lanes, or for frames before
    uint64_t idle_ns;    // neither: before its first node, behind its last, and between
    uint32_t num_nodes;
    uint32_t waited_for;    // index of the node that it waited for longest; BRAID_NO_NODE: for none
    uint64_t waited_for_ns; // and how long
} braid_lane_timing;

// A wait of a lane for a node of another one, or of a frame before where several are in flight
// (where these are ordered as a whole, no wait in a frame shows it). Waits that others make
// unnecessary are left out.
typedef struct braid_wait_timing {
    uint32_t lane;
    uint32_t node;       // index of the node that runs behind it; BRAID_NO_NODE: none does
    uint32_t waited_for; // index of the node that it waits for
    uint32_t waited_for_lane;
    braid_spread wait;
    uint32_t frames_before; // how much earlier the frame is whose node it waits for; 0: its own
} braid_wait_timing;

typedef struct braid_timings {
    uint32_t num_frames; // kept; 0: none was launched yet, and all times are 0
    uint32_t num_nodes;  // of the graph as it was when the exec was made
    uint32_t num_lanes;
    uint64_t num_waits; // in a frame, between lanes and for frames before
    braid_spread frame; // from its begin on the device to its end
    // What the lanes of the graph as one island waited for each other, all of them together, in the
    // mean of the frames; 0 where it is not one island. No lane of other islands waits inside.
    uint64_t island_wait_ns;
    const braid_frame_timing *frames; // num_frames, the oldest first
    const braid_node_timing *nodes;   // num_nodes, by index
    const braid_lane_timing *lanes;   // num_lanes
    const braid_wait_timing *waits;   // num_waits
    // When each node ran: that of node i in frame f is intervals[f * num_nodes + i], as
    // braid_timeline_options takes them.
    const braid_interval *intervals;
} braid_timings;

// Waits for the exec's last launch and reads the times of the frames kept then, holding up other
// calls on the exec meanwhile. The arrays are the exec's: they stay as they are until the next call
// of this function on the exec, or its end.
// Errors: BRAID_INVALID_ARGUMENT (NULL, or the exec keeps no times), BRAID_NO_MEMORY,
// BRAID_DEVICE_ERROR. Thread-safety: one thread at a time for each exec.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_get_timings(braid_exec *exec,
                                                               braid_timings *out_timings);

// Runs `num_frames` frames on the device's default stream (0: as many as are kept, 3 at least),
// each after the one before has ended, and gives every node of the graph the median of the times
// kept as its cost: of nodes that are timed around, less what starting them takes by the device's
// cost model, and on CUDA's streams 4.4 us that the events between kernels take, but no less than
// the steps in which times are told (half a microsecond by events of a GPU, 32 ns by kernels
// themselves): a kernel that is lost in what starting it takes is not free. Plans made from
// the graph afterwards use these costs. What else runs on the device, or on the other lanes, is in
// them. `graph` is the one that the exec was made of, to which nodes may have been added since.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_measure(braid_exec *exec, braid_graph *graph,
                                                           uint32_t num_frames);

#ifdef __cplusplus
}
#endif

#endif
