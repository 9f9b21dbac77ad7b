// SPDX-License-Identifier: Apache-2.0
// Judges accesses by the declarations of the node at hand, and opens pages where no more can be
// learned. A handler of a fault calls it.
#include <sys/mman.h>

#include "audit/audit_by_pages.h"
#include "audit/audit_width.h"

enum { READS_AND_WRITES = PROT_READ | PROT_WRITE };

static uintptr_t round_down(uintptr_t address, uint64_t bytes)
{
    return address / bytes * bytes;
}

static uintptr_t larger(uintptr_t a, uintptr_t b)
{
    return a > b ? a : b;
}

static uintptr_t smaller(uintptr_t a, uintptr_t b)
{
    return a < b ? a : b;
}

static bool has(const struct audit_access *access, uintptr_t address)
{
    return access->begin <= address && address < access->end;
}

static bool overlaps(const struct audit_access *access, uintptr_t begin, uintptr_t end)
{
    return access->begin < end && begin < access->end;
}

static void count(struct audit *audit, uintptr_t address, bool writes)
{
    struct audit_buffer *buffer = braid_audit_find_buffer(&audit->memory, address);
    if (!buffer)
        return;
    struct audit_count *count = &buffer->counts[writes];
    if (!buffer->is_noted)
        audit->noted[audit->num_noted++] = (uint32_t)(buffer - audit->memory.buffers);
    buffer->is_noted = true;
    if (!count->num++)
        count->first = count->lowest = count->highest = address;
    if (address < count->lowest)
        count->lowest = address;
    if (address > count->highest)
        count->highest = address;
}

// Whether one access at the address may reach these bytes as well.
static bool may_reach(const struct audit_access *access, uintptr_t address)
{
    enum { MOST_BYTES = 64 };
    return address < access->end && access->begin < address + MOST_BYTES;
}

// A node that has not written the page reads older data. A node that is not seen in full may have
// written it.
static bool may_read(const struct audit *audit, const struct audit_access *access, size_t page)
{
    return access->may_read || audit->unseen || atomic_load(audit->child_accesses) ||
           audit->users[page].writer == audit->num_begun;
}

// An instruction that reads and then writes a place makes one fault, by which it writes.
void braid_audit_judge(struct audit *audit, uintptr_t address, bool writes)
{
    bool is_declared = !audit->runs;
    size_t page = braid_audit_page_at(&audit->pages, address);
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        struct audit_access *access = &audit->declared[i];
        if (!may_reach(access, address))
            continue;
        access->was_read = true;
        if (writes && access->may_write) {
            access->was_written = true;
            audit->users[page].writer = audit->num_begun;
        }
        is_declared = is_declared || (has(access, address) &&
                                      (writes ? access->may_write : may_read(audit, access, page)));
    }
    if (!is_declared)
        count(audit, address, writes);
}

// These bytes are written, as the node declares.
static void note_writer(struct audit *audit, uintptr_t begin, uintptr_t end)
{
    for (uintptr_t at = begin; at < end; at = round_down(at, AUDIT_PAGE) + AUDIT_PAGE) {
        size_t page = braid_audit_page_at(&audit->pages, at);
        if (page != AUDIT_NO_PAGE)
            audit->users[page].writer = audit->num_begun;
    }
}

void braid_audit_judge_bytes(struct audit *audit, uintptr_t begin, uintptr_t end, bool writes)
{
    struct audit_memory *memory = &audit->memory;
    if (!audit->runs)
        return;
    for (uint32_t i = 0; writes && i < audit->num_declared; i++)
        if (audit->declared[i].may_write)
            note_writer(audit, larger(begin, audit->declared[i].begin),
                        smaller(end, audit->declared[i].end));
    braid_audit_memory_judge(memory, audit->declared, audit->num_declared, begin, end, writes);
    for (size_t i = 0; i < memory->num_buffers; i++) {
        struct audit_buffer *buffer = &memory->buffers[i];
        if (buffer->counts[writes].num && !buffer->is_noted) {
            audit->noted[audit->num_noted++] = (uint32_t)i;
            buffer->is_noted = true;
        }
    }
}

// Whether the node declares such accesses to these bytes.
static bool declares(const struct audit *audit, uintptr_t begin, uintptr_t end, bool writes)
{
    while (begin < end) {
        uintptr_t reached = begin;
        for (uint32_t i = 0; i < audit->num_declared; i++) {
            const struct audit_access *access = &audit->declared[i];
            if (has(access, begin) && access->end > reached && (!writes || access->may_write))
                reached = access->end;
        }
        if (reached == begin)
            return false;
        begin = reached;
    }
    return true;
}

// Whether it declares such accesses to all bytes of buffers among these.
static bool declares_all(const struct audit *audit, uintptr_t begin, uintptr_t end, bool writes)
{
    const struct audit_extent *extents = audit->memory.extents;
    size_t low = 0, high = audit->memory.num_extents;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (extents[middle].end > begin)
            high = middle;
        else
            low = middle + 1;
    }
    for (size_t i = low; i < audit->memory.num_extents && extents[i].begin < end; i++) {
        if (!declares(audit, larger(extents[i].begin, begin), smaller(extents[i].end, end), writes))
            return false;
    }
    return true;
}

// Bytes in the next page are declared, or make a fault of their own. So at a page's begin the first
// bytes may lie before it. A buffer whose byte is counted already counts once.
void braid_audit_judge_rest(struct audit *audit, uintptr_t address, bool writes,
                            const unsigned char *instruction)
{
    const struct audit_buffer *buffer = braid_audit_find_buffer(&audit->memory, address);
    uintptr_t begin = address + 1, page_end = address / AUDIT_PAGE * AUDIT_PAGE + AUDIT_PAGE;
    uintptr_t most = smaller(address + AUDIT_MOST_WIDTH, page_end);
    if (buffer && !declares(audit, address, begin, writes))
        begin = buffer->end;
    if (!audit->runs || begin >= most || declares_all(audit, begin, most, writes))
        return;
    bool is_readable =
        braid_audit_page_at(&audit->pages, (uintptr_t)instruction) == AUDIT_NO_PAGE &&
        braid_audit_page_at(&audit->pages, (uintptr_t)instruction + 15) == AUDIT_NO_PAGE;
    struct audit_width width = { AUDIT_MOST_WIDTH, false };
    if (is_readable)
        width = braid_audit_find_width(instruction);
    uintptr_t end = smaller(address + width.bytes, most);
    if (begin >= end || declares_all(audit, begin, end, writes))
        return;
    if (width.is_known && address % AUDIT_PAGE)
        braid_audit_judge_bytes(audit, begin, end, writes);
    else
        audit->is_wide = true;
}

void braid_audit_judge_hidden(struct audit *audit, uintptr_t address)
{
    uintptr_t page = address / AUDIT_PAGE * AUDIT_PAGE;
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        struct audit_access *access = &audit->declared[i];
        if (overlaps(access, page, page + AUDIT_PAGE))
            access->was_read = access->was_written = true;
    }
    if (audit->runs && !declares_all(audit, page, page + AUDIT_PAGE, true))
        audit->hides = true;
}

// The rights with which a page hides neither an undeclared access nor the first declared one.
static int find_rights(const struct audit *audit, uintptr_t page)
{
    bool writes = true;
    if (!audit->runs || !declares_all(audit, page, page + AUDIT_PAGE, false))
        return PROT_NONE;
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        const struct audit_access *access = &audit->declared[i];
        if (!overlaps(access, page, page + AUDIT_PAGE))
            continue;
        if (!access->was_read && !access->may_write)
            return PROT_NONE;
        writes = writes && (access->was_written || !access->may_write) &&
                 (may_read(audit, access, braid_audit_page_at(&audit->pages, page)) ||
                  access->num_opened >= AUDIT_MOST_OPENED);
    }
    return writes && declares_all(audit, page, page + AUDIT_PAGE, true) ? READS_AND_WRITES
                                                                        : PROT_READ;
}

// The pages of the buffer, around this one, that no declared access reaches.
static struct audit_extent find_undeclared(const struct audit *audit,
                                           const struct audit_buffer *buffer, uintptr_t page)
{
    struct audit_extent found = { round_down(buffer->begin + AUDIT_PAGE - 1, AUDIT_PAGE),
                                  round_down(buffer->end, AUDIT_PAGE) };
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        const struct audit_access *access = &audit->declared[i];
        uintptr_t behind = round_down(access->end + AUDIT_PAGE - 1, AUDIT_PAGE);
        if (access->begin >= page + AUDIT_PAGE && access->begin < found.end)
            found.end = round_down(access->begin, AUDIT_PAGE);
        else if (access->begin < page + AUDIT_PAGE && behind > found.begin)
            found.begin = behind; // behind this page, if the access reaches it
    }
    return found;
}

// Behind many undeclared accesses to a buffer each further one would take a fault, and tell little.
// Single pages would be more mappings than the system allows. So faults open ever more pages.
static int open_counted(struct audit *audit, uintptr_t address, bool writes,
                        struct audit_extent *pages)
{
    enum { MOST_DOUBLED = 40 };
    struct audit_buffer *buffer =
        audit->runs ? braid_audit_find_buffer(&audit->memory, address) : NULL;
    if (!buffer)
        return PROT_NONE;
    bool opens_writes = buffer->counts[true].num >= AUDIT_MOST_COUNTED;
    struct audit_extent most = find_undeclared(audit, buffer, pages->begin);
    struct audit_count *count = &buffer->counts[opens_writes || writes];
    if (count->num < AUDIT_MOST_COUNTED || pages->begin < most.begin || pages->end > most.end)
        return PROT_NONE;
    uint64_t doubled = count->num_opened++ / AUDIT_SAME_OPENED;
    uint64_t bytes = (uint64_t)AUDIT_PAGE << (doubled < MOST_DOUBLED ? doubled : MOST_DOUBLED);
    uintptr_t begin = round_down(address, bytes);
    pages->begin = begin > most.begin ? begin : most.begin;
    pages->end = begin + bytes < most.end ? begin + bytes : most.end;
    return opens_writes ? READS_AND_WRITES : PROT_READ;
}

bool braid_audit_open(struct audit *audit, uintptr_t address, bool writes)
{
    const int wanted = writes ? PROT_WRITE : PROT_READ;
    uintptr_t begin = address / AUDIT_PAGE * AUDIT_PAGE, end = begin + AUDIT_PAGE;
    int rights = find_rights(audit, begin);
    for (uint32_t i = 0; i < audit->num_declared && rights & wanted; i++) {
        struct audit_access *access = &audit->declared[i];
        if (has(access, address) && !access->may_read && access->num_opened < AUDIT_MOST_OPENED) {
            access->num_opened++;
            continue; // each page tells whether it is read first
        }
        while (has(access, address) && end < access->end && find_rights(audit, end) == rights)
            end += AUDIT_PAGE;
        while (has(access, address) && begin > access->begin &&
               find_rights(audit, begin - AUDIT_PAGE) == rights)
            begin -= AUDIT_PAGE;
    }
    for (uint32_t i = 0; i < audit->num_declared && rights & wanted; i++)
        if (overlaps(&audit->declared[i], begin, end))
            audit->declared[i].is_open = true;
    if (!(rights & wanted)) {
        struct audit_extent pages = { begin, end };
        rights = open_counted(audit, address, writes, &pages);
        begin = pages.begin, end = pages.end;
    }
    return (rights & wanted) &&
           braid_audit_pages_allow(&audit->pages, begin, (end - begin) / AUDIT_PAGE,
                                   rights | PROT_EXEC);
}

bool braid_audit_hides_reads(const struct audit *audit)
{
    for (uint32_t i = 0; i < audit->num_noted; i++) {
        const struct audit_count *counts = audit->memory.buffers[audit->noted[i]].counts;
        if (counts[true].num_opened && !counts[false].num)
            return true;
    }
    return false;
}

bool braid_audit_open_all(struct audit *audit)
{
    audit->is_open = true;
    return braid_audit_pages_allow_all(&audit->pages, PROT_READ | PROT_WRITE | PROT_EXEC);
}

void braid_audit_miss(struct audit *audit, const char *reason)
{
    audit->unseen = reason;
    for (uint32_t i = 0; i < audit->num_declared; i++)
        audit->declared[i].was_read = audit->declared[i].was_written = true;
}

bool braid_audit_give_up(struct audit *audit, const char *reason)
{
    braid_audit_miss(audit, reason);
    return braid_audit_open_all(audit);
}

static bool close_bytes(struct audit *audit, uintptr_t begin, uintptr_t end)
{
    uintptr_t page = begin / AUDIT_PAGE * AUDIT_PAGE;
    return braid_audit_pages_allow(&audit->pages, page, (end - page + AUDIT_PAGE - 1) / AUDIT_PAGE,
                                   PROT_NONE);
}

bool braid_audit_close(struct audit *audit)
{
    bool done = true;
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        struct audit_access *access = &audit->declared[i];
        if (access->is_open)
            done = close_bytes(audit, access->begin, access->end) && done;
        access->is_open = false;
        access->num_opened = 0;
    }
    for (uint32_t i = 0; i < audit->num_noted; i++) {
        const struct audit_buffer *buffer = &audit->memory.buffers[audit->noted[i]];
        if (buffer->counts[false].num_opened || buffer->counts[true].num_opened)
            done = close_bytes(audit, buffer->begin, buffer->end) && done;
    }
    return done;
}
