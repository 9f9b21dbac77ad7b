// SPDX-License-Identifier: Apache-2.0
// Finds and sets the rights of pages.
#include "audit/audit_pages.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "audit/audit_system.h"
#include "base/error.h"

void braid_audit_pages_add(struct audit_pages *pages, uintptr_t begin, uintptr_t end)
{
    struct audit_span *last = pages->num_spans ? &pages->spans[pages->num_spans - 1] : NULL;
    uintptr_t reached = last ? last->begin + last->num * AUDIT_PAGE : 0;
    begin = begin / AUDIT_PAGE * AUDIT_PAGE;
    end = (end + AUDIT_PAGE - 1) / AUDIT_PAGE * AUDIT_PAGE;
    if (!last || begin > reached) {
        last = &pages->spans[pages->num_spans++];
        *last = (struct audit_span){ .begin = begin, .first = pages->num };
        reached = begin;
    }
    if (end > reached) {
        last->num += (end - reached) / AUDIT_PAGE;
        pages->num += (end - reached) / AUDIT_PAGE;
    }
}

braid_status braid_audit_pages_list(audit_take_mapping *take, void *context)
{
    FILE *file = fopen("/proc/self/maps", "r");
    if (!file)
        return braid_error(BRAID_IO_ERROR, "braid_graph_audit: cannot read /proc/self/maps: %s",
                           strerror(errno));
    braid_status status = BRAID_OK;
    struct audit_mapping found;
    unsigned long begin, end;
    char rights[5];
    while (!status && fscanf(file, "%lx-%lx %4s %lx %x:%x %lu%*[^\n]", &begin, &end, rights,
                             &found.offset, &found.major, &found.minor, &found.file) == 7) {
        found.begin = begin;
        found.end = end;
        found.rights = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
                       (rights[2] == 'x' ? PROT_EXEC : 0) | (rights[3] == 's' ? AUDIT_SHARED : 0);
        status = take(context, &found);
    }
    fclose(file);
    return status;
}

// Nobody can write a page that is not writable, so nothing has to be ordered there.
static braid_status set_own(void *context, const struct audit_mapping *mapping)
{
    const struct audit_pages *pages = context;
    const uintptr_t begin = mapping->begin, end = mapping->end;
    for (size_t i = 0; i < pages->num_spans && mapping->rights & PROT_WRITE; i++) {
        const struct audit_span *span = &pages->spans[i];
        uintptr_t span_end = span->begin + span->num * AUDIT_PAGE;
        uintptr_t from = begin > span->begin ? begin : span->begin;
        uintptr_t to = end < span_end ? end : span_end;
        if (from < to)
            memset(&pages->own[span->first + (from - span->begin) / AUDIT_PAGE], mapping->rights,
                   (to - from) / AUDIT_PAGE);
    }
    return BRAID_OK;
}

// The last span that does not begin behind the address.
static const struct audit_span *find_span(const struct audit_pages *pages, uintptr_t address)
{
    size_t low = 0, high = pages->num_spans;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pages->spans[middle].begin > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low ? &pages->spans[low - 1] : NULL;
}

size_t braid_audit_page_at(const struct audit_pages *pages, uintptr_t address)
{
    const struct audit_span *span = find_span(pages, address);
    size_t page = span ? (address - span->begin) / AUDIT_PAGE : 0;
    return span && page < span->num ? span->first + page : AUDIT_NO_PAGE;
}

bool braid_audit_pages_reach(const struct audit_pages *pages, uintptr_t begin, uintptr_t end)
{
    for (size_t i = 0; i < pages->num_spans; i++) {
        const struct audit_span *span = &pages->spans[i];
        if (begin < span->begin + span->num * AUDIT_PAGE && span->begin < end)
            return true;
    }
    return false;
}

braid_status braid_audit_pages_read(struct audit_pages *pages)
{
    memset(pages->own, 0, pages->num);
    braid_status status = braid_audit_pages_list(set_own, pages);
    if (status)
        return status;
    braid_audit_pages_leave(pages, (uintptr_t)pthread_self(), (uintptr_t)pthread_self() + 1);
    memcpy(pages->now, pages->own, pages->num);
    return BRAID_OK;
}

void braid_audit_pages_leave(struct audit_pages *pages, uintptr_t begin, uintptr_t end)
{
    for (size_t i = 0; i < pages->num_spans; i++) {
        const struct audit_span *span = &pages->spans[i];
        uintptr_t page = begin / AUDIT_PAGE * AUDIT_PAGE;
        if (page < span->begin)
            page = span->begin;
        for (; page < end && page < span->begin + span->num * AUDIT_PAGE; page += AUDIT_PAGE) {
            const size_t index = span->first + (page - span->begin) / AUDIT_PAGE;
            pages->own[index] = pages->now[index] = 0;
        }
    }
}

// No call of memset: see audit_system.h.
static void note(struct audit_pages *pages, size_t first, size_t end, int rights, bool only_fewer)
{
    for (size_t i = first; i < end; i++)
        *(volatile unsigned char *)&pages->now[i] =
            (unsigned char)(rights & (only_fewer ? pages->now[i] : rights));
}

// This thread's own stack may be among the pages. A fault must not find more rights noted than a
// page has, or it would be repeated for ever. So fewer are noted before, and more behind.
bool braid_audit_pages_allow(struct audit_pages *pages, uintptr_t address, size_t num, int rights)
{
    size_t first = braid_audit_page_at(pages, address), end = first + num;
    const unsigned char *own = pages->own;
    uintptr_t begin = address / AUDIT_PAGE * AUDIT_PAGE;
    for (size_t i = first, next; i < end; i = next) {
        for (next = i + 1; next < end && own[next] == own[i]; next++)
            continue;
        uintptr_t at = begin + (i - first) * AUDIT_PAGE;
        int left = own[i] & rights & (PROT_READ | PROT_WRITE | PROT_EXEC);
        note(pages, i, next, left, true);
        if (own[i] && audit_system(SYS_mprotect, at, (next - i) * AUDIT_PAGE, (unsigned)left, 0))
            return false;
        note(pages, i, next, left, false);
    }
    return true;
}

bool braid_audit_pages_allow_all(struct audit_pages *pages, int rights)
{
    bool done = true;
    for (size_t i = 0; i < pages->num_spans; i++)
        done = braid_audit_pages_allow(pages, pages->spans[i].begin, pages->spans[i].num, rights) &&
               done;
    return done;
}
