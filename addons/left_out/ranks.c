// SPDX-License-Identifier: Apache-2.0
// Ranks: its public functions where the add-on 'ranks' is left out.
#include <string.h>

#include <braid/rank.h>

#include "base/error.h"

// libbraid_ranks gets braid_error from the table of libbraid, but not braid_error_left_out.
static braid_status left_out(const char *function)
{
    return braid_error(BRAID_UNSUPPORTED, ERROR_LEFT_OUT, function, "ranks");
}

braid_status braid_ranks_open_sized(const braid_ranks_options *options, braid_ranks **out_ranks,
                                    size_t size)
{
    (void)size;
    (void)options;
    (void)out_ranks;
    return left_out("braid_ranks_open");
}

braid_status braid_ranks_check(braid_ranks *ranks)
{
    (void)ranks;
    return left_out("braid_ranks_check");
}

braid_status braid_communicator_create(braid_ranks *ranks, const char *name, uint32_t color,
                                       braid_communicator **out_communicator)
{
    (void)ranks;
    (void)name;
    (void)color;
    (void)out_communicator;
    return left_out("braid_communicator_create");
}

braid_status braid_graph_add_communicator(braid_graph *graph, braid_communicator *communicator,
                                          braid_resource *out_resource)
{
    (void)graph;
    (void)communicator;
    (void)out_resource;
    return left_out("braid_graph_add_communicator");
}

braid_status braid_graph_add_communication_sized(braid_graph *graph,
                                                 const braid_communication *communication,
                                                 braid_node *out_node, size_t size,
                                                 size_t node_size)
{
    (void)size;
    (void)node_size;
    (void)graph;
    (void)communication;
    (void)out_node;
    return left_out("braid_graph_add_communication");
}

braid_status braid_graph_add_owned_buffer(braid_graph *graph, braid_resource communicator,
                                          uint32_t owner, const char *name, const void *address,
                                          uint64_t bytes, braid_resource *out_resource)
{
    (void)graph;
    (void)communicator;
    (void)owner;
    (void)name;
    (void)address;
    (void)bytes;
    (void)out_resource;
    return left_out("braid_graph_add_owned_buffer");
}

braid_status braid_ranks_close(braid_ranks *ranks)
{
    return ranks ? left_out("braid_ranks_close") : BRAID_OK;
}

void braid_ranks_get_info_sized(const braid_ranks *ranks, braid_ranks_info *out_info, size_t size)
{
    (void)ranks;
    if (out_info)
        memset(out_info, 0, size);
}

void braid_communicator_get_info_sized(const braid_communicator *communicator,
                                       braid_ranks_info *out_info, size_t size)
{
    (void)communicator;
    if (out_info)
        memset(out_info, 0, size);
}

// No graph has owners then.
bool braid_graph_takes_part(const braid_graph *graph, const braid_access *accesses,
                            size_t num_accesses)
{
    (void)graph;
    (void)accesses;
    (void)num_accesses;
    return true;
}
