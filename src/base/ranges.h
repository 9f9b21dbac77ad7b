// SPDX-License-Identifier: Apache-2.0
// Ranges with names on the host's timeline, where a tool listens: Nsight by NVTX, rocprof by roctx.
#ifndef BRAID_BASE_RANGES_H
#define BRAID_BASE_RANGES_H

#include <stdatomic.h>

// How a tool hears of ranges, which nest on a thread.
struct range_tool {
    void (*begin)(const char *name);
    void (*end)(void);
};

enum { RANGE_NUM_TOOLS = 2 };

// The tools that listen, first ones first. A tool that is found is there until the process ends.
extern _Atomic(const struct range_tool *) braid_range_tools[RANGE_NUM_TOOLS];

// Look once for who listens; later calls do nothing. NVTX: a library that is in the process
// already, or that NVTX_INJECTION64_PATH names (not in a setuid program). roctx: a library that is
// in the process already, which rocprof sees to. Nothing else is ever opened. Any thread.
void braid_ranges_find_nvtx(void);
void braid_ranges_find_roctx(void);

// If no tool listens, each is one load and a branch. The thread that begins a range ends it.
static inline void ranges_begin(const char *name)
{
    for (int i = 0; i < RANGE_NUM_TOOLS; i++) {
        const struct range_tool *tool =
            atomic_load_explicit(&braid_range_tools[i], memory_order_acquire);
        if (!tool)
            return;
        tool->begin(name);
    }
}

static inline void ranges_end(void)
{
    for (int i = 0; i < RANGE_NUM_TOOLS; i++) {
        const struct range_tool *tool =
            atomic_load_explicit(&braid_range_tools[i], memory_order_acquire);
        if (!tool)
            return;
        tool->end();
    }
}

#endif
