// SPDX-License-Identifier: Apache-2.0
// The bytes of the program's memory at the begin of the last frame, and a digest of them at its
// end. So another process can run the frame, and compare.
//
// The host waits for the device at both marks. No lock is held while the driver copies.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/host_memory.h"
#include "record/recorder.h"

// Memory that no driver call of this process can copy, and memory that graphs allocate, is left.
static bool is_kept(const braid_record_allocation *row)
{
    return row->kind != BRAID_RECORD_FOREIGN && row->kind != BRAID_RECORD_OF_GRAPH &&
           row->bytes > 0;
}

static bool is_of_host(const braid_record_allocation *row)
{
    return row->kind == BRAID_RECORD_PINNED || row->kind == BRAID_RECORD_HOST;
}

static bool copy_bytes(const braid_record_allocation *row, void *to)
{
    if (is_of_host(row))
        memcpy(to, (const void *)(uintptr_t)row->address, row->bytes);
    return is_of_host(row) ||
           ASK("cuMemcpyDtoH_v2", POINTER(to), row->address, row->bytes, 0) == SUCCEEDED;
}

// Under the lock: the rows of memory that the program has. Returns their bytes.
static uint64_t list_memory(struct array *list)
{
    uint64_t all = 0;
    for (size_t i = 0; i < recorder.allocation_at.num_slots; i++) {
        const struct pointer_slot slot = recorder.allocation_at.slots[i];
        const braid_record_allocation *row =
            recorder_row(&recorder.allocations, slot.value, sizeof(*row));
        if (!slot.key || !is_kept(row))
            continue;
        const braid_record_memory memory = { .allocation = slot.value, .num_bytes = row->bytes };
        recorder.failed |= !braid_array_put(list, &memory, sizeof(memory));
        all += row->bytes;
    }
    return all;
}

static braid_record_allocation row_of(const braid_record_memory *memory)
{
    recorder_lock();
    const braid_record_allocation row = *(const braid_record_allocation *)recorder_row(
        &recorder.allocations, memory->allocation, sizeof(row));
    recorder_unlock();
    return row;
}

static bool take(braid_record_memory *memory)
{
    const braid_record_allocation row = row_of(memory);
    void *bytes = braid_allocate(row.bytes);
    if (!bytes || !copy_bytes(&row, bytes)) {
        braid_free(bytes);
        return false;
    }
    memory->bytes = bytes;
    memory->digest = braid_record_get_digest(bytes, row.bytes);
    return true;
}

static bool take_all(struct array *list)
{
    braid_record_memory *rows = list->items;
    bool is_taken = ASK("cuCtxSynchronize", 0, 0, 0, 0) == SUCCEEDED;
    for (size_t i = 0; i < list->num && is_taken; i++)
        is_taken = take(&rows[i]);
    for (size_t i = 0; i < list->num && !is_taken; i++)
        braid_free((void *)(uintptr_t)rows[i].bytes);
    return is_taken;
}

void recorder_take_memory_contents(void)
{
    struct array list = { .items = NULL };
    recorder_lock();
    const uint64_t bytes = list_memory(&list);
    recorder_unlock();
    const bool has_room = bytes <= recorder.most_kept;
    if (!has_room)
        fprintf(stderr,
                "braid record: the program has %" PRIu64 " bytes of memory, and --memory allows "
                "%" PRIu64 ": the record has none of them\n",
                bytes, recorder.most_kept);
    else if (!take_all(&list))
        fputs("braid record: the driver does not copy the program's memory: the record has none\n",
              stderr);
    else
        recorder.memory = list;
    if (!recorder.memory.items)
        braid_array_finish(&list);
}

// Memory that the frame has freed gets none.
void recorder_digest_memory_contents(void)
{
    braid_record_memory *rows = recorder.memory.items;
    bool is_over = ASK("cuCtxSynchronize", 0, 0, 0, 0) == SUCCEEDED;
    for (size_t i = 0; i < recorder.memory.num && is_over; i++) {
        const braid_record_allocation row = row_of(&rows[i]);
        recorder_lock();
        const bool is_there = recorder_find_memory(row.address) == rows[i].allocation;
        recorder_unlock();
        void *bytes = is_there ? braid_allocate(row.bytes) : NULL;
        if (bytes && copy_bytes(&row, bytes))
            rows[i].digest_behind = braid_record_get_digest(bytes, row.bytes);
        braid_free(bytes);
    }
}
