// SPDX-License-Identifier: Apache-2.0
// Tuning: finds by trial how a graph is best played on a device.
#ifndef BRAID_TUNE_H
#define BRAID_TUNE_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/exec.h>
#include <braid/graph.h>
#include <braid/status.h>
#include <braid/timings.h>

#ifdef __cplusplus
extern "C" {
#endif

// One way to play the graph, as it was tried.
typedef struct braid_tune_trial {
    const char *name;              // "graph, 4 lanes, searched"; valid during the call
    const braid_exec_options *way; // options for braid_exec_create, without profile
    uint32_t num_lanes;            // that the plan has
    uint32_t num_frames;           // that were timed
    uint64_t planned_ns;           // a frame, by the plan
    braid_spread frame; // a frame as timed by the host, its launch and the waiting included
    bool was_dropped;   // as clearly slower, before the end
    bool is_best;       // the way that is handed out; see braid_tune_report
} braid_tune_trial;

// Told of each trial at the end, fastest first, dropped ones last. The best is the one that is
// taken: among those as fast as the first the one with the fewest lanes. Not to launch or tune.
typedef void braid_tune_report(void *user, const braid_tune_trial *trial);

// Told before frames are timed and now and then meanwhile, how much is used of the time that this
// takes: the budget, or if the costs were measured and the budget is too short for the least frames
// that run, about what these take. Not to launch or tune.
typedef void braid_tune_progress(void *user, uint64_t used_ns, uint64_t total_ns);

typedef struct braid_tune_options {
    // For timing frames; 0: two seconds. Before it, costs are measured by ten frames, or by three
    // where these take as long as this; planning comes on top. However short, each way runs two
    // frames, the faster half of them (of three at least) a third, and half of that a fourth; the
    // first does not count. With `max_frames` three frames are run for each of these. Where frames
    // are slow, that may be many times the budget: `progress` is told before it begins.
    uint64_t budget_ns;
    uint32_t max_lanes;  // that are tried, as far as so many nodes may run at once; 0: up to 32
    bool keep_costs;     // plan with the graph's costs; otherwise they are measured first, and set
    uint32_t max_frames; // in flight, that are tried: 2 or 3; 0 or 1: one, since frames overlap
                         // rightly only where nodes declare all that they access
    braid_tune_report *report; // NULL: nobody is told
    void *user;
    braid_tune_progress *progress; // NULL: nobody is told; with the same user
} braid_tune_options;

// Runs frames of the graph on the device's default stream (with `max_frames` on one of its own), as
// many as the budget has room for, and writes how to make the exec that was the fastest. First the
// costs of its nodes are measured (braid_exec_measure). With these the graph is planned for each
// mode on several numbers of lanes and on one for everything that may run at once, with and without
// a search for a shorter plan (effort), once as if no cost were known (ignore_costs), and where the
// device has them, without early starts and as an island. With `max_frames` the plan of each mode
// that promises most is tried with more frames in flight as well.
// The plans that promise most are timed in turns, so that a change of the machine's speed meets all
// alike; after half and after three quarters of the budget the slower half of them is left out.
// Of those within 1 % of the fastest, and whose medians the times cannot tell from its median
// (intervals of 95 % overlap), the one with the fewest lanes is taken, and of those the one with
// the fewest frames in flight. NULL options are all zero. The graph's kernels and calls run as
// often as the budget has room for, thousands of times where a frame is short, with the arguments
// they were added with. Errors: those of braid_exec_create and braid_exec_launch.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_tune(braid_device *device, braid_graph *graph,
                                                        const braid_tune_options *options,
                                                        braid_exec_options *out_way);

// A number for the graph by its structure: kinds, names and order of nodes, bundles, edges and
// accesses; not by costs, arguments or addresses. The same for a graph that is built alike, in
// another process too, so that costs or ways kept in a file can be told to be another graph's.
// 0 for NULL. Thread-safety: as reading the graph.
BRAID_API uint64_t braid_graph_digest(const braid_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
