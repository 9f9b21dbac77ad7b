// SPDX-License-Identifier: Apache-2.0
// Addresses of resources that nodes are given.
#include "graph/addresses.h"

#include <stdio.h>

#include "base/error.h"

static braid_status check_bytes(const struct address_request *request, const char *name,
                                uint64_t bytes)
{
    if (request->bytes <= bytes)
        return BRAID_OK;
    return braid_error_invalid("node '%s': %s: %llu bytes end beyond the %llu of '%s'",
                               request->node, request->what, (unsigned long long)request->bytes,
                               (unsigned long long)bytes, name);
}

// A buffer with shared memory lasts from its first to its last declared access. The memory of a
// version belongs to a frame until the nodes that declare the version have ended.
static braid_status check_access(const braid_graph *graph, const struct address_request *request,
                                 const char *name)
{
    const struct graph_resource *resources = graph->resources.items;
    uint32_t buffer = resources[request->resource.index].buffer;
    for (size_t i = 0; i < request->options->num_accesses; i++) {
        if (resources[request->options->accesses[i].resource.index].buffer == buffer)
            return BRAID_OK;
    }
    return braid_error_invalid("node '%s': %s is the address of '%s', whose memory frames choose "
                               "and to which the node declares no access",
                               request->node, request->what, name);
}

braid_status braid_graph_find_address(const braid_graph *graph,
                                      const struct address_request *request,
                                      const void **out_address)
{
    braid_resource handle = request->resource;
    if (handle.graph != graph->id || handle.index >= graph->resources.num)
        return braid_error_invalid(
            "node '%s': %s: resource %u of graph %u is not a resource of this graph", request->node,
            request->what, handle.index, handle.graph);
    const struct graph_resource *resource = graph_resource_at(graph, handle.index);
    char buffer[256];
    const char *name = braid_graph_resource_name(graph, handle.index, buffer, sizeof(buffer));
    bool is_planned = resource->alignment || resource->num_versions;
    if (!is_planned && !resource->address)
        return braid_error_invalid("node '%s': %s: '%s' was declared without an address",
                                   request->node, request->what, name);
    braid_status status = check_bytes(request, name, resource->bytes);
    if (!status && is_planned && !resource->is_scratch)
        status = check_access(graph, request, name);
    if (status)
        return status;
    *out_address = is_planned ? NULL : (const char *)resource->address + resource->offset;
    return BRAID_OK;
}

braid_status braid_graph_find_pointer(const braid_graph *graph,
                                      const struct address_request *request, const void *given,
                                      const void **out_address)
{
    *out_address = given;
    if (!request->resource.graph)
        return BRAID_OK;
    if (given)
        return braid_error_invalid("node '%s': .%s and .%s_resource are both given", request->node,
                                   request->what, request->what);
    char what[32];
    snprintf(what, sizeof(what), ".%s_resource", request->what);
    struct address_request whole = *request;
    whole.what = what;
    return braid_graph_find_address(graph, &whole, out_address);
}

// A node's own scratch is a resource, with an access, for each address at most.
bool braid_graph_reserve_addresses(braid_graph *graph, const braid_node_options *options,
                                   size_t num)
{
    size_t most = GRAPH_MAX_ITEMS - num;
    return graph->addresses.num <= most && graph->given.num <= most &&
           graph->resources.num <= most && graph->accesses.num + options->num_accesses <= most &&
           braid_array_reserve(&graph->addresses, num, sizeof(struct graph_address)) &&
           braid_array_reserve(&graph->given, num, sizeof(struct graph_address)) &&
           braid_array_reserve(&graph->accesses, options->num_accesses + num,
                               sizeof(struct graph_access)) &&
           braid_array_reserve(&graph->resources, num, sizeof(struct graph_resource));
}

// The own part of a scratch of the node about to be added. Its resources are the last ones.
static uint32_t find_scratch(braid_graph *graph, uint32_t scratch)
{
    const struct graph_resource *resources = graph->resources.items;
    uint32_t node = graph_num_nodes(graph), num = (uint32_t)graph->resources.num;
    for (uint32_t i = num; i-- > 0 && resources[i].scratch != GRAPH_NONE;) {
        if (resources[i].scratch_node == node && resources[i].scratch == scratch)
            return i;
    }
    struct graph_resource own = resources[scratch];
    own.is_scratch = false;
    own.buffer = num;
    own.scratch = scratch;
    own.scratch_node = node;
    *(struct graph_resource *)braid_array_append(&graph->resources, 1, sizeof(own)) = own;
    return num;
}

void braid_graph_append_address(braid_graph *graph, uint32_t operand, braid_resource resource)
{
    uint32_t index = resource.index;
    const struct graph_resource *resources = graph->resources.items;
    bool is_planned = resources[index].alignment || resources[index].num_versions;
    if (resources[index].is_scratch)
        index = find_scratch(graph, index);
    struct graph_address *slot =
        braid_array_append(is_planned ? &graph->addresses : &graph->given, 1, sizeof(*slot));
    *slot = (struct graph_address){ .node = graph_num_nodes(graph),
                                    .resource = index,
                                    .operand = operand };
}

braid_status braid_graph_add_address(braid_graph *graph, uint32_t argument, uint32_t offset,
                                     braid_resource buffer, uint64_t addend)
{
    const struct graph_address address = { graph_num_nodes(graph) - 1, buffer.index, argument,
                                           offset, addend };
    return braid_array_put(&graph->addresses, &address, sizeof(address))
               ? BRAID_OK
               : braid_error_no_memory("a node's addresses");
}

size_t braid_graph_first_address(const struct array *list, uint32_t node)
{
    return braid_array_find(list, node, sizeof(struct graph_address));
}
