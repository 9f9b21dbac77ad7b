// SPDX-License-Identifier: Apache-2.0
// External objects: their public functions where the add-on 'external' is left out.
#include <braid/external.h>

#include "base/error.h"

braid_status braid_external_create_sized(braid_device *device,
                                         const braid_external_options *options,
                                         braid_external **out_external, size_t size)
{
    (void)device;
    (void)options;
    (void)out_external;
    (void)size;
    return braid_error_left_out("braid_external_create", "external");
}

void braid_external_destroy(braid_external *external)
{
    (void)external;
}

braid_status braid_graph_add_external_sized(braid_graph *graph, const braid_external_node *external,
                                            braid_node *out_node, size_t size, size_t node_size)
{
    (void)graph;
    (void)external;
    (void)out_node;
    (void)size;
    (void)node_size;
    return braid_error_left_out("braid_graph_add_external", "external");
}

braid_status braid_exec_set_external(braid_exec *exec, braid_node node, uint64_t value)
{
    (void)exec;
    (void)node;
    (void)value;
    return braid_error_left_out("braid_exec_set_external", "external");
}
