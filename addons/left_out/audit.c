// SPDX-License-Identifier: Apache-2.0
// Audits: its public functions where the add-on 'audit' is left out.
#include <braid/audit.h>

#include "base/error.h"

braid_status braid_graph_audit_sized(const braid_graph *graph, braid_device *device,
                                     const braid_audit_options *options, size_t *out_num_findings,
                                     size_t size)
{
    (void)size;
    (void)device;
    (void)graph;
    (void)options;
    (void)out_num_findings;
    return braid_error_left_out("braid_graph_audit", "audit");
}
