// SPDX-License-Identifier: Apache-2.0
// An import: the graph made of a captured one, and all that it rests on.
#ifndef BRAID_IMPORT_IMPORT_H
#define BRAID_IMPORT_IMPORT_H

#include <braid/import.h>

#include "import/captured.h"
#include "import/memory.h"
#include "import/reload.h"
#include "import/rerun.h"
#include "import/texts.h"
#include "import/uses.h"

struct braid_import {
    braid_graph *graph;
    struct captured_graph captured;
    struct import_recorded recorded; // where it is made from a record
    struct import_memory memory;
    struct import_uses uses;
    struct import_orders orders;
    struct import_reloads reloads;
    struct import_rerun rerun; // a frame of a record that can be run has it
    struct import_code *code;  // by captured function
    braid_kernel *kernels;     // the same; of a record by node
    braid_node *nodes;         // by captured node; { 0 }: it has none
    braid_import_info info;
};

// Its captured nodes, with their accesses.
struct import_order braid_import_order(const braid_import *import);

// BRAID_INVALID_ARGUMENT: a list of the options has rows, and is NULL.
braid_status braid_import_check_lists(const char *function, const braid_import_options *options);

// Finds memory and accesses of the captured nodes, by the code of their functions. The
// first member is current. Errors: those of memory.h and uses.h.
braid_status braid_import_find_accesses(const braid_import_options *options,
                                        struct import_code *code, braid_import *import);

// recorded.c: reads a frame of a record as if it were captured. It refers to the record. Errors:
// BRAID_NO_MEMORY, BRAID_UNSUPPORTED (names a node that is too deep in others).
braid_status braid_import_read_recorded(const struct import_recorded *recorded,
                                        const braid_import_options *options,
                                        struct captured_graph *out_captured);

// constants.c: counts proven kernels that read nothing which the frame changes. `leave`: takes
// those out of the frame whose results stay. Orders are not found yet. Errors: BRAID_NO_MEMORY.
braid_status braid_import_find_constants(braid_import *import, bool leave);

// recorded_facts.c: makes a graph whose nodes do nothing, in the orders that stay. A conditional
// node stands for its bodies. Errors: BRAID_NO_MEMORY.
braid_status braid_import_build_recorded(braid_import *import);
// Tells the times of the host in the frame, and the work that repeats.
braid_status braid_import_tell_recorded(braid_import *import);

// Frees all but the graph, and that which its nodes use.
void braid_import_finish(braid_import *import);

// Whether it is a CUDA device, or a group of some.
bool braid_import_has_cuda(const braid_device *device);

// Queues a captured node, `user`: rows, events, values and semaphores. Errors: BRAID_DEVICE_ERROR,
// BRAID_UNSUPPORTED (the device is no CUDA device).
braid_queue_function braid_import_queue;

// Makes the graph of all else. Errors: BRAID_NO_MEMORY, BRAID_INVALID_ARGUMENT, BRAID_UNSUPPORTED
// (names a node that Braid cannot do).
braid_status braid_import_build(struct gpu_backend *gpu, braid_import *import);

#endif
