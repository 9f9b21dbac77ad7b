// SPDX-License-Identifier: Apache-2.0
// On the CPU: the operations that many threads may do at once on one word (see bodies.h).
//
// The words are plain integers, as the structs are shared with the device source, so these are the
// compiler's atomics and not those of <stdatomic.h>. Relaxed order is enough: nothing is published
// through these words inside a kernel, and between kernels the plan orders everything.
#ifndef MPM_HOST_WORDS_H
#define MPM_HOST_WORDS_H

#include "grid.h"

static inline void mpm_append(const mpm_list *list, unsigned entry)
{
    list->entries[__atomic_fetch_add(list->length, 1u, __ATOMIC_RELAXED)] = entry;
}

static inline unsigned mpm_take(const mpm_list *list)
{
    return list->entries[__atomic_fetch_sub(list->length, 1u, __ATOMIC_RELAXED) - 1u];
}

static inline void mpm_add_fixed(mpm_fixed *sum, mpm_fixed value, int alone)
{
    if (alone)
        *sum += value;
    else
        __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

static inline void mpm_add_foam(unsigned *foam, unsigned amount)
{
    __atomic_fetch_add(foam, amount, __ATOMIC_RELAXED);
}

// Most slots are marked already: looking first keeps their cache lines shared.
static inline void mpm_mark(unsigned *flag)
{
    if (!__atomic_load_n(flag, __ATOMIC_RELAXED))
        __atomic_store_n(flag, 1u, __ATOMIC_RELAXED);
}

#endif
