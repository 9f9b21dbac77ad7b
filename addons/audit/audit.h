// SPDX-License-Identifier: Apache-2.0
// An audit that runs: the memory of buffers, the declarations of nodes, and undeclared accesses.
//
// There are three ways to see accesses. On the CPU pages with buffers are closed, and accesses
// fault (audit_by_pages.h). On CUDA kernels tell of their accesses themselves (audit_by_kernels.c).
// On HIP writes change contents (audit_by_contents.c).
#ifndef BRAID_AUDIT_AUDIT_H
#define BRAID_AUDIT_AUDIT_H

#include <braid/audit.h>

#include "audit/audit_kernel_table.h"
#include "audit/audit_reach.h"

// Undeclared accesses of one kind.
struct audit_count {
    uint64_t num;
    uintptr_t lowest, highest;
    uintptr_t first;     // in time; 0: not known
    uint64_t num_opened; // accesses that opened pages behind many others, on the CPU
};

static inline void audit_count_bytes(struct audit_count *count, uintptr_t first, uintptr_t last)
{
    if (!count->num++)
        count->first = count->lowest = count->highest = first;
    if (first < count->lowest)
        count->lowest = first;
    if (last > count->highest)
        count->highest = last;
}

// Bytes of a resource. Memory that several of them have is that of the one that begins last.
struct audit_buffer {
    uintptr_t begin, end;
    uint32_t resource;
    uintptr_t origin;             // where the resource's memory begins
    bool is_noted;                // by the node at hand, on the CPU
    struct audit_count counts[2]; // its reads, and its writes
};

// A resource without a known address has no bytes here.
struct audit_access {
    uintptr_t begin, end;
    bool may_read, may_write;
    bool was_read, was_written; // as far as that is wanted, by any run of its node
    bool is_open;               // pages with it are, by the node at hand
    bool is_unsure;             // it may have been made by that node
};

// Bytes of buffers without a gap.
struct audit_extent {
    uintptr_t begin, end;
};

// The memory of a resource, or of a version.
struct audit_range {
    uintptr_t begin, end;
    uint32_t resource;
    uint32_t outer; // the range before it that has bytes of it; GRAPH_NONE: none
};

struct audit_memory {
    struct audit_buffer *buffers;  // by address, without common bytes
    struct audit_range *ranges;    // room
    struct audit_extent *known;    // by resource: its memory, if an import tells it
    struct audit_extent *extents;  // by address
    struct audit_access *accesses; // as in the graph
    size_t num_buffers, num_ranges, num_extents, num_accesses;
};

struct audit_finding {
    braid_audit_kind kind;
    uint32_t node, resource; // GRAPH_NONE: of all nodes, and of no resource
    uintptr_t begin;         // where the buffer's memory begins
    struct audit_count count;
    const char *reason; // why it is not seen; it outlives the findings
    uint32_t line;      // the table's; 0: not known
    char *file;         // its name, once all are found; NULL: not known
    bool by_code;
};

// audit_findings.c: the findings of a graph's nodes. All but the graph is zero at first.
struct audit_findings {
    const braid_graph *graph;
    struct array items; // struct audit_finding
    bool *has_run;      // by node: it was seen
    bool *is_free;      // by node of an import: it may touch any memory
};
// Errors: BRAID_NO_MEMORY.
braid_status braid_audit_findings_add(struct audit_findings *findings,
                                      struct audit_finding finding);
// Makes room for a graph's findings. Errors: BRAID_NO_MEMORY.
braid_status braid_audit_findings_begin(struct audit_findings *findings);
// Takes the counts of a buffer, which then counts anew. Errors: BRAID_NO_MEMORY.
braid_status braid_audit_findings_take(struct audit_findings *findings, uint32_t node,
                                       struct audit_buffer *buffer);
// The node, or the resource, or both are GRAPH_NONE.
braid_status braid_audit_findings_add_unseen(struct audit_findings *findings, uint32_t node,
                                             uint32_t resource, const char *reason);
// Behind all: adds declared accesses that were never made, or cannot be by the code that the plan
// knows; without memory: not. Errors: BRAID_NO_MEMORY.
braid_status braid_audit_findings_end(struct audit_findings *findings,
                                      const struct audit_memory *memory, const braid_exec *exec);
void braid_audit_findings_finish(struct audit_findings *findings);
void braid_audit_findings_report(const struct audit_findings *findings,
                                 const braid_audit_options *options);

struct audit_way;

// audit_trap.c. An audit that closes pages runs alone: another would take their rights for those of
// the program.
void braid_audit_lock(bool alone);
// In a child of fork, where only this thread goes on: ends an audit by another one. The child's own
// audit alone has the lock.
void braid_audit_leave_parents(bool is_auditing);
void braid_audit_unlock(void);

struct auditing {
    const struct audit_way *way;
    braid_exec *exec;
    struct audit_findings findings;
    struct audit_reach reach;
    struct audit_memory *memory; // the way's
    void *own;                   // the way's
    struct array orders;         // struct audit_order_finding
};

// A way to see accesses.
struct audit_way {
    // Sets memory and own; half-made, too, which `destroy` takes.
    braid_status (*start)(struct auditing *auditing);
    // Runs a node, or begins to, and adds its findings, or does so up to `stop`.
    braid_status (*run_node)(struct auditing *auditing, uint32_t node,
                             const struct backend_task *task);
    bool sees_queue_calls; // false: `run_node` runs none
    // Before a queue call, whose work is not judged.
    void (*pause)(struct auditing *auditing); // optional
    // Behind the nodes, also if one failed.
    braid_status (*stop)(struct auditing *auditing); // optional
    void (*destroy)(struct auditing *auditing);      // behind the report
};
extern const struct audit_way braid_audit_way_by_pages, braid_audit_way_by_kernels,
    braid_audit_way_by_contents;

// audit_memory.c.
// The next part of a block, from *used on; NULL only counts its bytes.
void *braid_audit_carve(unsigned char *block, size_t *used, size_t num, size_t bytes);
// That ranges are divided into: each one may lie inside another.
size_t braid_audit_most_buffers(const braid_graph *graph);
// Carves the room for the memory of a graph's buffers.
void braid_audit_memory_lay_out(struct audit_memory *memory, unsigned char *block, size_t *used,
                                const braid_graph *graph);
// As the exec's first frame has it.
void braid_audit_memory_fill(struct audit_memory *memory, const braid_graph *graph,
                             const braid_exec *exec);
// Makes the room and fills it. The caller frees *out_block. Errors: BRAID_NO_MEMORY.
braid_status braid_audit_memory_create(const braid_graph *graph, const braid_exec *exec,
                                       struct audit_memory *out_memory, void **out_block);
// The first one that has the address, or NULL.
struct audit_buffer *braid_audit_find_buffer(const struct audit_memory *memory, uintptr_t address);
bool braid_audit_has_buffer(const struct audit_memory *memory, uintptr_t begin, uintptr_t end);
// Counts accesses to all these bytes that are not among the declared ones, and
// marks those of the latter that are made.
void braid_audit_memory_judge(struct audit_memory *memory, struct audit_access *declared,
                              uint32_t num_declared, uintptr_t begin, uintptr_t end, bool writes);

// audit_by_kernels.c.
// Writes the table of a node. `room` is for two addresses of each
// access. NULL: only counts its segments.
size_t braid_audit_table_write(const struct audit_memory *memory, const struct graph_node *node,
                               uintptr_t *room, struct audit_table *table);
// The table of all buffers; NULL: likewise.
size_t braid_audit_table_write_all(const struct audit_memory *memory, struct audit_table *table);

#endif
