// SPDX-License-Identifier: Apache-2.0
// A spinning kernel in many variants of the code that writes its times, and graphs of them by hand.
#ifndef BRAID_BENCH_GPU_STAMPED_H
#define BRAID_BENCH_GPU_STAMPED_H

#include <stdbool.h>

#include "gpu/bench.h"

enum { STAMPED_NODES = 200, STAMPED_TURNS = 21, STAMPED_EDITS = 6 };

struct text_edit {
    const char *from, *to; // wherever it stands, and it does
};

struct variant {
    const char *name;
    enum { MADE_OF_TEXT, MADE_BY_BRAID, MADE_BY_COMPILER } made;
    bool is_timed;  // of the text with times, and launched with their parameters
    bool is_logged; // each block notes where and when it ran, as a third parameter says
    bool is_joined; // a node runs behind all others, as the one that keeps times does
    int carveout;   // percent; 0: as the driver has it
    struct text_edit edits[STAMPED_EDITS];
    const braid_kernel *kernel; // MADE_OF_TEXT; NULL: bench_spin

    gpu_function function; // NULL: the driver refused it, with `result`
    gpu_result result;
    struct gpu_kernel *timed; // MADE_BY_BRAID
    gpu_module module;        // else, but for Braid's without times

    gpu_graph graph;
    gpu_executable executable;
    gpu_stream stream;
    void *stamps, *log;
};

struct load {
    const char *name;
    uint64_t ns;
    uint32_t num_blocks, num_threads, num_lanes;
    uint32_t cycles;
};

void stamped_load(const struct driver *driver, struct variant *variant);
void stamped_unload(const struct driver *driver, struct variant *variant);

// A graph of as many chains as lanes, each fifth node of which waits for the next chain too.
void stamped_open(const struct driver *driver, struct variant *variant, const struct load *load);
void stamped_close(const struct driver *driver, struct variant *variant);

// Microseconds of one frame, until the host knows that it has ended.
double stamped_run(const struct driver *driver, struct variant *variant);

// What the blocks of the last frame noted, as a row.
void stamped_print_log(const struct driver *driver, const struct variant *variant,
                       const struct load *load);

#endif
