// SPDX-License-Identifier: Apache-2.0
// The bytes of the program's memory. They are all kept where the last frame begins, with a
// digest where it ends. So another process can run the frame, and compare. At the end of each
// allocation its first bytes are kept, such as pointers that a kernel stored.
//
// The host waits for the device first. No lock is held while the driver copies or waits, so that
// other threads may free memory meanwhile: such memory is left.
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

static bool is_of_device(const braid_record_allocation *row)
{
    return row->kind == BRAID_RECORD_DEVICE || row->kind == BRAID_RECORD_POOL ||
           row->kind == BRAID_RECORD_VARIABLE;
}

static bool is_capturing(void)
{
    return atomic_load(&recorder.captures) > 0;
}

// Waits for the context's work, and copies memory of it, if there is any. Both would end a capture,
// which may begin during the wait.
static bool copy_of_context(word context, word address, void *to, uint64_t num)
{
    word before = 0;
    if (is_capturing() || ASK("cuCtxPushCurrent_v2", context, 0, 0, 0) != SUCCEEDED)
        return false;
    bool is_copied = ASK("cuCtxSynchronize", 0, 0, 0, 0) == SUCCEEDED;
    if (to)
        is_copied = is_copied && !is_capturing() &&
                    ASK("cuMemcpyDtoH_v2", POINTER(to), address, num, 0) == SUCCEEDED;
    ASK("cuCtxPopCurrent_v2", POINTER(&before), 0, 0, 0);
    return is_copied;
}

// All below, as far as "keep", are called under the lock.

static const braid_record_allocation *find_row(const braid_record_memory *memory)
{
    return recorder_row(&recorder.allocations, memory->allocation, sizeof(braid_record_allocation));
}

static bool is_gone(const braid_record_memory *memory)
{
    return recorder_find_memory(find_row(memory)->address) != memory->allocation;
}

static void free_bytes(const braid_record_memory *memory)
{
    braid_free((void *)(uintptr_t)memory->bytes);
}

static void put(const braid_record_memory *memory)
{
    if (braid_array_put(&recorder.memory, memory, sizeof(*memory)))
        return;
    recorder.failed = true;
    free_bytes(memory);
}

void recorder_forget_memory(bool of_end)
{
    braid_record_memory *rows = recorder.memory.items;
    size_t num = 0;
    for (size_t i = 0; i < recorder.memory.num; i++)
        if (rows[i].is_of_end ? !of_end : !is_gone(&rows[i]))
            rows[num++] = rows[i];
        else
            free_bytes(&rows[i]);
    recorder.memory.num = num;
}

void recorder_forget_end(uint32_t number)
{
    braid_record_memory *rows = recorder.memory.items;
    size_t num = 0;
    for (size_t i = 0; i < recorder.memory.num; i++)
        if (!rows[i].is_of_end || rows[i].allocation != number)
            rows[num++] = rows[i];
        else
            free_bytes(&rows[i]);
    recorder.memory.num = num;
}

// Pools and mappings outlive their context. Then any other one may copy them.
static word context_of(const braid_record_allocation *row)
{
    const word context = recorder_find_context(row->context);
    return context ? context : recorder_context();
}

// ---- the begin of a frame ----

// Under the lock: the memory that the program has. Returns its bytes.
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

enum copied { COPIED, IS_GONE, REFUSED };

// Nobody frees memory of the host meanwhile: the lock is taken before the driver gets that call.
// The program may have unmapped it without a call: then it is gone.
static enum copied copy_bytes(const braid_record_memory *memory, void *to)
{
    recorder_lock();
    const braid_record_allocation row = *find_row(memory);
    const word context = context_of(&row);
    const void *from = (const void *)(uintptr_t)row.address;
    bool is_copied = is_of_host(&row);
    bool is_missing = is_gone(memory) || (is_copied && !recorder_can_read(from, memory->num_bytes));
    if (!is_missing && is_copied)
        memcpy(to, from, memory->num_bytes);
    recorder_unlock();
    if (is_missing || is_copied)
        return is_missing ? IS_GONE : COPIED;
    is_copied = copy_of_context(context, row.address, to, memory->num_bytes);
    recorder_lock();
    is_missing = is_gone(memory);
    recorder_unlock();
    return is_missing ? IS_GONE : is_copied ? COPIED : REFUSED;
}

static bool take(braid_record_memory *memory)
{
    void *bytes = braid_allocate(memory->num_bytes);
    const enum copied copied = bytes ? copy_bytes(memory, bytes) : REFUSED;
    if (copied == COPIED)
        memory->bytes = bytes;
    else
        braid_free(bytes);
    return copied != REFUSED;
}

// Waits for all contexts.
static bool wait_for_work(void)
{
    bool is_over = true;
    recorder_lock();
    const uint32_t num = recorder.num_contexts;
    recorder_unlock();
    for (uint32_t i = 0; i < num && is_over; i++) {
        recorder_lock();
        const word context = recorder_find_context(i);
        recorder_unlock();
        is_over = !context || copy_of_context(context, 0, NULL, 0);
    }
    return is_over;
}

void recorder_keep_begin(void)
{
    static bool has_begin; // another thread may be at the same mark
    struct array list = { .items = NULL };
    recorder_lock();
    const uint64_t bytes = list_memory(&list);
    recorder_unlock();
    braid_record_memory *rows = list.items;
    bool is_taken = bytes <= recorder.most_at_begin && wait_for_work();
    for (size_t i = 0; i < list.num && is_taken; i++)
        is_taken = take(&rows[i]);
    if (bytes > recorder.most_at_begin)
        fprintf(stderr,
                "braid record: the program has %" PRIu64 " bytes of memory, and --memory allows "
                "%" PRIu64 ": the record has none of them\n",
                bytes, recorder.most_at_begin);
    else if (!is_taken && is_capturing())
        fputs("braid record: a stream captures where the last frame begins: the record has none of "
              "the program's memory\n",
              stderr);
    else if (!is_taken)
        fputs("braid record: the driver does not copy the program's memory: the record has none\n",
              stderr);
    recorder_lock();
    is_taken = is_taken && !has_begin;
    has_begin |= is_taken;
    for (size_t i = 0; i < list.num; i++)
        (is_taken && rows[i].bytes ? put : free_bytes)(&rows[i]);
    recorder_unlock();
    braid_array_finish(&list);
}

// Memory that the frame has freed gets none. Other threads may add or forget rows meanwhile.
void recorder_compare_begin(void)
{
    const bool is_over = wait_for_work();
    recorder_lock();
    for (size_t i = 0; i < recorder.memory.num && is_over; i++) {
        const braid_record_memory row = ((braid_record_memory *)recorder.memory.items)[i];
        recorder_unlock();
        void *bytes = row.is_of_end ? NULL : braid_allocate(row.num_bytes);
        const bool is_copied = bytes && copy_bytes(&row, bytes) == COPIED;
        recorder_lock();
        braid_record_memory *now = recorder.memory.items;
        if (is_copied && i < recorder.memory.num && now[i].bytes == row.bytes)
            now[i].digest_behind = braid_record_get_digest(bytes, row.num_bytes);
        braid_free(bytes);
    }
    recorder_unlock();
}

// ---- the end of an allocation ----

// Under the lock: room for its bytes. NULL: none are kept.
static void *take_room(const braid_record_allocation *row, braid_record_memory *memory)
{
    const uint64_t num = row->bytes < recorder.most_at_end ? row->bytes : recorder.most_at_end;
    if (!num || !is_of_device(row) || num > recorder.most_stored - recorder.stored_bytes ||
        is_capturing())
        return NULL;
    void *to = braid_allocate(num);
    recorder.failed |= !to;
    recorder.stored_bytes += num;
    memory->num_bytes = num;
    memory->bytes = to;
    return to;
}

// Work that the driver waits for may wait for a thread that needs the lock.
void recorder_keep_end(uint32_t number)
{
    braid_record_memory memory = { .allocation = number, .is_of_end = true };
    if (!recorder.most_at_end)
        return;
    recorder_lock();
    const braid_record_allocation row = *find_row(&memory);
    void *to = is_recording() ? take_room(&row, &memory) : NULL;
    const word context = context_of(&row);
    recorder_unlock();
    const bool is_copied = to && copy_of_context(context, row.address, to, memory.num_bytes);
    recorder_lock();
    if (is_copied && is_recording()) // else rows have other numbers
        put(&memory);
    else
        braid_free(to);
    recorder_unlock();
}

// Other threads' calls go to the driver by themselves by now.
void recorder_keep_all_ends(void)
{
    for (uint32_t i = 0; i < recorder.allocations.num && recorder.most_at_end; i++) {
        braid_record_memory memory = { .allocation = i, .is_of_end = true };
        const braid_record_allocation *row = find_row(&memory);
        void *to = is_gone(&memory) ? NULL : take_room(row, &memory);
        if (to && copy_of_context(context_of(row), row->address, to, memory.num_bytes))
            put(&memory);
        else
            braid_free(to);
    }
}
