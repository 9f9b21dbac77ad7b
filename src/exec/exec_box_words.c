// SPDX-License-Identifier: Apache-2.0
// Words on devices: whether the exec was cancelled, and how many blocks of a kernel have ended.
#include "base/error.h"
#include "exec/exec_memory.h"
#include "tasks/frame.h"

static const char text[] = "words of a black box";

braid_status braid_exec_allocate_box_words(braid_exec *exec)
{
    const uint64_t bytes = (1 + (uint64_t)exec->frames.num * exec->tasks.num) * sizeof(uint64_t);
    struct exec_arena *words =
        braid_store_take(&exec->store, exec_num_places(exec), sizeof(*words));
    braid_status status = words ? BRAID_OK : braid_error_no_memory(text);
    exec->memory.box_words = words;
    for (uint32_t i = 0; i < exec_num_places(exec) && !status; i++)
        status = braid_exec_allocate_zeros(exec->places.devices[i], text, bytes, sizeof(uint64_t),
                                           &words[i]);
    return status;
}

void braid_exec_free_box_words(braid_exec *exec)
{
    for (uint32_t i = 0; exec->memory.box_words && i < exec_num_places(exec); i++)
        braid_exec_free_arena(exec->places.devices[i], &exec->memory.box_words[i]);
}

void braid_exec_find_box_words(const braid_exec *exec, uint32_t slot, struct box_words *out_words)
{
    const struct exec_arena *words = exec->memory.box_words;
    for (uint32_t i = 0; i < exec_num_places(exec); i++) {
        out_words[i] = (struct box_words){ 0 };
        if (!words)
            continue;
        uint64_t *begin = (uint64_t *)(void *)words[i].begin;
        out_words[i].cancelled = (uint32_t *)(void *)begin;
        out_words[i].block_counts = begin + 1 + (size_t)slot * exec->tasks.num;
    }
}

// By copies, which need no room on a device beside a kernel that fills it.
braid_status braid_exec_tell_cancelled(const braid_exec *exec, const uint32_t *from)
{
    const struct exec_arena *words = exec->memory.box_words;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; words && i < exec_num_places(exec); i++) {
        const struct backend_task copy = {
            .kind = WORK_COPY,
            .name = text,
            .node = BACKEND_NO_NODE,
            .copy = { .to = words[i].begin, .from = from, .bytes = sizeof(*from) },
        };
        braid_status told = braid_device_run_now(exec->places.devices[i], &copy);
        status = status ? status : told;
    }
    return status;
}
