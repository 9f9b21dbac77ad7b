// SPDX-License-Identifier: Apache-2.0
// The parts of tuning: the ways that are worth trying, the choice, and the costs to plan with.
#ifndef BRAID_TUNE_TUNE_SEARCH_H
#define BRAID_TUNE_TUNE_SEARCH_H

#include <braid/tune.h>

#include "base/array.h"

struct tune_trial {
    braid_exec_options way;
    braid_exec *exec;
    char name[120];
    uint32_t num_lanes;
    uint64_t planned_ns;
    struct array times; // uint64_t, a frame
    braid_spread frame;
    uint64_t low_ns, high_ns; // the median is between them, as far as the times can tell
    bool was_dropped;
};

struct tune_trials {
    braid_device *device;
    const braid_graph *graph;
    const braid_tune_options *options;
    uint32_t max_lanes;   // as the program says; 0: it does not
    uint32_t max_frames;  // as the program says; 0: it does not
    braid_stream *stream; // that frames are launched on; NULL: the default stream
    uint32_t width;       // how many nodes may run at once, so that more lanes have no work
    uint32_t frames_a_turn;
    uint64_t frame_ns;   // a frame when the costs were measured; 0: they were not
    uint64_t total_ns;   // that timing takes: the budget, or the least that it can
    struct array trials; // struct tune_trial
};

// The trials still timed come first, the fastest of them foremost; each knows the spread of its
// times, which are sorted too.
void braid_tune_sort(struct tune_trials *trials);

// Chooses among sorted trials that may be as fast as the fastest the one with the fewest lanes.
size_t braid_tune_choose(const struct tune_trials *trials);

// Sets the graph's costs. If there is time in the budget, they are those in the plan from the costs
// of nodes alone. Writes how long a frame took. Errors: those of braid_exec_create and
// braid_exec_launch.
braid_status braid_tune_measure(braid_device *device, braid_graph *graph,
                                const braid_tune_options *options, uint64_t *out_frame_ns);

#endif
