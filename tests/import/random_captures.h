// SPDX-License-Identifier: Apache-2.0
// Random streams of random kernels, with loops and branches, captured on the stand-in for CUDA.
#ifndef BRAID_TESTS_IMPORT_RANDOM_CAPTURES_H
#define BRAID_TESTS_IMPORT_RANDOM_CAPTURES_H

#include "accesses/random_kernel.h"
#include "import/conditionals.h"

enum {
    BUFFERS = 7,
    TABLE = 6, // no kernel that is proven uses it
    ALLOCATIONS = 3,
    KERNELS = 4,
    STREAMS = 3,
    DEVICES = 2,
    TEXT_BYTES = 1 << 15,
};

struct trial {
    char texts[KERNELS][TEXT_BYTES];
    const char *given[KERNELS + 1];
    size_t num_given;
    uint32_t num_devices; // stream and buffer i are on device i % num_devices
    bool is_serial;       // each step stands behind the one before
    CUmodule modules[DEVICES][KERNELS];
    CUfunction functions[DEVICES][KERNELS];
    uint32_t num_streams, last; // which had the last step
    bool has_conditionals;
    CUdeviceptr allocations[ALLOCATIONS]; // 0: it is none now
    uint32_t shift, map[TABLE];           // what a later capture has other than the first
    CUgraph graph;
};

extern CUcontext random_contexts[DEVICES]; // for trials of two
extern CUevent random_events[DEVICES];
extern CUstream random_streams[STREAMS];
extern unsigned char *buffers[BUFFERS]; // memory of the device
extern uint32_t num_called;             // how often the host was
extern uint64_t num_allocations, num_conditionals;

void make_trial(struct random *random, struct trial *trial);
// Streams of two devices, without conditional nodes and allocations.
void make_trial_of_two(struct random *random, struct trial *trial);
void finish_trial(struct trial *trial);
// Begins with the same random numbers, a later capture has the same steps.
void capture(struct random *random, struct trial *trial);
// Buffers change places. Sometimes two become one, so that nodes may share more than before.
void make_later(struct random *random, struct trial *trial);

#endif
