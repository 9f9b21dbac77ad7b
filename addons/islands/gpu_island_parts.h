// SPDX-License-Identifier: Apache-2.0
// The parts of an island's code: the text of its walker, and its kernels as blocks.
#ifndef BRAID_ISLANDS_GPU_ISLAND_PARTS_H
#define BRAID_ISLANDS_GPU_ISLAND_PARTS_H

#include "islands/gpu_island_lists.h"
#include "islands/gpu_ptx_paste.h"
#include "islands/gpu_ptx_site.h"

// A kernel that the island calls. Its number is its place among them.
struct island_kernel {
    uint32_t module; // which of the modules
    const char *entry;
    const struct ptx_callable *needs;
};

struct island_parts {
    char *walker;               // CUDA C++
    struct ptx_pasted *blocks;  // by number
    uint32_t num_blocks, small; // see ptx_paste
    const char *const *modules; // the caller's
    char **needed;              // by module
    uint32_t num_modules;
};

// The modules' texts outlive the parts. Errors: BRAID_NO_MEMORY.
braid_status braid_island_parts_create(const struct island_layout *layout,
                                       const char *const *modules, uint32_t num_modules,
                                       const struct island_kernel *kernels, uint32_t num_kernels,
                                       struct island_parts *out_parts);
void braid_island_parts_finish(struct island_parts *parts);

// All of it as one text, by which code is found again, for the caller to free; NULL: memory ran
// out.
char *braid_island_parts_key(const struct island_parts *parts);

// The island's PTX, where the walker was compiled to `text`; NULL: memory ran out.
char *braid_island_parts_paste(const struct island_parts *parts, const char *text);

#endif
