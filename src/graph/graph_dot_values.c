// SPDX-License-Identifier: Apache-2.0
// What a graph's drawing says of values that frames give to nodes: addresses of memory that the
// plan or frames choose, and parameters.
#include <inttypes.h>
#include <stddef.h>

#include "graph/addresses.h"
#include "graph/graph_dot_attributes.h"

static const struct graph_kernel *kernel_of(const braid_graph *graph, uint32_t node)
{
    const struct graph_kernel *kernels = graph->kernels.items;
    return &kernels[graph_nodes(graph)[node].payload];
}

// The resource whose address stands at a place of the node, or GRAPH_NONE.
static uint32_t find_in(const struct array *list, uint32_t node, uint32_t place)
{
    const struct graph_address *addresses = list->items;
    for (size_t i = braid_graph_first_address(list, node);
         i < list->num && addresses[i].node == node; i++) {
        if (addresses[i].place == place)
            return addresses[i].resource;
    }
    return GRAPH_NONE;
}

// As it is drawn: of a node's own scratch the one that was declared.
static uint32_t find_address(const struct graph_drawing *drawing, uint32_t node, uint32_t place)
{
    const braid_graph *graph = drawing->graph;
    const struct graph_resource *resources = graph->resources.items;
    uint32_t resource = find_in(&graph->addresses, node, place);
    if (resource == GRAPH_NONE)
        resource = find_in(&graph->given, node, place);
    if (resource != GRAPH_NONE && resources[resource].scratch != GRAPH_NONE)
        resource = resources[resource].scratch;
    return resource == GRAPH_NONE ? GRAPH_NONE : graph_drawn_number(drawing, resource);
}

static bool sets_arguments(const struct graph_drawing *drawing, uint32_t node)
{
    const struct graph_changes *changes = &drawing->changes;
    const struct graph_parameter_use *uses = drawing->graph->uses.items;
    for (uint32_t i = changes->first ? changes->first[node] : 0;
         changes->first && i < changes->first[node + 1]; i++) {
        if (uses[changes->uses[i]].target == BRAID_TARGET_ARGUMENT)
            return true;
    }
    return false;
}

// Of other nodes there is nothing to say: what they may be given elsewhere is found from their
// accesses and pointers.
static bool has_values(const struct graph_drawing *drawing, uint32_t node)
{
    const struct array *planned = &drawing->graph->addresses;
    const struct graph_address *addresses = planned->items;
    size_t first = braid_graph_first_address(planned, node);
    bool is_kernel = graph_nodes(drawing->graph)[node].kind == WORK_KERNEL;
    return (first < planned->num && addresses[first].node == node) ||
           (is_kernel && kernel_of(drawing->graph, node)->grid_from) ||
           sets_arguments(drawing, node);
}

static void write_args(const struct graph_drawing *drawing, uint32_t node, FILE *file)
{
    const struct graph_kernel *kernel = kernel_of(drawing->graph, node);
    const uint32_t *sizes = drawing->graph->arg_sizes.items;
    uint32_t num_args = kernel->num_args - kernel->grid_from;
    fputs(", args=\"", file);
    for (uint32_t i = 0; i < num_args; i++) {
        uint32_t resource = find_address(drawing, node, i);
        braid_graph_dot_write_space(file, i);
        if (resource == GRAPH_NONE)
            fprintf(file, "%" PRIu32, sizes[kernel->first_arg + i]);
        else
            fprintf(file, "@%" PRIu32, resource);
    }
    fputc('"', file);
    if (!kernel->grid_from)
        return;
    uint32_t grid = find_address(drawing, node, num_args);
    if (grid == GRAPH_NONE)
        fputs(", grid_from=pointer", file);
    else
        fprintf(file, ", grid_from=%" PRIu32, grid);
}

static void write_end(const struct graph_drawing *drawing, uint32_t node, const char *name,
                      size_t place, FILE *file)
{
    uint32_t resource = find_address(drawing, node, (uint32_t)place);
    if (resource != GRAPH_NONE)
        fprintf(file, ", %s=%" PRIu32, name, resource);
}

static void write_ends(const struct graph_drawing *drawing, uint32_t node, FILE *file)
{
    switch ((enum work_kind)graph_nodes(drawing->graph)[node].kind) {
    case WORK_COPY:
        write_end(drawing, node, "to", offsetof(struct work_copy, to), file);
        write_end(drawing, node, "from", offsetof(struct work_copy, from), file);
        return;
    case WORK_FILL:
        write_end(drawing, node, "to", offsetof(struct work_fill, to), file);
        return;
    case WORK_HOST:
        write_end(drawing, node, "user", offsetof(struct work_host, user), file);
        return;
    case WORK_QUEUE:
        write_end(drawing, node, "user", offsetof(struct work_queue, user), file);
        return;
    default:
        return;
    }
}

static void write_use(const struct graph_parameter_use *use, FILE *file)
{
    fprintf(file, "%" PRIu32 ":%" PRIu32 ":%" PRIu32 "=%s", use->parameter, use->offset, use->bytes,
            braid_graph_target_name(use->target));
    if (use->target == BRAID_TARGET_ARGUMENT)
        fprintf(file, "%" PRIu32, use->argument);
    if (use->argument_offset)
        fprintf(file, "+%" PRIu32, use->argument_offset);
}

// A fill's value may be set in as many bytes as it has.
static void write_uses(const struct graph_drawing *drawing, uint32_t node, FILE *file)
{
    const braid_graph *graph = drawing->graph;
    const struct graph_changes *changes = &drawing->changes;
    const struct graph_parameter_use *uses = graph->uses.items;
    if (!graph_changes_of(changes, node))
        return;
    if (graph_nodes(graph)[node].kind == WORK_FILL) {
        const union work *works = graph->works.items;
        uint32_t bytes = works[graph_nodes(graph)[node].payload].fill.value_bytes;
        if (bytes != 1)
            fprintf(file, ", value_bytes=%" PRIu32, bytes);
    }
    fputs(", uses=\"", file);
    for (uint32_t i = changes->first[node]; i < changes->first[node + 1]; i++) {
        braid_graph_dot_write_space(file, i - changes->first[node]);
        write_use(&uses[changes->uses[i]], file);
    }
    fputc('"', file);
}

void braid_graph_dot_write_values(const struct graph_drawing *drawing, uint32_t index, FILE *file)
{
    if (has_values(drawing, index)) {
        if (graph_nodes(drawing->graph)[index].kind == WORK_KERNEL)
            write_args(drawing, index, file);
        else
            write_ends(drawing, index, file);
    }
    write_uses(drawing, index, file);
}

void braid_graph_dot_write_parameters(const braid_graph *graph, FILE *file)
{
    const struct graph_parameter *parameters = graph->parameters.items;
    if (graph->parameters.num == 0)
        return;
    fputs(", parameters=\"", file);
    for (uint32_t i = 0; i < graph->parameters.num; i++) {
        braid_graph_dot_write_space(file, i);
        braid_graph_dot_write_code(file, braid_names_at(&graph->names, parameters[i].name));
        fprintf(file, ":%" PRIu32, parameters[i].bytes);
    }
    fputc('"', file);
}
