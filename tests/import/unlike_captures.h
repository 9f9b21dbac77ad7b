// SPDX-License-Identifier: Apache-2.0
// Random streams of kernels that go up and down in the parts of one block of memory, with all bytes
// that each step touches.
#ifndef BRAID_TESTS_IMPORT_UNLIKE_CAPTURES_H
#define BRAID_TESTS_IMPORT_UNLIKE_CAPTURES_H

#include "import/here.h"
#include "support/random.h"

enum {
    BLOCK_BYTES = 2048,
    MOST_PARTS = 8,
    CELLS = 16, // pointers in the table
    MOST_UNLIKE = 24,
    UNLIKE_TEXTS = 3,
    MOST_RANGES = 4,
    ALLOCATED = 3,
};

// Bytes that a step touches, in an allocation of the graph or, number 0, in other memory.
struct unlike_range {
    uint32_t allocation;
    uint64_t begin, end;
    bool writes;
};

struct unlike_step {
    struct unlike_range ranges[MOST_RANGES];
    uint32_t num_ranges;
    bool is_told; // its ranges are all
    bool is_work;
};

struct unlike {
    uint32_t cuts[MOST_PARTS + 1], num_parts; // parts of the block, in bytes
    CUdeviceptr allocations[ALLOCATED];       // 0: it is none now
    uint32_t numbers[ALLOCATED];              // each allocation has its own
    uint32_t num_allocated, num_steps;
    uint64_t cells[CELLS]; // what they hold when a step runs
    struct unlike_step steps[MOST_UNLIKE + 2 * ALLOCATED];
};

extern const char *unlike_texts[UNLIKE_TEXTS]; // two have the kernel `twin`
extern CUdeviceptr block, table, spare_cells;
extern uint32_t unlike_calls; // how often the host was called

void open_unlike(void);
void close_unlike(void);
// Chooses parts, and writes all memory.
void choose_unlike(struct random *random, struct unlike *unlike);
// Runs or captures the same steps, with the same random numbers.
void queue_unlike(struct random *random, struct unlike *unlike);

#endif
