// SPDX-License-Identifier: Apache-2.0
// Reading a kernel's source so that its kernels can be called from inside another one.
//
// The source is read as C++ tokens, not compiled: what it says of itself is taken at its word, and
// whatever is not understood is refused with a reason. What is hidden in macros is not seen as a
// kernel; what macros hide of barriers, shared memory and the like counts for every kernel.
#ifndef BRAID_BACKENDS_GPU_GPU_ISLAND_SOURCE_H
#define BRAID_BACKENDS_GPU_GPU_ISLAND_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/gpu/gpu_island_facts.h"

struct island_entry {
    const char *name; // in the source, not ended
    size_t length;
    struct island_facts facts;
};

struct island_source {
    char *text;     // to stand in a namespace of its own, where __global__ means __device__
    char *includes; // directives to stand before all such text
    char *undefs;   // directives to stand behind the text
    struct island_entry *entries;
    size_t num_entries;
    struct island_facts others; // outside of kernels: any kernel may do it
};

// False: the source cannot be used, for the reason given (a constant; NULL: memory ran out).
bool braid_island_source_read(const char *source, struct island_source *out_source,
                              const char **out_reason);
void braid_island_source_finish(struct island_source *source);

// Whether a kernel of the source may run with blocks of that many threads, that many of them one
// after another; otherwise *out_reason says why not. *out_facts: what to provide for.
bool braid_island_entry_fits(const struct island_source *source, const char *name,
                             unsigned long long threads, unsigned long long blocks,
                             struct island_facts *out_facts, const char **out_reason);

#endif
