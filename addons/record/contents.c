// SPDX-License-Identifier: Apache-2.0
// The bytes of memory that no copy from the host wrote, such as pointers that a kernel stored. They
// are read when the memory goes, or when the record ends.
#include <string.h>

#include "record/recorder.h"

static bool is_of_device(const braid_record_allocation *row)
{
    return row->kind == BRAID_RECORD_DEVICE || row->kind == BRAID_RECORD_POOL ||
           row->kind == BRAID_RECORD_VARIABLE;
}

static bool read_bytes(word context, word address, char *to, uint64_t num)
{
    word before = 0;
    if (ASK("cuCtxPushCurrent_v2", context, 0, 0, 0) != SUCCEEDED)
        return false;
    const bool is_read = ASK("cuCtxSynchronize", 0, 0, 0, 0) == SUCCEEDED &&
                         ASK("cuMemcpyDtoH_v2", POINTER(to), address, num, 0) == SUCCEEDED;
    ASK("cuCtxPopCurrent_v2", POINTER(&before), 0, 0, 0);
    return is_read;
}

// Under the lock: room for the bytes of memory; NULL: none are read. A copy without a stream would
// end a capture.
static char *take_room(const braid_record_allocation *row, uint64_t *out_num)
{
    const uint64_t num = row->bytes < recorder.most_contents ? row->bytes : recorder.most_contents;
    if (!num || !is_of_device(row) || num > recorder.most_stored - recorder.stored_bytes ||
        atomic_load(&recorder.captures) > 0)
        return NULL;
    char *to = braid_store_take(&recorder.store, 1, num + 1);
    recorder.failed |= !to;
    recorder.stored_bytes += num;
    *out_num = num;
    return to;
}

static void put_contents(uint32_t memory, const char *bytes, uint64_t num)
{
    braid_record_allocation *row = recorder_row(&recorder.allocations, memory, sizeof(*row));
    row->num_contents = num;
    row->contents = bytes;
}

// Work that the driver waits for may wait for a thread that needs the lock.
void recorder_read_contents(uint32_t memory)
{
    uint64_t num = 0;
    recorder_lock();
    const braid_record_allocation row =
        *(const braid_record_allocation *)recorder_row(&recorder.allocations, memory, sizeof(row));
    char *to = is_recording() ? take_room(&row, &num) : NULL;
    const word context = recorder_find_context(row.context);
    recorder_unlock();
    if (!to || !read_bytes(context, row.address, to, num))
        return;
    recorder_lock();
    if (is_recording()) // else rows have other numbers
        put_contents(memory, to, num);
    recorder_unlock();
}

// Other threads' calls go to the driver by themselves by now.
void recorder_read_all_contents(void)
{
    for (uint32_t i = 0; i < recorder.allocations.num && recorder.most_contents; i++) {
        const braid_record_allocation *row = recorder_row(&recorder.allocations, i, sizeof(*row));
        uint64_t num = 0;
        char *to = recorder_find_memory(row->address) == i ? take_room(row, &num) : NULL;
        if (to && read_bytes(recorder_find_context(row->context), row->address, to, num))
            put_contents(i, to, num);
    }
}
