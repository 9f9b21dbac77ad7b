// SPDX-License-Identifier: Apache-2.0
// A captured graph with a node of each kind that can be imported, and the bytes that it writes,
// over the stand-in CUDA driver.
#ifndef BRAID_TESTS_IMPORT_CAPTURED_WORLD_H
#define BRAID_TESTS_IMPORT_CAPTURED_WORLD_H

#include <stdbool.h>

#include <braid/braid.h>

#include "cuda_abi.h"

enum { WORLD_BUFFERS = 9, WORLD_BYTES = 256, WORLD_STREAMS = 2 };

// The PTX of its kernels.
extern const char captured_world_text[];

struct captured_world {
    CUcontext context;
    CUmodule module;
    CUfunction move; // takes a struct with two addresses
    CUfunction add;  // takes two addresses
    CUstream streams[WORLD_STREAMS];
    CUdeviceptr buffers[WORLD_BUFFERS]; // each an allocation
    CUgraph graph;                      // with a child graph
    unsigned num_calls;                 // how often its host call ran
    unsigned char expected[WORLD_BUFFERS * WORLD_BYTES];
};

// Captures the graph and plays it once. The context stays current.
void captured_world_make(struct captured_world *world);
void captured_world_finish(struct captured_world *world);

// Whether the captured graph writes the expected bytes.
bool captured_world_plays(struct captured_world *world);

// Whether the imported graph does, on any lanes. Asserts nothing: any thread may call it.
bool captured_world_plays_as(struct captured_world *world, braid_device *device,
                             const braid_graph *graph);

#endif
