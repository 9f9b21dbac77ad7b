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

// With braid_exec_options.frames_kept an exec keeps the times of its last frames (docs/profile.md).
// All intervals are by the host's clock (CLOCK_MONOTONIC); nodes are given by index.

// The index of no node.
#define BRAID_NO_NODE UINT32_MAX

// A time over the frames kept.
typedef struct braid_spread {
    uint64_t least_ns, median_ns, most_ns;
} braid_spread;

// One of the frames kept.
typedef struct braid_frame_timing {
    braid_interval launch; // on the host: the call that launched it, without waiting for a slot
    // On the device, from the begin of the first node (on streams: of the frame) to the end of the
    // last. Of several frames in flight a later one may end first here.
    braid_interval frame;
    // The largest offset between times of the device, which have none against each other, and of
    // the host.
    uint64_t error_ns;
} braid_frame_timing;

// How a node is timed (docs/profile.md).
typedef enum braid_timed_by {
    BRAID_TIMED_NOT,    // it never ran, or its times are not known
    BRAID_TIMED_AROUND, // from the end of the work before it, or a mark there: its start is in it
    BRAID_TIMED_INSIDE, // itself alone: it writes down when it begins and ends
} braid_timed_by;

// A node's times where it runs. Empty nodes take 0. A node in a loop or branch has a mean in each
// frame, and `time` is of these means.
typedef struct braid_node_timing {
    braid_spread time;
    uint64_t mean_ns;        // the mean of all runs
    uint64_t num_runs;       // in the frames kept
    braid_timed_by timed_by; // in the frames kept
} braid_node_timing;

// A lane's times in a frame: the mean of the frames kept.
typedef struct braid_lane_timing {
    uint64_t busy_ns;    // ran nodes
    uint64_t waiting_ns; // waited for other lanes, or for frames before
    uint64_t idle_ns;    // neither: before its first node, behind its last, and between
    uint32_t num_nodes;
    uint32_t waited_for;    // the node that it waited for longest; BRAID_NO_NODE: for none
    uint64_t waited_for_ns; // and how long
} braid_lane_timing;

// A wait of a lane for a node of another lane, or of an earlier frame if several are in flight.
// Waits that others make unnecessary are left out.
typedef struct braid_wait_timing {
    uint32_t lane;
    uint32_t node; // that runs behind it; BRAID_NO_NODE: none does
    uint32_t waited_for;
    uint32_t waited_for_lane;
    braid_spread wait;
    uint32_t frames_before; // how much earlier the awaited node's frame is; 0: the same frame
} braid_wait_timing;

// The times of the frames kept.
typedef struct braid_timings {
    uint32_t frames_kept; // 0: none was launched yet, and all times are 0
    uint32_t num_nodes;   // the graph's when the exec was made
    uint32_t num_lanes;
    uint64_t num_waits; // in a frame, between lanes and for frames before
    braid_spread frame; // from its begin on the device to its end
    // If the graph is one island: the waits of all its lanes for each other, in the mean of the
    // frames. Otherwise 0.
    uint64_t island_wait_ns;
    const braid_frame_timing *frames; // frames_kept, the oldest first
    const braid_node_timing *nodes;   // num_nodes
    const braid_lane_timing *lanes;   // num_lanes
    const braid_wait_timing *waits;   // num_waits
    // As in braid_timeline_options; zero of a node in a loop or branch.
    const braid_interval *intervals;
} braid_timings;

// Waits for the exec's last launch and reads the times of the frames kept. The arrays are the
// exec's, and valid until the next such call.
// Errors: BRAID_UNSUPPORTED (the exec keeps no times).
// Thread-safety: one thread at a time for each exec.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_exec_get_timings(braid_exec *exec,
                                                                  braid_timings *out_timings);

// The frames of braid_exec_measure that the program has launched, and whose times are kept.
#define BRAID_KEPT_FRAMES UINT32_MAX

// Runs `num_frames` frames (0: as many as are kept, at least 3; BRAID_KEPT_FRAMES: none) one after
// another on the device's default stream. Then it gives every node its median time as cost, and
// every loop its iterations (docs/profile.md). `graph` is the exec's, perhaps with new nodes.
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
