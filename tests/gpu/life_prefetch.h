// SPDX-License-Identifier: Apache-2.0
// What a life does with a kernel that fetches inputs of the next one.
#ifndef BRAID_TESTS_GPU_LIFE_PREFETCH_H
#define BRAID_TESTS_GPU_LIFE_PREFETCH_H

#include <braid/braid.h>

struct life_prefetch {
    braid_exec *exec;
    braid_node reader;
    void *inputs; // the reader's: device memory
    uint32_t num; // kernels that fetch
};

// Takes three words. Errors as braid_memory_allocate and braid_exec_create.
braid_status life_create_prefetch(braid_device *device, uint32_t *words, braid_exec_mode mode,
                                  struct life_prefetch *prefetch);

// Launches, has the reader read elsewhere, and launches again.
braid_status life_run_prefetch(struct life_prefetch *prefetch, uint32_t *words);

void life_finish_prefetch(braid_device *device, struct life_prefetch *prefetch);

#endif
