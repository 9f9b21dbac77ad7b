// SPDX-License-Identifier: Apache-2.0
// Times of the last frames of an exec, and costs from them.
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

// An exec with braid_exec_options.frames_kept keeps the times of its last frames (docs/profile.md).
// Intervals are times of the host's clock (CLOCK_MONOTONIC). A number of a node is its index in the
// graph.

// The index that stands for no node.
#define BRAID_NO_NODE UINT32_MAX

// The least, median and most of a time, over the frames kept.
typedef struct braid_spread {
    uint64_t least_ns, median_ns, most_ns;
} braid_spread;

// The times of one frame.
typedef struct braid_frame_timing {
    // On the host: the call that launched the frame. If the call waited for a slot, that time is
    // left out.
    braid_interval launch;
    // On the device: from the begin of the first node (on streams: of the frame) to the end of the
    // last node. If several frames are in flight, a later one may end before an earlier one here.
    braid_interval frame;
    // How far the device's clock and the host's may be apart in these intervals, at most. Between
    // two times of the device there is no such error.
    uint64_t error_ns;
} braid_frame_timing;

// How a node is timed (docs/profile.md).
typedef enum braid_timed_by {
    BRAID_TIMED_NOT,    // it never ran, or its times are not known
    BRAID_TIMED_AROUND, // from the end of the work before it, or from a mark there: the time that
                        // the node takes to start is included
    BRAID_TIMED_INSIDE, // the node writes down its own begin and end
} braid_timed_by;

// The times of one node. An empty node takes 0. A node in a loop or branch may run several times in
// a frame: `time` is then the spread of the frames' means.
typedef struct braid_node_timing {
    braid_spread time;
    uint64_t mean_ns;        // the mean of all runs in the frames kept
    uint64_t num_runs;       // the number of runs in the frames kept
    braid_timed_by timed_by; // in these frames
} braid_node_timing;

// The times of one lane in a frame, as the mean of the frames kept.
typedef struct braid_lane_timing {
    uint64_t busy_ns;       // the lane ran nodes
    uint64_t waiting_ns;    // it waited for other lanes, or for earlier frames
    uint64_t idle_ns;       // neither: before its first node, between nodes, and behind its last
    uint32_t num_nodes;     // the nodes on the lane
    uint32_t waited_for;    // the node for which the lane waited longest; BRAID_NO_NODE: none
    uint64_t waited_for_ns; // how long it waited for that node
} braid_lane_timing;

// The times of one wait: of a lane for a node of another lane, or for a node of an earlier frame.
// A wait that follows from other waits is not in the list.
typedef struct braid_wait_timing {
    uint32_t lane;            // the lane that waits
    uint32_t node;            // the node that runs behind the wait; BRAID_NO_NODE: none
    uint32_t waited_for;      // the awaited node
    uint32_t waited_for_lane; // the lane of the awaited node
    braid_spread wait;        // how long the lane waits
    uint32_t frames_before;   // how many frames earlier the awaited node runs; 0: in the same frame
} braid_wait_timing;

// The times of the frames kept.
typedef struct braid_timings {
    uint32_t frames_kept; // 0: no frame was launched yet, and all times are 0
    uint32_t num_nodes;   // the nodes of the graph when the exec was made
    uint32_t num_lanes;
    uint64_t num_waits; // the waits in a frame, between lanes and for earlier frames
    braid_spread frame; // a frame, from its begin on the device to its end
    // If the whole graph is one island: the time that all its lanes together wait for each other,
    // in the mean of the frames. Otherwise 0.
    uint64_t island_wait_ns;
    const braid_frame_timing *frames; // frames_kept items, the oldest frame first
    const braid_node_timing *nodes;   // num_nodes items
    const braid_lane_timing *lanes;   // num_lanes items
    const braid_wait_timing *waits;   // num_waits items
    // For braid_timeline_options: num_nodes items for each frame kept; zeros for a node in a loop
    // or branch.
    const braid_interval *intervals;
} braid_timings;

// Waits for the exec's last launch, and reads the times of the frames kept. The exec owns the
// arrays, which are valid until the next call of this function.
// Errors: BRAID_UNSUPPORTED (the exec keeps no times).
// Thread-safety: one thread at a time for each exec.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_exec_get_timings(braid_exec *exec,
                                                                  braid_timings *out_timings);

// As `num_frames` of braid_exec_measure: run no frame, and take the times that are kept already.
#define BRAID_KEPT_FRAMES UINT32_MAX

// Runs `num_frames` frames, one after another, on the device's default stream. 0 runs as many as
// are kept, and at least 3. Then it gives each node its median time as cost, and each loop its
// number of iterations (docs/profile.md). `graph` is the graph that the exec was made from. It may
// have got nodes since then.
// Errors: as braid_exec_get_timings and braid_exec_launch.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_measure(braid_exec *exec, braid_graph *graph,
                                                           uint32_t num_frames);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_get_timings_sized(braid_exec *exec,
                                                                     braid_timings *out_timings,
                                                                     size_t size);
BRAID_INLINE braid_status braid_exec_get_timings(braid_exec *exec, braid_timings *out_timings)
{
    return braid_exec_get_timings_sized(exec, out_timings, sizeof(braid_timings));
}

#ifdef __cplusplus
}
#endif

#endif
