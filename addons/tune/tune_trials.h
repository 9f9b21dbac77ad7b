// SPDX-License-Identifier: Apache-2.0
// The ways in which tuning may play a graph.
#ifndef BRAID_TUNE_TUNE_TRIALS_H
#define BRAID_TUNE_TUNE_TRIALS_H

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
    uint32_t max_lanes;   // as the program says; 0: it does not
    uint32_t max_frames;  // as the program says; 0: it does not
    braid_stream *stream; // that frames are launched on; NULL: the default stream
    uint32_t width;       // how many nodes may run at once, so that more lanes have no work
    uint32_t frames_a_turn;
    uint64_t frame_ns;   // a frame when the costs were measured; 0: they were not
    uint64_t total_ns;   // that timing takes: the budget, or the least that it can
    struct array trials; // struct tune_trial
};

static inline struct tune_trial *tune_trial_at(const struct tune_trials *trials, size_t index)
{
    return &((struct tune_trial *)trials->trials.items)[index];
}

// Adds the ways of every mode that the device and graph allow, those that promise most by their
// plans. Errors: those of braid_exec_create; BRAID_UNSUPPORTED only where no mode is allowed.
braid_status braid_tune_trials_find(struct tune_trials *trials);
void braid_tune_trials_finish(struct tune_trials *trials);

#endif
