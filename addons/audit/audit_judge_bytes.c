// SPDX-License-Identifier: Apache-2.0
// Judges accesses of which all bytes are known at once: those of copies, fills and system calls.
#include "audit/audit.h"

static bool allows(const struct audit_access *access, bool writes)
{
    return !writes || access->may_write;
}

// The end of the bytes from `begin` on that are declared alike, and whether they are.
static uintptr_t find_end(const struct audit_access *declared, uint32_t num, uintptr_t begin,
                          uintptr_t end, bool writes, bool *out_is_declared)
{
    uintptr_t next = end, reached = begin;
    for (uint32_t i = 0; i < num; i++) {
        const struct audit_access *access = &declared[i];
        if (!allows(access, writes))
            continue;
        if (access->begin <= begin && access->end > reached)
            reached = access->end;
        if (access->begin > begin && access->begin < next)
            next = access->begin;
    }
    *out_is_declared = reached > begin;
    return *out_is_declared ? reached : next;
}

static void count(struct audit_memory *memory, uintptr_t begin, uintptr_t end, bool writes)
{
    for (size_t i = 0; i < memory->num_buffers; i++) {
        struct audit_buffer *buffer = &memory->buffers[i];
        struct audit_count *found = &buffer->counts[writes];
        uintptr_t from = buffer->begin > begin ? buffer->begin : begin;
        uintptr_t last = (buffer->end < end ? buffer->end : end) - 1;
        if (from > last)
            continue;
        if (!found->num++)
            found->first = found->lowest = found->highest = from;
        if (from < found->lowest)
            found->lowest = from;
        if (last > found->highest)
            found->highest = last;
    }
}

void braid_audit_memory_judge(struct audit_memory *memory, struct audit_access *declared,
                              uint32_t num_declared, uintptr_t begin, uintptr_t end, bool writes)
{
    for (uint32_t i = 0; i < num_declared; i++) {
        struct audit_access *access = &declared[i];
        if (access->begin >= end || begin >= access->end)
            continue;
        access->was_read = true;
        access->was_written = access->was_written || (writes && access->may_write);
    }
    while (begin < end) {
        bool is_declared = false;
        uintptr_t next = find_end(declared, num_declared, begin, end, writes, &is_declared);
        if (!is_declared)
            count(memory, begin, next, writes);
        begin = next;
    }
}
