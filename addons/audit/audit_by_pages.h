// SPDX-License-Identifier: Apache-2.0
// Audits on the CPU: the accesses of the node at hand, by the faults that they make.
//
// Outside a node's accesses all pages with buffers are closed. A fault tells of an access. If the
// node declares all that its page has of buffers, the page is opened for the rest of the node.
// Otherwise it is opened for one instruction, behind which the processor traps, and before which no
// handler of the program runs. So each access to such a page is judged, by its first byte, and the
// width and the registers of its instruction.
#ifndef BRAID_AUDIT_AUDIT_BY_PAGES_H
#define BRAID_AUDIT_AUDIT_BY_PAGES_H

#include <signal.h>
#include <stdatomic.h>

#include "audit/audit.h"
#include "audit/audit_pages.h"

enum {
    AUDIT_MOST_COUNTED = 4096,     // undeclared accesses of a node to a buffer, one by one
    AUDIT_SAME_OPENED = 256,       // further ones open as many pages, and the next ones twice
    AUDIT_MOST_OPENED = 16384,     // pages that a node only writes, one by one
    AUDIT_MOST_STEPPED = 128,      // pages: more than an instruction reaches
    AUDIT_STACK_BYTES = 64 * 1024, // each stack of a handler
    AUDIT_SIGNALS = 64,            // the system has
};

struct audit_step {
    uintptr_t address;
    int rights; // behind the instruction
};

// An action as the system has it, in words.
enum { AUDIT_HANDLER, AUDIT_MASK = 3, AUDIT_ACTION_WORDS };

// A handler of the program, and the signals that it blocks without the audit.
struct audit_mask {
    uintptr_t handler; // 0: the audit leaves it alone
    uint64_t mask;
};

// Who had faults at a page. It opens for one instruction of a thread, and so for all threads.
struct audit_user {
    uint32_t node;  // its number among those begun
    bool is_shared; // another thread than the audit's had one
    bool has_stepped;
    uint32_t writer; // the number of the last node that wrote the page
};

// All of it lies in pages of its own, which nobody closes.
struct audit {
    size_t bytes; // all of these pages
    struct audit_memory memory;
    struct audit_pages pages;

    // The node that runs.
    bool runs;
    struct audit_access *declared; // its accesses in `memory`
    uint32_t num_declared;
    uint32_t *noted; // buffers
    uint32_t num_noted;
    const char *unseen;       // why it is not seen in full; NULL: it is
    bool hides;               // accesses of some threads behind others'
    bool is_wide;             // an instruction may reach what is not declared
    bool hides_reads;         // pages opened for writes that are not yet written
    bool sees_calls;          // system calls of nodes
    bool makes_threads;       // a node has made some
    uint64_t others;          // threads, as noted before the first node
    uint32_t num_blocking;    // other threads block faults for longer than a handler
    uint32_t num_begun;       // nodes, up to this one
    uint32_t num_opened;      // pages of what the node only writes, one by one
    struct audit_user *users; // by page

    atomic_int owner;        // a thread, and how it owns the audit
    atomic_uint num_stepped; // instructions, up to that of this owner
    const unsigned char *step_at;
    bool is_open; // all pages are, until the next node
    struct audit_step steps[AUDIT_MOST_STEPPED];
    uint32_t num_steps;
    uint64_t step_mask; // the program's, of the thread with the step

    // A page that is cleared in children of the process: 1. There nothing is judged.
    const atomic_int *is_parent;

    int thread;     // that runs nodes
    bool has_stack; // among the pages: this thread's
    uint64_t mask;  // the signals that this thread blocks, as far as the program knows
    stack_t stack_before;
    sigset_t signals_before;
    struct audit_mask masks[AUDIT_SIGNALS]; // by number - 1
    unsigned long action[AUDIT_ACTION_WORDS], replaced[AUDIT_ACTION_WORDS],
        expected[AUDIT_ACTION_WORDS];
    unsigned char stack[AUDIT_STACK_BYTES];
};

enum { AUDIT_REGISTERS = 16 };

struct audit_fault {
    uintptr_t address; // one byte of the access
    bool writes;
    const unsigned char *instruction;
    uintptr_t registers[AUDIT_REGISTERS]; // as instructions count them
};

// audit_judge.c. Notes an access of the node at hand, by its fault.
void braid_audit_judge(struct audit *audit, const struct audit_fault *fault);
// The same for all these bytes at once.
void braid_audit_judge_bytes(struct audit *audit, uintptr_t begin, uintptr_t end, bool writes);
// Several threads use a page that opens for single instructions. Hidden accesses count as made.
void braid_audit_judge_hidden(struct audit *audit, uintptr_t address);
// Opens pages with the address as far as no access there can be undeclared. False: the page is not
// opened for such an access.
bool braid_audit_open(struct audit *audit, uintptr_t address, bool writes);
// All that is open. False: the system refuses.
bool braid_audit_close(struct audit *audit);

// Whether accesses may have been made of which no instruction tells. They count as made.
bool braid_audit_is_unsure(struct audit *audit);
// Pages that many writes have opened allow reads, of which none was seen.
bool braid_audit_hides_reads(const struct audit *audit);
// Until the next node.
bool braid_audit_open_all(struct audit *audit);
// Some accesses of the node are not seen. All that it declares count as made.
void braid_audit_miss(struct audit *audit, const char *reason);
// Nor is the rest of the node. All pages together are few mappings.
bool braid_audit_give_up(struct audit *audit, const char *reason);

// audit_threads.c. Waits, for a second at most, until no thread of the program has a fault of which
// it does not know yet. Behind an audit the handler of the program might be told of it.
void braid_audit_wait_for_faults(void);
// Leaves pages with stacks of other threads alone. Such a thread could not take the signal of its
// fault, which would end the process. Errors: BRAID_NO_MEMORY, BRAID_IO_ERROR.
braid_status braid_audit_leave_stacks(struct audit_pages *pages);
// Waits, for a second at most, until no more other threads block faults than are known to. A
// handler with its own mask may run there, and the system would end the process at a closed page.
// Returns how many block them still.
uint32_t braid_audit_wait_for_handlers(uint32_t num_known);
// Notes the process's other threads. Those of Braid count while they are inside a program's call.
uint64_t braid_audit_note_others(void);
// Whether one of them, or a new one, has run since.
bool braid_audit_others_ran(uint64_t noted);

// audit_trap.c. Between these two, accesses of any thread to buffers are judged. Both are called by
// one thread. Errors: BRAID_UNSUPPORTED (the machine, or the system refuses to close pages).
braid_status braid_audit_start(struct audit *audit);
void braid_audit_stop(struct audit *audit);
// Around the calls of a node. The second returns whether the node was given up.
void braid_audit_begin_node(struct audit *audit, const struct graph_node *node);
bool braid_audit_end_node(struct audit *audit);
// Opens all pages, for work that is not judged, until the next node.
void braid_audit_pause(struct audit *audit);
// Gives the program's handlers their own masks, until the next node.
void braid_audit_close_masks(struct audit *audit);
// Whether a handler of the program may run where these signals are blocked. Those of instructions
// do not count.
bool braid_audit_may_handle(struct audit *audit, uint64_t mask);

#endif
