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

static void read_bytes(braid_record_allocation *row, char *to, uint64_t num)
{
    word before = 0;
    if (ASK("cuCtxPushCurrent_v2", recorder_find_context(row->context), 0, 0, 0) != SUCCEEDED)
        return;
    if (ASK("cuCtxSynchronize", 0, 0, 0, 0) == SUCCEEDED &&
        ASK("cuMemcpyDtoH_v2", POINTER(to), row->address, num, 0) == SUCCEEDED) {
        row->num_contents = num;
        row->contents = to;
    }
    ASK("cuCtxPopCurrent_v2", POINTER(&before), 0, 0, 0);
}

// A copy without a stream would end a capture.
void recorder_read_contents(uint32_t memory)
{
    braid_record_allocation *row = recorder_row(&recorder.allocations, memory, sizeof(*row));
    const uint64_t num = row->bytes < recorder.most_contents ? row->bytes : recorder.most_contents;
    if (!num || !is_of_device(row) || num > recorder.most_stored - recorder.stored_bytes ||
        atomic_load(&recorder.captures) > 0)
        return;
    char *to = braid_store_take(&recorder.store, 1, num + 1);
    recorder.failed |= !to;
    recorder.stored_bytes += num;
    if (to)
        read_bytes(row, to, num);
}

void recorder_read_all_contents(void)
{
    for (uint32_t i = 0; i < recorder.allocations.num && recorder.most_contents; i++) {
        const braid_record_allocation *row = recorder_row(&recorder.allocations, i, sizeof(*row));
        if (recorder_find_memory(row->address) == i)
            recorder_read_contents(i);
    }
}
