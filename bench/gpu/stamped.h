// SPDX-License-Identifier: Apache-2.0
// Kernels with less or more of the code that writes their times, and graphs of them by hand.
#ifndef BRAID_BENCH_GPU_STAMPED_H
#define BRAID_BENCH_GPU_STAMPED_H

#include <stdbool.h>

#include "gpu/bench.h"

enum { STAMPED_NODES = 200, STAMPED_TURNS = 21, STAMPED_EDITS = 5 };

struct text_edit {
    const char *from, *to; // wherever it stands, and it does
};

// What of the code for times a kernel's text has.
struct stamped_code {
    const char *name;
    bool is_timed;
    struct text_edit edits[STAMPED_EDITS]; // edits the text with all of it
};

// A kernel with one of them.
struct variant {
    const braid_kernel *kernel; // bench_spin by name, whatever it does
    const struct stamped_code *code;

    gpu_function function; // NULL: the driver refused it, with `result`
    gpu_result result;
    gpu_module module;

    gpu_graph graph;
    gpu_executable executable;
    gpu_stream stream;
    void *stamps;
};

struct load {
    const char *name;
    uint64_t ns;
    uint32_t num_blocks, num_threads, num_lanes;
    bool is_early; // kernels are launched before the one before on their lane has ended
    uint32_t cycles;
};

void stamped_load(const struct driver *driver, struct variant *variant);
void stamped_unload(const struct driver *driver, struct variant *variant);

// A graph of as many chains as lanes, each fifth node of which waits for the next chain too.
void stamped_open(const struct driver *driver, struct variant *variant, const struct load *load);
void stamped_close(const struct driver *driver, struct variant *variant);

// Microseconds of one frame, until the host knows that it has ended.
double stamped_run(const struct driver *driver, struct variant *variant);

#endif
