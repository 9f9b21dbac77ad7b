// SPDX-License-Identifier: Apache-2.0
// The arguments of a kernel node that stands in its graph.
#include "accesses/argument.h"

#include "graph/addresses.h"

// The resource whose address an argument is; GRAPH_NONE: it is none.
static uint32_t find_in(const struct array *list, uint32_t node, uint32_t argument)
{
    const struct graph_address *addresses = list->items;
    size_t i = braid_graph_first_address(list, node);
    for (; i < list->num && addresses[i].node == node; i++) {
        if (addresses[i].operand == argument)
            return addresses[i].resource;
    }
    return GRAPH_NONE;
}

static uint32_t find_given(const braid_graph *graph, uint32_t node, uint32_t argument)
{
    const uint32_t planned = find_in(&graph->addresses, node, argument);
    return planned == GRAPH_NONE ? find_in(&graph->given, node, argument) : planned;
}

static bool is_trap(const braid_graph *graph, uint32_t node, uint32_t argument)
{
    const struct graph_trap *traps = graph->traps.items;
    size_t i = braid_array_find(&graph->traps, node, sizeof(*traps));
    while (i < graph->traps.num && traps[i].node == node && traps[i].argument != argument)
        i++;
    return i < graph->traps.num && traps[i].node == node;
}

bool braid_accesses_is_unchecked(const braid_graph *graph, uint32_t node, uint32_t index)
{
    const uint32_t *args = graph->unchecked.items;
    const uint32_t wanted = graph_kernel_of(graph, node)->first_arg + index;
    const size_t at = braid_array_find(&graph->unchecked, wanted, sizeof(*args));
    return at < graph->unchecked.num && args[at] == wanted;
}

struct code_argument braid_accesses_argument(const braid_graph *graph, uint32_t node,
                                             uint32_t index)
{
    const struct graph_kernel *launch = graph_kernel_of(graph, node);
    struct code_argument argument = { .kind = ARGUMENT_VALUE };
    argument.data = braid_graph_arg(graph, launch, index, &argument.bytes);
    argument.resource = find_given(graph, node, index);
    if (is_trap(graph, node, index) || braid_accesses_is_unchecked(graph, node, index))
        argument.kind = ARGUMENT_NOTHING;
    else if (argument.resource != GRAPH_NONE)
        argument.kind = graph_resource_at(graph, argument.resource)->scratch == GRAPH_NONE
                            ? ARGUMENT_RESOURCE
                            : ARGUMENT_NOTHING;
    return argument;
}
