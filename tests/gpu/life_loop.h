// SPDX-License-Identifier: Apache-2.0
// What a life does with a loop.
#ifndef BRAID_TESTS_GPU_LIFE_LOOP_H
#define BRAID_TESTS_GPU_LIFE_LOOP_H

#include <braid/braid.h>

struct life_loop {
    braid_exec *exec;
    braid_exec *timed; // the same graph with times, in the same memory
    bool is_alone;     // set before: its execs share no memory
    bool is_driven;    // set before: the host drives it, and keeps no times
    bool is_noted;     // set before: also then it has a black box, which HIP has not
    braid_memory_pool *pool;
    braid_node node;
    braid_resource scratch; // that a node of the body has
    uint64_t scratch_bytes;
    uint64_t num; // iterations of the last run
};

enum { LIFE_BODIES = 4, LIFE_ITERATIONS = 3, LIFE_SCRATCH_BYTES = 64 };

// Execs of a graph with a loop and a branch inside a loop. Errors as braid_exec_create.
braid_status life_create_loop(braid_device *device, braid_exec_mode mode, struct life_loop *loop);

// Launches, waits, and asks for the iterations and times.
braid_status life_run_loop(struct life_loop *loop, braid_stream *stream);

// The next launch finds new addresses for all memory of the frame.
braid_status life_grow_loop(struct life_loop *loop);

void life_finish_loop(struct life_loop *loop);

#endif
