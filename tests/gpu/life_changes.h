// SPDX-License-Identifier: Apache-2.0
// What a life does with nodes that change: one of each kind, which a parameter changes or disables.
#ifndef BRAID_TESTS_GPU_LIFE_CHANGES_H
#define BRAID_TESTS_GPU_LIFE_CHANGES_H

#include <braid/braid.h>

// An exec of a graph on five words of device memory, and its parameter.
struct life_changes {
    braid_device *device;
    uint32_t *words;
    braid_exec *exec;
    braid_parameter parameter;
    braid_node queued, blocking;
    bool has_no_queue_calls; // the CPU's graph replay has no stream for it
    uint32_t num_calls;
    uint32_t num_blocking_calls[2]; // before and after its user changes
};

// Errors as braid_exec_create.
braid_status life_create_changes(struct life_changes *changes, braid_exec_mode mode);

// Changes all, then disables what can be, each time with a frame behind it. Asserts that
// frames are right, and that one behind a change that failed is as the one before it.
braid_status life_run_changes(struct life_changes *changes, braid_stream *stream);

#endif
