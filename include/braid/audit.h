// SPDX-License-Identifier: Apache-2.0
// Audits: accesses of nodes that differ from declarations.
#ifndef BRAID_AUDIT_H
#define BRAID_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/device.h>
#include <braid/graph.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// The kind of a finding.
typedef enum braid_audit_kind {
    BRAID_AUDIT_READS = 1,        // the node reads bytes, and declares no read of them
    BRAID_AUDIT_WRITES = 2,       // it writes bytes, and declares no write of them
    BRAID_AUDIT_UPDATES = 3,      // it updates bytes atomically, undeclared; the CPU tells WRITES
    BRAID_AUDIT_NEVER_READS = 4,  // it declares a read, and never reads
    BRAID_AUDIT_NEVER_WRITES = 5, // it declares a write, and never writes
    BRAID_AUDIT_UNSEEN = 6,       // accesses of the node or to the buffer may be missed;
                                  // on HIP one such finding tells that no reads are seen
    BRAID_AUDIT_ORDER = 7,        // nothing orders two nodes, and results depend on their order
    BRAID_AUDIT_UNREPEATABLE = 8, // a second run in the same order has other results, so no orders
                                  // are compared
    BRAID_AUDIT_SPARE_WAITS = 9,  // without accesses that are never made the plan has fewer waits
} braid_audit_kind;

// A finding: accesses of one kind by one node to one buffer, or bytes whose values differ between
// runs.
typedef struct braid_audit_finding {
    braid_audit_kind kind;
    braid_node node;         // graph 0: the finding is of all nodes, or the node is not known
    braid_node other;        // BRAID_AUDIT_ORDER: the second node
    braid_resource resource; // the buffer; of a NEVER kind the resource that the node declares
    const char *buffer;      // the buffer's name; NULL: the finding is of no buffer
    const char *kernel;      // the kernel's name; NULL: the node is no kernel
    const char *text;    // "node 3 'scatter' reads byte 128 of 'vel', which it does not declare"
    const void *address; // the address of the first access, on devices the lowest one; or of the
                         // first byte that differs; NULL: none
    uint64_t begin, end; // the bytes of the buffer; on the CPU, of the first undeclared bytes
    uint64_t num;        // the least number of accesses; or the bytes that differ; or spare waits
    const char *file;    // the file of source, if the PTX tells lines; NULL: not known
    uint32_t line;       // the first line of that file with such an access
    bool by_code;        // a NEVER kind; true: by its PTX, the kernel makes the access in no frame;
                         // false: it did not make the access in this frame
} braid_audit_finding;

// A function of the program that gets each finding. Its texts are valid during the call.
typedef void braid_audit_report(const braid_audit_finding *finding, void *user);

// Options of braid_graph_audit.
typedef struct braid_audit_options {
    braid_audit_report *report; // NULL: findings are only counted
    void *user;                 // the last argument of `report`
    bool orders; // first runs frames in other orders that the graph allows, and compares results
} braid_audit_options;

// Runs one frame of the graph, node by node, and reports each access that differs from the
// declarations (docs/book/reliability.md). If a node fails, earlier findings are reported. On the
// CPU the audit also compiles kernels from source, to compare their code. `options` may be NULL.
// Errors: those of braid_exec_create. BRAID_UNSUPPORTED (the CPU is no x86-64, the graph has
// communicators, or it has too many nodes for orders). BRAID_IO_ERROR. BRAID_TRAPPED.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_audit(const braid_graph *graph,
                                                             braid_device *device,
                                                             const braid_audit_options *options,
                                                             size_t *out_num_findings);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_audit_sized(const braid_graph *graph,
                                                                braid_device *device,
                                                                const braid_audit_options *options,
                                                                size_t *out_num_findings,
                                                                size_t size);
BRAID_INLINE braid_status braid_graph_audit(const braid_graph *graph, braid_device *device,
                                            const braid_audit_options *options,
                                            size_t *out_num_findings)
{
    return braid_graph_audit_sized(graph, device, options, out_num_findings,
                                   sizeof(braid_audit_options));
}

#ifdef __cplusplus
}
#endif

#endif
