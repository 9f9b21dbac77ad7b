// SPDX-License-Identifier: Apache-2.0
// An import: the graph made of a captured one, and all that it rests on.
#ifndef BRAID_IMPORT_IMPORT_H
#define BRAID_IMPORT_IMPORT_H

#include <braid/import.h>

#include "import/captured.h"
#include "import/memory.h"
#include "import/uses.h"

struct braid_import {
    braid_graph *graph;
    struct captured_graph captured;
    struct import_memory memory;
    struct import_uses uses;
    struct import_orders orders;
    braid_kernel *kernels; // by captured function
    braid_import_info info;
};

// Its captured nodes, with their accesses.
struct import_order braid_import_order(const braid_import *import);

// Whether it is one CUDA device.
bool braid_import_has_cuda(const braid_device *device);

// Queues a captured node, `user`: rows, and events. Errors: BRAID_DEVICE_ERROR, BRAID_UNSUPPORTED
// (the device is no CUDA device).
braid_queue_function braid_import_queue;

// Makes the graph of all else. Errors: BRAID_NO_MEMORY, BRAID_INVALID_ARGUMENT, BRAID_UNSUPPORTED
// (names a node that Braid cannot do).
braid_status braid_import_build(struct gpu_backend *gpu, braid_import *import);

#endif
