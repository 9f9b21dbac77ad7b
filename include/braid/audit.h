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
    BRAID_AUDIT_READS = 1, // without a declaration
    BRAID_AUDIT_WRITES = 2,
    BRAID_AUDIT_UPDATES = 3,     // atomically; on the CPU it writes
    BRAID_AUDIT_NEVER_READS = 4, // as it declares
    BRAID_AUDIT_NEVER_WRITES = 5,
    BRAID_AUDIT_UNSEEN = 6, // a node or buffer not fully audited; on HIP always one, for reads
    BRAID_AUDIT_ORDER = 7,  // nothing orders two nodes, and results depend on their order
    BRAID_AUDIT_UNREPEATABLE = 8, // a second run has other results, so no orders are compared
    BRAID_AUDIT_SPARE_WAITS = 9,  // the plan has fewer without accesses that are never made
} braid_audit_kind;

// All accesses of one kind by a node to a buffer; or bytes that differ between runs.
typedef struct braid_audit_finding {
    braid_audit_kind kind;
    braid_node node;         // its graph is 0: all, or unknown, if a frame seldom differs
    braid_node other;        // for BRAID_AUDIT_ORDER
    braid_resource resource; // the buffer, or as declared
    const char *buffer;  // its name; NULL: a node is unseen, waits, or iterations or a trap differ
    const char *kernel;  // NULL: the node is none
    const char *text;    // "node 3 'scatter' reads byte 128 of 'vel', which it does not declare"
    const void *address; // the first access's (on devices the lowest), or byte's; NULL: none
    uint64_t begin,
        end;          // in the buffer; on the CPU, of first undeclared bytes; or bytes that differ
    uint64_t num;     // how many accesses, at least; or such bytes; or waits
    const char *file; // the source, where PTX tells lines; NULL: unknown
    uint32_t line;    // the first there with such an access
    bool by_code;     // BRAID_AUDIT_NEVER_*: by PTX no frame does; false: this one does not
} braid_audit_finding;

// Receives a finding, whose texts are valid during the call.
typedef void braid_audit_report(const braid_audit_finding *finding, void *user);

// Options of braid_graph_audit.
typedef struct braid_audit_options {
    braid_audit_report *report; // NULL: none
    void *user;
    bool orders; // also runs frames in other orders that the graph allows
} braid_audit_options;

// Runs a frame, node by node, and reports findings, also if a node fails
// (docs/book/reliability.md). On the CPU it also compiles sources.
// Errors: as braid_exec_create; BRAID_UNSUPPORTED (a CPU without Linux on x86-64, too many nodes
// with orders), BRAID_IO_ERROR, BRAID_TRAPPED.
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
