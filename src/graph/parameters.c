// SPDX-License-Identifier: Apache-2.0
// Parameters: values that many nodes use, and where they go.
#include "base/error.h"
#include "graph/graph.h"

#define MOST_PARAMETER_BYTES 4096 // as much as CUDA's kernels take in all arguments together

braid_status braid_graph_add_parameter(braid_graph *graph, const char *name, uint64_t bytes,
                                       braid_parameter *out_parameter)
{
    if (!graph || !out_parameter)
        return braid_error_null("braid_graph_add_parameter", graph ? "out_parameter" : "graph");
    if (!name)
        return braid_error_null("braid_graph_add_parameter", "name");
    if (!*name)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_graph_add_parameter: a parameter needs a name");
    if (bytes == 0 || bytes > MOST_PARAMETER_BYTES)
        return braid_error(BRAID_INVALID_ARGUMENT, "parameter '%s': %llu bytes, not 1 to %d", name,
                           (unsigned long long)bytes, MOST_PARAMETER_BYTES);
    if (graph->parameters.num >= GRAPH_MAX_ITEMS)
        return braid_error(BRAID_INVALID_ARGUMENT, "too many parameters in one graph");
    if (!braid_array_reserve(&graph->parameters, 1, sizeof(struct graph_parameter)) ||
        !braid_names_reserve(&graph->names, name))
        return braid_error_no_memory("a parameter");
    struct graph_parameter *slot = braid_array_append(&graph->parameters, 1, sizeof(*slot));
    *slot = (struct graph_parameter){ .name = braid_names_store(&graph->names, name),
                                      .bytes = (uint32_t)bytes };
    *out_parameter =
        (braid_parameter){ .index = (uint32_t)graph->parameters.num - 1, .graph = graph->id };
    return BRAID_OK;
}

static braid_status check_node(const braid_graph *graph, const char *name,
                               const braid_parameter_use *use)
{
    if (!graph_owns_node(graph, use->node))
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "parameter '%s': node %u of graph %u is not a node of this graph", name,
                           use->node.index, use->node.graph);
    const struct graph_node *node = &graph_nodes(graph)[use->node.index];
    const char *node_name = braid_graph_name(graph, use->node.index);
    if (node->kind != WORK_KERNEL)
        return braid_error(BRAID_INVALID_ARGUMENT, "parameter '%s': node '%s' is not a kernel",
                           name, node_name);
    const struct graph_kernel *kernel =
        &((const struct graph_kernel *)graph->kernels.items)[node->payload];
    if (use->argument >= kernel->num_args)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "parameter '%s': node '%s' has %u arguments, there is no number %zu",
                           name, node_name, kernel->num_args, use->argument);
    return BRAID_OK;
}

static uint32_t argument_bytes(const braid_graph *graph, const braid_parameter_use *use)
{
    const struct graph_kernel *kernels = graph->kernels.items;
    const uint32_t *sizes = graph->arg_sizes.items;
    return sizes[kernels[graph_nodes(graph)[use->node.index].payload].first_arg + use->argument];
}

static braid_status check_part(const braid_graph *graph, const char *name, uint64_t num_bytes,
                               const braid_parameter_use *use, uint64_t *out_bytes)
{
    uint64_t room = argument_bytes(graph, use);
    if (use->offset >= num_bytes || use->bytes > num_bytes - use->offset)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "parameter '%s': %llu bytes at %llu end beyond its %llu bytes", name,
                           (unsigned long long)use->bytes, (unsigned long long)use->offset,
                           (unsigned long long)num_bytes);
    uint64_t bytes = use->bytes ? use->bytes : num_bytes - use->offset;
    if (use->argument_offset > room || bytes > room - use->argument_offset)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "parameter '%s': %llu bytes at %llu of argument %zu of node '%s' end "
                           "beyond its %llu bytes",
                           name, (unsigned long long)bytes,
                           (unsigned long long)use->argument_offset, use->argument,
                           braid_graph_name(graph, use->node.index), (unsigned long long)room);
    *out_bytes = bytes;
    return BRAID_OK;
}

braid_status braid_graph_use_parameter(braid_graph *graph, braid_parameter parameter,
                                       const braid_parameter_use *use)
{
    if (!graph || !use)
        return braid_error_null("braid_graph_use_parameter", graph ? "use" : "graph");
    if (parameter.graph != graph->id || parameter.index >= graph->parameters.num)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_graph_use_parameter: parameter %u of graph %u is not a parameter "
                           "of this graph",
                           parameter.index, parameter.graph);
    const struct graph_parameter *known =
        &((const struct graph_parameter *)graph->parameters.items)[parameter.index];
    const char *name = braid_names_at(&graph->names, known->name);
    uint64_t bytes = 0;
    braid_status status = check_node(graph, name, use);
    if (!status)
        status = check_part(graph, name, known->bytes, use, &bytes);
    if (status)
        return status;
    struct graph_parameter_use *slot = graph->uses.num < GRAPH_MAX_ITEMS
                                           ? braid_array_append(&graph->uses, 1, sizeof(*slot))
                                           : NULL;
    if (!slot)
        return braid_error_no_memory("a use of a parameter");
    *slot = (struct graph_parameter_use){ .parameter = parameter.index,
                                          .node = use->node.index,
                                          .argument = (uint32_t)use->argument,
                                          .argument_offset = (uint32_t)use->argument_offset,
                                          .offset = (uint32_t)use->offset,
                                          .bytes = (uint32_t)bytes };
    return BRAID_OK;
}
