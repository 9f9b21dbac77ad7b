// SPDX-License-Identifier: Apache-2.0
// Tuning: finds by trial the fastest way to play a graph on a device.
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

// One way to play the graph, and its times.
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

// Receives each trial at the end, fastest first, dropped ones last. It must not launch or tune.
typedef void braid_tune_report(void *user, const braid_tune_trial *trial);

// Receives the time used and the time that tuning takes in total, before and while frames are
// timed. The total is the budget, or the least that frames need if that is longer. It must not
// launch or tune.
typedef void braid_tune_progress(void *user, uint64_t used_ns, uint64_t total_ns);

// Options of braid_exec_tune.
typedef struct braid_tune_options {
    // Time for timing frames; 0: two seconds. Measuring costs (three to ten frames) and planning
    // come on top. Even with a short budget, each way runs two frames (three with `max_frames`),
    // the faster half a third, and half of that a fourth.
    uint64_t budget_ns;
    uint32_t max_lanes;  // that are tried, as far as so many nodes may run at once; 0: up to 32
    bool keep_costs;     // plan with the graph's costs; otherwise they are measured first, and set
    uint32_t max_frames; // in flight, that are tried: 2 or 3; 0 or 1: one, since frames overlap
                         // rightly only where nodes declare all that they access
    braid_tune_report *report; // NULL: nobody is told
    void *user;
    braid_tune_progress *progress; // NULL: nobody is told; with the same user
} braid_tune_options;

// Runs frames of the graph on the device's default stream (with `max_frames`: on its own) and
// writes the options of the fastest exec. First it measures the costs of the nodes
// (braid_exec_measure). Then it plans the graph in many ways and times the most promising in turns
// (docs/profile.md). Ways within 1 % and the 95 % interval of the median count as equally fast.
// Among these it takes the fewest lanes, then the fewest frames in flight. Kernels and calls run
// with the arguments they were added with, as often as the budget allows.
// Errors: those of braid_exec_create and braid_exec_launch.
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_tune(braid_device *device, braid_graph *graph,
                                                        const braid_tune_options *options,
                                                        braid_exec_options *out_way);

// A number for the structure of a graph: kinds, names and order of nodes, bundles, edges and
// accesses. Costs, arguments and addresses have no influence. Thus a file of costs can name its
// graph. Thread-safety: as reading the graph.
BRAID_API uint64_t braid_graph_digest(const braid_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
