// SPDX-License-Identifier: Apache-2.0
// Arguments that are accesses as well, such as BRAID_IN(x), as the address and the access they
// mean.
#include "graph/argument_accesses.h"

#include <stdlib.h>

#include "base/error.h"
#include "graph/graph.h"

// Of arguments with something to read; the others are refused where all arguments are checked.
static uint32_t access_of(const braid_kernel_node *launch, size_t index)
{
    return launch->args[index].data ? graph_argument_access(&launch->args[index]) : 0;
}

// Lists that are refused where all arguments are checked have none.
static size_t count(const braid_kernel_node *launch)
{
    size_t num = 0;
    if (!launch->args || launch->num_args >= GRAPH_MAX_ITEMS)
        return 0;
    for (size_t i = 0; i < launch->num_args; i++)
        num += access_of(launch, i) != 0;
    return num;
}

static braid_status check_resource(const braid_graph *graph, const char *name, size_t index,
                                   braid_resource resource)
{
    if (resource.graph == graph->id && resource.index < graph->resources.num)
        return BRAID_OK;
    return braid_error_invalid(
        "node '%s': argument %zu (resource %u of graph %u) is not a resource of this graph", name,
        index, resource.index, resource.graph);
}

braid_status braid_graph_add_argument_accesses(const braid_graph *graph, const char *name,
                                               braid_kernel_node *launch,
                                               braid_access **out_accesses)
{
    braid_node_options *node = &launch->node;
    const size_t num = count(launch), given = node->accesses ? node->num_accesses : 0;
    *out_accesses = NULL;
    if (num == 0 || !graph || given != node->num_accesses)
        return BRAID_OK; // nothing to add, or to be refused by the checks of any node
    if (given > GRAPH_MAX_ITEMS)
        return braid_error_invalid("node '%s': too many accesses", name);
    braid_access *accesses = malloc((given + num) * sizeof(*accesses));
    if (!accesses)
        return braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    for (size_t i = 0; i < given; i++)
        accesses[i] = node->accesses[i];
    *out_accesses = accesses;
    node->accesses = accesses;
    for (size_t i = 0; i < launch->num_args; i++) {
        const uint32_t mode = access_of(launch, i);
        if (!mode)
            continue;
        const braid_resource resource = *(const braid_resource *)launch->args[i].data;
        braid_status status = check_resource(graph, name, i, resource);
        if (status)
            return status;
        accesses[node->num_accesses++] = (braid_access){ resource, (braid_access_mode)mode };
    }
    return BRAID_OK;
}
