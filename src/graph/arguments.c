// SPDX-License-Identifier: Apache-2.0
// The arguments of a kernel node, each classified once.
#include "graph/arguments.h"

#include <stdlib.h>

#include "base/error.h"
#include "graph/graph.h"

// The mode of an argument that is an access as well, such as BRAID_IN(x).
static uint32_t find_mode(const braid_arg *arg)
{
    const size_t mode = BRAID_ADDRESS_AND_ACCESS(0) - arg->bytes;
    return mode >= BRAID_READ && mode <= BRAID_ACCUMULATE ? (uint32_t)mode : 0;
}

struct graph_argument braid_graph_classify_argument(const braid_arg *arg)
{
    struct graph_argument argument = { .bytes = sizeof(void *), .data = arg->data };
    argument.mode = find_mode(arg);
    if (argument.mode || arg->bytes == BRAID_ADDRESS_OF)
        argument.kind = GRAPH_ARGUMENT_ADDRESS;
    else if (arg->bytes == BRAID_TRAP_ADDRESS)
        argument.kind = GRAPH_ARGUMENT_TRAP;
    else if (arg->bytes == BRAID_UNCHECKED_POINTER)
        argument.kind = GRAPH_ARGUMENT_UNCHECKED;
    else
        argument.bytes = arg->bytes;
    if (argument.kind == GRAPH_ARGUMENT_ADDRESS && arg->data)
        argument.resource = *(const braid_resource *)arg->data;
    return argument;
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

// Behind the accesses that the node was given.
static braid_status add_accesses(struct graph_arguments *arguments, const braid_graph *graph,
                                 const char *name)
{
    for (size_t i = 0; i < arguments->num; i++) {
        const struct graph_argument *argument = &arguments->items[i];
        if (!argument->mode || !argument->data)
            continue;
        braid_status status = check_resource(graph, name, i, argument->resource);
        if (status)
            return status;
        arguments->accesses[arguments->num_accesses++] =
            (braid_access){ argument->resource, (braid_access_mode)argument->mode };
    }
    return BRAID_OK;
}

braid_status braid_graph_arguments_init(struct graph_arguments *arguments, const braid_graph *graph,
                                        const char *name, const braid_kernel_node *launch)
{
    const braid_node_options *node = &launch->node;
    const size_t given = node->num_accesses;
    *arguments = (struct graph_arguments){ 0 };
    if (!graph || !launch->args || !launch->num_args || launch->num_args >= GRAPH_MAX_ITEMS ||
        (given && !node->accesses))
        return BRAID_OK;
    if (given > GRAPH_MAX_ITEMS)
        return braid_error_invalid("node '%s': too many accesses", name);
    arguments->items = braid_allocate_zeroed(launch->num_args, sizeof(*arguments->items));
    arguments->accesses =
        braid_allocate_zeroed(given + launch->num_args, sizeof(*arguments->accesses));
    if (!arguments->items || !arguments->accesses)
        return braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    arguments->num = launch->num_args;
    for (size_t i = 0; i < launch->num_args; i++)
        arguments->items[i] = braid_graph_classify_argument(&launch->args[i]);
    for (size_t i = 0; i < given; i++)
        arguments->accesses[arguments->num_accesses++] = node->accesses[i];
    return add_accesses(arguments, graph, name);
}

void braid_graph_arguments_finish(struct graph_arguments *arguments)
{
    free(arguments->items);
    free(arguments->accesses);
}
