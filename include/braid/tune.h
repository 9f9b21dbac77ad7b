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
    const braid_exec_options *way; // options for braid_exec_create, without frames_kept
    uint32_t num_lanes;            // lanes of the plan
    uint32_t frames_timed;
    uint64_t planned_ns; // a frame, by the plan
    braid_spread frame;  // a frame as timed by the host, its launch and the waiting included
    bool was_dropped;    // it ran fewer frames than others, since it was clearly slower
    bool is_best;        // the way that is handed out
} braid_tune_trial;

// Receives each trial at the end, fastest first, dropped ones last. It must not launch or tune.
typedef void braid_tune_report(const braid_tune_trial *trial, void *user);

// Receives the time used and the total that tuning takes (the budget, or the least that frames
// need), before and while frames are timed. It must not launch or tune.
typedef void braid_tune_progress(uint64_t used_ns, uint64_t total_ns, void *user);

// Options of braid_graph_tune.
typedef struct braid_tune_options {
    // Time for timing frames; 0: two seconds. Measuring costs and planning come on top, and slow
    // frames take longer (docs/book/tuning.md).
    uint64_t budget_ns;
    uint32_t max_lanes; // the most lanes to try, up to 128; 0: 32. No more are tried than nodes may
                        // run at once
    bool keep_costs;    // plan with the graph's costs; otherwise they are measured first, and set
    uint32_t max_frames_in_flight; // to try: up to 3; 0 or 1: one. More are right only if nodes
                                   // declare all that they access
    braid_tune_report *report;     // NULL: none
    void *user;                    // for both functions
    braid_tune_progress *progress; // NULL: none
    // Called before each frame, while none runs: it gives the frame its state, as where a loop ends
    // when it has converged. It may write host memory, queue work on the stream, and wait. The work
    // ends before the frame is timed. A status other than BRAID_OK ends the tuning. NULL: each
    // frame starts from the state that the one before left.
    braid_queue_function *reset;
    void *reset_user;
} braid_tune_options;

// Runs frames of the graph and writes the options of the fastest exec (docs/book/tuning.md).
// Kernels and calls run with the arguments they were added with, as often as the budget allows.
// Errors: those of braid_exec_create and braid_exec_launch. BRAID_INVALID_ARGUMENT (a reset, and
// several frames in flight). The status of the reset.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_tune(braid_graph *graph,
                                                            braid_device *device,
                                                            const braid_tune_options *options,
                                                            braid_exec_options *out_way);

// A graph that finds the fastest way to play while the program launches it. Its first frames try
// ways in turns: plans by guesses, by measured costs, and on fewer lanes, and the program's own
// way. The fastest plays all others. The first way has no islands, whose code may take seconds to
// compile. Frames run one after another, on any streams.
// Thread-safety: one thread at a time.
typedef struct braid_runner braid_runner;

// Options of braid_runner_create.
typedef struct braid_runner_options {
    uint32_t max_lanes; // as in braid_exec_options
    // A queue call of the same work, such as the program's own graph. It plays on unless a plan is
    // faster by a hundredth. NULL: none.
    braid_queue_function *as_before;
    void *user; // must live as long as the runner
    // A queue call that prepares a plan, such as one that fills values which the program's own
    // graph gets by itself. It is called before each launch of a plan, on its stream, behind the
    // frame before. Its work counts as the plan's time. NULL: none.
    braid_queue_function *before_plan;
    void *before_plan_user; // must live as long as the runner
} braid_runner_options;

// Makes a runner. It gives the graph measured costs. The graph outlives the runner. If it is
// changed, the runner makes no further plans of it.
// Errors: those of braid_exec_create. BRAID_UNSUPPORTED (a group, communicators, versioned
// buffers).
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_runner_create(braid_device *device,
                                                               braid_graph *graph,
                                                               const braid_runner_options *options,
                                                               braid_runner **out_runner);

// Waits for its frames, and for a way that is being made, and frees it.
// A program calls it before it ends, since the thread may be inside the driver or its compiler.
BRAID_API void braid_runner_destroy(braid_runner *runner);

// Runs one frame, as braid_exec_launch. About 150 frames try ways. On CUDA a thread of Braid's
// makes their execs, and until one is made the best way so far plays all frames. Elsewhere some of
// these launches make an exec. Some destroy one, or only tell traps. Errors: those of
// braid_exec_launch, `as_before` and `before_plan`.
BRAID_API BRAID_MUST_CHECK braid_status braid_runner_launch(braid_runner *runner,
                                                            braid_stream *stream);

// Blocks until the last launch has ended. Errors: those of braid_exec_wait.
BRAID_API BRAID_MUST_CHECK braid_status braid_runner_wait(braid_runner *runner);

// Asks once, and tells no trap. Errors: BRAID_NOT_READY (something runs), those of braid_exec_wait.
BRAID_API BRAID_MUST_CHECK braid_status braid_runner_query(braid_runner *runner);

// The exec that the runner has chosen. NULL: it has not chosen yet, or it chose `as_before`. A
// launch of the exec itself does not call `before_plan`.
BRAID_API braid_exec *braid_runner_get_exec(braid_runner *runner);

typedef struct braid_runner_info {
    const char *way;    // the best so far, such as "4 lanes"
    const char *reason; // the time of each way, until the next call on the runner
    uint64_t frame_ns;  // by that way, on the device; 0: not known yet
    bool is_chosen;     // no further ways are tried
    bool is_making;     // a thread of Braid's makes the next way, which a later launch tries
} braid_runner_info;

// Writes the info of a runner.
BRAID_INLINE void braid_runner_get_info(braid_runner *runner, braid_runner_info *out_info);

// A number for the structure of a graph: kinds, names and order of nodes, bundles, edges and
// accesses, but no costs, arguments or addresses.
// Thread-safety: as reading the graph.
BRAID_API uint64_t braid_graph_get_digest(const braid_graph *graph);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_tune_sized(braid_graph *graph,
                                                               braid_device *device,
                                                               const braid_tune_options *options,
                                                               braid_exec_options *out_way,
                                                               size_t size, size_t way_size);
BRAID_INLINE braid_status braid_graph_tune(braid_graph *graph, braid_device *device,
                                           const braid_tune_options *options,
                                           braid_exec_options *out_way)
{
    return braid_graph_tune_sized(graph, device, options, out_way, sizeof(braid_tune_options),
                                  sizeof(braid_exec_options));
}

BRAID_API BRAID_MUST_CHECK braid_status braid_runner_create_sized(
    braid_device *device, braid_graph *graph, const braid_runner_options *options,
    braid_runner **out_runner, size_t size);
BRAID_INLINE braid_status braid_runner_create(braid_device *device, braid_graph *graph,
                                              const braid_runner_options *options,
                                              braid_runner **out_runner)
{
    return braid_runner_create_sized(device, graph, options, out_runner,
                                     sizeof(braid_runner_options));
}
BRAID_API void braid_runner_get_info_sized(braid_runner *runner, braid_runner_info *out_info,
                                           size_t size);
BRAID_INLINE void braid_runner_get_info(braid_runner *runner, braid_runner_info *out_info)
{
    braid_runner_get_info_sized(runner, out_info, sizeof(braid_runner_info));
}

#ifdef __cplusplus
}
#endif

#endif
