// SPDX-License-Identifier: Apache-2.0
// A device of the stand-in for CUDA, with a stream to capture, a module and memory.
#ifndef BRAID_TESTS_IMPORT_HERE_H
#define BRAID_TESTS_IMPORT_HERE_H

#include <braid/braid.h>

#include "cuda_abi.h"
#include "support/check.h"

enum { MEMORIES = 4, MOST_ARGS = 4 };

struct here {
    braid_device *device;
    CUmodule module;
    CUstream stream;
    CUevent event;
    CUdeviceptr memory[MEMORIES]; // each an allocation
    CUgraph graph;
    braid_import *import;
    braid_import_info info;
    uint64_t seed;     // messages of failures name it; 0: none does
    const char *doing; // messages of failures tell it, too
};
extern struct here here;

void must(CUresult result);
void open_here(const char *text, size_t bytes);
void close_here(void);

// One thread runs the module's kernel.
void launch_on(CUstream on, const char *name, const uint64_t *args);
#define LAUNCH(name, ...) launch_on(here.stream, name, (const uint64_t[MOST_ARGS]){ __VA_ARGS__ })

#endif
