// SPDX-License-Identifier: Apache-2.0
// The inside of a memory plan.
#ifndef BRAID_MEMORY_MEMORY_PLAN_H
#define BRAID_MEMORY_MEMORY_PLAN_H

#include <braid/memory.h>

#define MEMORY_NONE UINT64_MAX // the offset of what is no transient buffer that is used

struct braid_memory_plan {
    uint32_t graph_id;
    uint64_t graph_version;
    braid_memory_info info;
    size_t num_resources;
    uint64_t *offsets; // per resource, ranges included
    // Of a plan for several devices the arenas of places stand one behind the other: that of place
    // p from begins[p] to begins[p + 1], which are aligned as the whole is.
    uint32_t num_places;
    uint64_t *begins;
};

#endif
