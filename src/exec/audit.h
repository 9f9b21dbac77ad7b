// SPDX-License-Identifier: Apache-2.0
// An audit that runs: the memory of buffers, the declarations of the node at hand, and the
// accesses that it made.
//
// Outside a node's accesses all pages with buffers are closed. A fault tells of an access. If the
// node declares all that its page has of buffers, the page is opened for the rest of the node.
// Otherwise it is opened for one instruction, behind which the processor traps. So each access to
// such a page is judged, by its first byte.
#ifndef BRAID_EXEC_AUDIT_H
#define BRAID_EXEC_AUDIT_H

#include <signal.h>
#include <stdatomic.h>

#include <braid/audit.h>

#include "exec/audit_pages.h"
#include "exec/exec.h"

enum {
    AUDIT_MOST_COUNTED = 4096,     // undeclared accesses of a node to a buffer, one by one
    AUDIT_MOST_STEPPED = 128,      // pages: more than an instruction reaches
    AUDIT_STACK_BYTES = 64 * 1024, // of the handlers
};

// Undeclared accesses of one kind.
struct audit_count {
    uint64_t num;
    uintptr_t first, lowest, highest;
};

struct audit_buffer {
    uintptr_t begin, end;
    uint32_t resource;
    bool is_noted, is_open;       // by the node at hand
    struct audit_count counts[2]; // its reads, and its writes
};

// Of a resource whose address is known; otherwise it has no bytes.
struct audit_access {
    uintptr_t begin, end;
    bool may_write;
    bool was_read, was_written; // as far as that is wanted, by any run of its node
    bool is_open;               // pages with it are, by the node at hand
};

// Bytes of buffers without a gap.
struct audit_extent {
    uintptr_t begin, end;
};

struct audit_step {
    uintptr_t address;
    int rights; // behind the instruction
};

// All of it lies in pages of its own, which nobody closes.
struct audit {
    size_t bytes; // of these pages
    struct audit_pages pages;
    struct audit_buffer *buffers;  // by address
    struct audit_extent *extents;  // likewise
    struct audit_access *accesses; // as in the graph
    size_t num_buffers, num_extents, num_accesses;

    // The node that runs.
    bool runs;
    struct audit_access *declared; // of `accesses`
    uint32_t num_declared;
    uint32_t *noted; // buffers
    uint32_t num_noted;

    atomic_int owner; // twice the thread that handles a fault, up to the end of its step; one
                      // more: the thread has it beyond its faults
    bool is_open;     // all pages are, until the next node
    struct audit_step steps[AUDIT_MOST_STEPPED];
    uint32_t num_steps;

    stack_t stack_before;
    sigset_t signals_before;
    unsigned char stack[AUDIT_STACK_BYTES];
};

// audit_memory.c: knows the memory of a graph's buffers, as the exec's first frame has them, and of
// its accesses. Errors: BRAID_NO_MEMORY, BRAID_IO_ERROR.
braid_status braid_audit_create(const braid_graph *graph, const braid_exec *exec,
                                struct audit **out_audit);
void braid_audit_destroy(struct audit *audit); // NULL does nothing

// audit_judge.c. Notes an access of the node at hand.
void braid_audit_judge(struct audit *audit, uintptr_t address, bool writes);
// Opens pages with the address as far as no access there can be undeclared. False: the page is not
// opened for such an access.
bool braid_audit_open(struct audit *audit, uintptr_t address, bool writes);
void braid_audit_close(struct audit *audit); // all that is open

// audit_trap.c. Between these two, accesses of any thread to buffers are judged. Both are called by
// one thread. Errors: BRAID_UNSUPPORTED (the machine, or the system refuses to close pages).
braid_status braid_audit_start(struct audit *audit);
void braid_audit_stop(struct audit *audit);
// Around the calls of a node.
void braid_audit_begin_node(struct audit *audit, const struct graph_node *node);
void braid_audit_end_node(struct audit *audit);
// Opens all pages, for work that is not judged, until the next node.
void braid_audit_pause(struct audit *audit);

// audit_findings.c: the findings of a graph's nodes.
struct audit_finding {
    braid_audit_kind kind;
    uint32_t node, resource;
    uintptr_t begin; // of the buffer's memory
    struct audit_count count;
};
struct audit_findings {
    const braid_graph *graph;
    struct array items; // struct audit_finding
    bool *has_run;      // by node
};
// Behind a node: takes the undeclared accesses that were noted. Errors: BRAID_NO_MEMORY.
braid_status braid_audit_findings_take(struct audit_findings *findings, struct audit *audit,
                                       uint32_t node);
// Behind all: adds declared accesses that were never made. Errors: BRAID_NO_MEMORY.
braid_status braid_audit_findings_end(struct audit_findings *findings, const struct audit *audit);
void braid_audit_findings_report(const struct audit_findings *findings,
                                 const braid_audit_options *options);

#endif
