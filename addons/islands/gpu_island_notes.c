// SPDX-License-Identifier: Apache-2.0
// Notes of an island's lanes on the nodes they are at, and reading them after a fault.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_kept_memory.h"
#include "base/error.h"
#include "base/running.h"
#include "islands/gpu_island.h"
#include "islands/gpu_island_maker.h"

// Only messages after a fault need them.
static void tell_of_none(const struct error_attempt *attempt, braid_status status)
{
    if (status)
        (void)braid_error(status,
                          "no memory for the notes of islands, so that none of their nodes can be "
                          "named after a fault: %s",
                          braid_error_message());
    braid_error_end_noted(attempt, status);
}

braid_status braid_gpu_island_notes_take(struct gpu_backend *gpu, size_t num, uint32_t **out_notes)
{
    const char *wish = secure_getenv("BRAID_NOTE_NODES");
    void *notes = NULL;
    if (num == 0 || (wish && strcmp(wish, "0") == 0))
        return BRAID_OK;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status =
        braid_gpu_kept_memory_take(gpu, BRAID_MEMORY_HOST, num * sizeof(uint32_t), &notes);
    if (status && status != BRAID_NO_MEMORY) {
        braid_error_end_attempt(&attempt, status);
        return status;
    }
    tell_of_none(&attempt, status);
    if (notes)
        memset(notes, 0, num * sizeof(uint32_t));
    *out_notes = notes;
    return BRAID_OK;
}

braid_status braid_gpu_island_take_notes(struct gpu_backend *gpu, struct gpu_island *island)
{
    size_t num_groups =
        (size_t)island->layout.num_blocks * island->layout.num_groups; // with idle ones
    braid_status status = braid_gpu_island_notes_take(gpu, num_groups, &island->own_notes);
    island->notes = island->own_notes;
    return status;
}

void braid_gpu_island_set_note(struct gpu_island *island, uint32_t *note)
{
    island->notes = note;
}

// The node that a lane noted as running; NULL: it has none at hand, or waits before one.
static const struct backend_task *running_task(const struct gpu_island *island, uint32_t lane,
                                               uint32_t note)
{
    const struct island_lists *lists = &island->lists;
    uint32_t call = lists->lane_first[lane] + (note - 1) / 2;
    bool runs = note && note % 2 == 0 && call < lists->lane_first[lane + 1];
    return runs ? lists->calls[call].task : NULL;
}

void braid_gpu_island_find_running(const struct gpu_island *island, const uint32_t *index,
                                   struct running *running)
{
    const struct island_lists *lists = &island->lists;
    const _Atomic uint32_t *notes = (const _Atomic uint32_t *)island->notes; // lanes may still run
    running->num_islands++;
    running->num_calls += lists->num_calls;
    running->is_unknown |= !notes;
    for (uint32_t lane = 0; notes && lane < lists->num_lanes; lane++) {
        uint32_t note = atomic_load_explicit(&notes[lane], memory_order_relaxed);
        const struct backend_task *task = running_task(island, lane, note);
        if (task)
            braid_running_add(running, task->node, task->name, lane, index ? *index : UINT32_MAX);
    }
}
