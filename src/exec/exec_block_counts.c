// SPDX-License-Identifier: Apache-2.0
// Words by which the blocks of kernels that note their end find the last one (note.h).
#include "base/error.h"
#include "exec/exec_memory.h"

static bool has_counts(const braid_exec *exec, uint32_t place)
{
    for (size_t i = 0; i < exec->tasks.num_kernels; i++) {
        if (exec->tasks.kernels[i].place == place && exec->tasks.kernels[i].kernel->notes_end)
            return true;
    }
    return false;
}

braid_status braid_exec_allocate_block_counts(braid_exec *exec)
{
    uint64_t bytes = (uint64_t)exec->frames.num * exec->tasks.num * sizeof(uint64_t);
    struct exec_arena *counts =
        braid_store_take(&exec->store, exec_num_places(exec), sizeof(*counts));
    braid_status status = counts ? BRAID_OK : braid_error_no_memory("the counts of blocks");
    exec->memory.counts = counts;
    for (uint32_t i = 0; i < exec_num_places(exec) && !status; i++)
        status = braid_exec_allocate_zeros(exec->places.devices[i], "counts of blocks",
                                           has_counts(exec, i) ? bytes : 0, sizeof(uint64_t),
                                           &counts[i]);
    return status;
}

void braid_exec_free_block_counts(braid_exec *exec)
{
    for (uint32_t i = 0; exec->memory.counts && i < exec_num_places(exec); i++)
        braid_exec_free_arena(exec->places.devices[i], &exec->memory.counts[i]);
}

void braid_exec_find_block_counts(const braid_exec *exec, uint32_t slot, uint64_t **out_begins)
{
    const struct exec_arena *counts = exec->memory.counts;
    for (uint32_t i = 0; i < exec_num_places(exec); i++) {
        uint64_t *begin = counts ? (uint64_t *)(void *)counts[i].begin : NULL;
        out_begins[i] = begin ? begin + (size_t)slot * exec->tasks.num : NULL;
    }
}
