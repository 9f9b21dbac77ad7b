// SPDX-License-Identifier: Apache-2.0
// A row of an exec's black box, in memory that the host and the device write.
//
// On the CPU each node has a row, which counts the calls that have begun and ended.
//
// On a GPU each lane has a row. A kernel that begins writes its number and 1 to both words. This
// also tells that the node before it on the lane has ended. If no such kernel follows a node, the
// complement is written to the second word. A kernel that can does this as it ends. For other nodes
// a fill does it behind them. The fill may come late. It then differs from the complement of the
// first word. No end is written behind a later one.
//
// Stores of a kernel are done before a kernel behind it begins. So the words of a row keep the
// order of its nodes. Rows have no order. A node may be seen to begin while the end of one that it
// waited for is under way. Reports are about frames that stand still.
#ifndef BRAID_BASE_NOTE_H
#define BRAID_BASE_NOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct note {
    _Alignas(8) _Atomic uint32_t begun;
    _Atomic uint32_t ended;
};

// A lane's row tells the node that runs; UINT32_MAX: none does.
static inline uint32_t note_running_node(const struct note *note)
{
    uint32_t begun = atomic_load_explicit(&note->begun, memory_order_relaxed);
    bool has_ended = atomic_load_explicit(&note->ended, memory_order_relaxed) == ~begun;
    return has_ended ? UINT32_MAX : begun - 1;
}

// Whether the node of a node's row runs.
static inline bool note_is_running(const struct note *note)
{
    uint32_t ended = atomic_load_explicit(&note->ended, memory_order_acquire); // the older one
    return atomic_load_explicit(&note->begun, memory_order_relaxed) != ended;
}

// `word` says whether an exec was cancelled; NULL: it cannot be.
static inline bool note_is_cancelled(const uint32_t *word)
{
    return word && atomic_load_explicit((const _Atomic uint32_t *)word, memory_order_relaxed);
}

#endif
