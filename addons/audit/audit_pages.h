// SPDX-License-Identifier: Apache-2.0
// The pages that hold a graph's buffers, and the rights of the process to each.
#ifndef BRAID_AUDIT_AUDIT_PAGES_H
#define BRAID_AUDIT_AUDIT_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/status.h>

enum { AUDIT_PAGE = 4096 };

#define AUDIT_NO_PAGE SIZE_MAX

// Pages that follow each other in memory.
struct audit_span {
    uintptr_t begin;
    size_t first, num; // their numbers
};

enum { AUDIT_SHARED = 64 }; // among own rights: the page is shared with other processes

// Rights are a mask of PROT_READ, PROT_WRITE and PROT_EXEC.
struct audit_pages {
    struct audit_span *spans; // by address
    size_t num_spans, num;
    unsigned char *own; // by page: its rights without the audit; 0: it is left alone, since it is
                        // not writable, or the handlers need it
    unsigned char *now; // its rights now
};

// Adds the pages of some bytes, which begin behind those of the bytes added before.
void braid_audit_pages_add(struct audit_pages *pages, uintptr_t begin, uintptr_t end);

struct audit_mapping {
    uintptr_t begin, end;
    int rights;
    unsigned long offset, file; // where its bytes are in a file; 0: no file
    unsigned major, minor;      // the file's device
};

// Calls with each mapping of the process, by address. Errors: BRAID_IO_ERROR, those of the call.
typedef braid_status audit_take_mapping(void *context, const struct audit_mapping *mapping);
braid_status braid_audit_pages_list(audit_take_mapping *take, void *context);

// Reads the rights of all, for an audit by this thread. Errors: BRAID_IO_ERROR.
braid_status braid_audit_pages_read(struct audit_pages *pages);

// Leaves the pages with these bytes alone, before any is closed.
void braid_audit_pages_leave(struct audit_pages *pages, uintptr_t begin, uintptr_t end);

// The number of the page with that address, or AUDIT_NO_PAGE.
size_t braid_audit_page_at(const struct audit_pages *pages, uintptr_t address);

// Whether one of them has such bytes.
bool braid_audit_pages_reach(const struct audit_pages *pages, uintptr_t begin, uintptr_t end);

// Leaves the page with that address, and those behind it, these of their own rights. False: the
// system refuses. It allocates nothing, so a handler of a fault may call it.
bool braid_audit_pages_allow(struct audit_pages *pages, uintptr_t address, size_t num, int rights);
bool braid_audit_pages_allow_all(struct audit_pages *pages, int rights);

#endif
