// SPDX-License-Identifier: Apache-2.0
// The bytes of the program's memory at the begin of the last frame, and a digest of them at its
// end. So another process can run the frame, and compare.
//
// The host waits for the device at both marks. No lock is held while the driver copies or waits, so
// that other threads may free memory meanwhile: such memory is left.
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

static bool enter(uint32_t context)
{
    recorder_lock();
    const word handle = recorder_find_context(context);
    recorder_unlock();
    return ASK("cuCtxPushCurrent_v2", handle, 0, 0, 0) == SUCCEEDED;
}

static void leave(void)
{
    word context = 0;
    ASK("cuCtxPopCurrent_v2", POINTER(&context), 0, 0, 0);
}

// Under the lock: the rows of memory that the program has. Returns their bytes.
static uint64_t list_memory(struct array *list)
{
    uint64_t all = 0;
    recorder.keeps_rows = true;
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

// Under the lock.
static const braid_record_allocation *find_row(const braid_record_memory *memory)
{
    return recorder_row(&recorder.allocations, memory->allocation, sizeof(braid_record_allocation));
}

static bool is_gone(const braid_record_memory *memory)
{
    return recorder_find_memory(find_row(memory)->address) != memory->allocation;
}

// Nobody frees memory of the host meanwhile: the lock is taken before the driver gets that call.
static bool copy_from_host(const braid_record_memory *memory, void *to)
{
    recorder_lock();
    const bool is_there = !is_gone(memory);
    if (is_there)
        memcpy(to, (const void *)(uintptr_t)find_row(memory)->address, memory->num_bytes);
    recorder_unlock();
    return is_there;
}

enum copied { COPIED, IS_GONE, REFUSED };

static enum copied copy_bytes(const braid_record_memory *memory, void *to)
{
    recorder_lock();
    const braid_record_allocation row = *find_row(memory);
    bool is_missing = is_gone(memory);
    recorder_unlock();
    if (is_missing)
        return IS_GONE;
    if (is_of_host(&row))
        return copy_from_host(memory, to) ? COPIED : IS_GONE;
    const bool is_inside = enter(row.context);
    const bool is_copied = is_inside && ASK("cuMemcpyDtoH_v2", POINTER(to), row.address,
                                            memory->num_bytes, 0) == SUCCEEDED;
    if (is_inside)
        leave();
    recorder_lock();
    is_missing = is_gone(memory);
    recorder_unlock();
    return is_missing ? IS_GONE : is_copied ? COPIED : REFUSED;
}

static bool take(braid_record_memory *memory)
{
    void *bytes = braid_allocate(memory->num_bytes);
    const enum copied copied = bytes ? copy_bytes(memory, bytes) : REFUSED;
    if (copied != COPIED) {
        braid_free(bytes);
        return copied == IS_GONE;
    }
    memory->bytes = bytes;
    memory->digest = braid_record_get_digest(bytes, memory->num_bytes);
    return true;
}

// Waits for each context that has memory of the list. The wait would end a capture.
static bool wait_for_work(const struct array *list)
{
    const braid_record_memory *rows = list->items;
    uint32_t last = BRAID_RECORD_NONE;
    bool is_over = atomic_load(&recorder.captures) == 0;
    for (size_t i = 0; i < list->num && is_over; i++) {
        recorder_lock();
        const uint32_t context = find_row(&rows[i])->context;
        recorder_unlock();
        if (context == last)
            continue;
        last = context;
        is_over = enter(context);
        if (is_over) {
            is_over = ASK("cuCtxSynchronize", 0, 0, 0, 0) == SUCCEEDED;
            leave();
        }
    }
    return is_over;
}

static void free_bytes(const struct array *list)
{
    const braid_record_memory *rows = list->items;
    for (size_t i = 0; i < list->num; i++)
        braid_free((void *)(uintptr_t)rows[i].bytes);
}

static bool take_all(const struct array *list)
{
    braid_record_memory *rows = list->items;
    bool is_taken = wait_for_work(list);
    for (size_t i = 0; i < list->num && is_taken; i++)
        is_taken = take(&rows[i]);
    if (!is_taken)
        free_bytes(list);
    return is_taken;
}

void recorder_take_memory_contents(void)
{
    struct array list = { .items = NULL };
    recorder_lock();
    const uint64_t bytes = list_memory(&list);
    recorder_unlock();
    const bool has_room = bytes <= recorder.most_kept;
    bool is_taken = false;
    if (!has_room)
        fprintf(stderr,
                "braid record: the program has %" PRIu64 " bytes of memory, and --memory allows "
                "%" PRIu64 ": the record has none of them\n",
                bytes, recorder.most_kept);
    else if (atomic_load(&recorder.captures) > 0)
        fputs("braid record: a stream captures where the last frame begins: the record has none of "
              "the program's memory\n",
              stderr);
    else if (!take_all(&list))
        fputs("braid record: the driver does not copy the program's memory: the record has none\n",
              stderr);
    else
        is_taken = true;
    recorder_lock();
    if (is_taken && !recorder.memory.items)
        recorder.memory = list;
    else if (is_taken)
        free_bytes(&list);
    if (recorder.memory.items != list.items)
        braid_array_finish(&list);
    recorder_unlock();
}

// Under the lock, at the mark.
void recorder_forget_lost_contents(void)
{
    braid_record_memory *rows = recorder.memory.items;
    size_t num = 0;
    for (size_t i = 0; i < recorder.memory.num; i++)
        if (rows[i].bytes && !is_gone(&rows[i]))
            rows[num++] = rows[i];
        else
            braid_free((void *)(uintptr_t)rows[i].bytes);
    recorder.memory.num = num;
}

// Memory that the frame has freed gets none.
void recorder_digest_memory_contents(void)
{
    braid_record_memory *rows = recorder.memory.items;
    const bool is_over = wait_for_work(&recorder.memory);
    for (size_t i = 0; i < recorder.memory.num && is_over; i++) {
        void *bytes = braid_allocate(rows[i].num_bytes);
        if (bytes && copy_bytes(&rows[i], bytes) == COPIED)
            rows[i].digest_behind = braid_record_get_digest(bytes, rows[i].num_bytes);
        braid_free(bytes);
    }
}
