// SPDX-License-Identifier: Apache-2.0
// What a graph's drawing says for programs that plan it: all that planning looks at.
#include "graph/graph_dot_attributes.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/dot.h"

// So that no name can be taken for what stands between names.
static void write_code(FILE *file, const char *name)
{
    for (const unsigned char *next = (const unsigned char *)name; *next; next++) {
        if (isascii(*next) && (isalnum(*next) || *next == '_' || *next == '.' || *next == '-'))
            fputc(*next, file);
        else
            fprintf(file, "%%%02x", *next);
    }
}

static const struct graph_resource *resource_at(const braid_graph *graph, uint32_t index)
{
    return &((const struct graph_resource *)graph->resources.items)[index];
}

// Where it lies, if not on the first device.
static void write_home(const braid_graph *graph, const struct graph_resource *resource, FILE *file)
{
    uint32_t home =
        resource->num_versions ? resource_at(graph, resource->versioned)->home : resource->home;
    if (resource->alignment)
        fputs("@none", file);
    else if (home == GRAPH_EVERYWHERE)
        fputs("@all", file);
    else if (home)
        fprintf(file, "@%" PRIu32, home);
}

static void write_resource(const braid_graph *graph, uint32_t index, FILE *file)
{
    const struct graph_resource *resource = resource_at(graph, index);
    if (resource->buffer != index) {
        fprintf(file, "#%" PRIu32 ":%" PRIu64 ":%" PRIu64, resource->buffer, resource->offset,
                resource->bytes);
        return;
    }
    char unused[1];
    write_code(file, braid_graph_resource_name(graph, index, unused, sizeof(unused)));
    if (resource->bytes > 0)
        fprintf(file, ":%" PRIu64, resource->bytes);
    write_home(graph, resource, file);
}

// Graphviz takes no long strings in one piece; a backslash before a newline stands for nothing.
static void write_space(FILE *file, uint32_t index)
{
    enum { A_LINE = 16 };
    if (index > 0)
        fputs(index % A_LINE == 0 ? " \\\n" : " ", file);
}

void braid_graph_dot_write_graph(const braid_graph *graph, FILE *file)
{
    fputs("    graph [cost_unit=ns", file);
    if (graph->resources.num > 0) {
        fputs(", resources=\"", file);
        for (uint32_t i = 0; i < graph->resources.num; i++) {
            write_space(file, i);
            write_resource(graph, i, file);
        }
        fputs("\"", file);
    }
    fputs("];\n", file);
}

static void write_launch(const braid_graph *graph, const struct graph_node *node, FILE *file)
{
    const struct graph_kernel *kernel =
        &((const struct graph_kernel *)graph->kernels.items)[node->payload];
    const braid_dim3 *grid = &kernel->grid, *block = &kernel->block;
    if (grid->x != 1 || grid->y != 1 || grid->z != 1 || block->x != 1 || block->y != 1 ||
        block->z != 1)
        fprintf(file,
                ", launch=\"%" PRIu32 ",%" PRIu32 ",%" PRIu32 "x%" PRIu32 ",%" PRIu32 ",%" PRIu32
                "\"",
                grid->x, grid->y, grid->z, block->x, block->y, block->z);
}

// What the planner asks of a kernel before it is inside an island (plan_divide.c).
static void write_inside(const braid_graph *graph, const struct graph_changes *changes,
                         uint32_t index, FILE *file)
{
    const struct graph_kernel *kernel =
        &((const struct graph_kernel *)graph->kernels.items)[graph_nodes(graph)[index].payload];
    if (kernel->kernel->source && !kernel->cluster[0] && !kernel->shared_bytes &&
        !kernel->grid_from && !braid_graph_changes_launch(graph, changes, index) &&
        kernel->num_args <= GRAPH_MOST_ARGS_INSIDE)
        fprintf(file, ", inside=%" PRIu32, kernel->num_args);
}

static void write_accesses(const braid_graph *graph, const struct graph_node *node, FILE *file)
{
    static const char *const modes[] = { "", "r", "w", "rw", "x", "a" };
    const struct graph_access *accesses = graph->accesses.items;
    if (node->num_accesses == 0)
        return;
    fputs(", accesses=\"", file);
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        const struct graph_access *access = &accesses[node->first_access + i];
        write_space(file, i);
        fprintf(file, "%s%" PRIu32, modes[access->mode], access->resource);
    }
    fputs("\"", file);
}

// Whether the node has an address of the buffer from the plan or by braid_resource_address.
static bool has_address(const struct array *list, const braid_graph *graph, uint32_t node,
                        uint32_t buffer)
{
    const struct graph_address *addresses = list->items;
    size_t low = 0, high = list->num;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (addresses[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < list->num && addresses[low].node == node; low++) {
        if (resource_at(graph, addresses[low].resource)->buffer == buffer)
            return true;
    }
    return false;
}

static bool is_by_pointer(const braid_graph *graph, uint32_t node, uint32_t index)
{
    const struct graph_resource *resource = resource_at(graph, index);
    return resource->bytes > 0 && !resource->alignment &&
           !has_address(&graph->addresses, graph, node, resource->buffer) &&
           !has_address(&graph->given, graph, node, resource->buffer);
}

// What keeps a node where its memory is: the buffers that it touches by pointers of its own. A
// kernel that has arguments and declares no access may touch any.
static void write_pointers(const braid_graph *graph, uint32_t index, FILE *file)
{
    const struct graph_node *node = &graph_nodes(graph)[index];
    const struct graph_access *accesses =
        (const struct graph_access *)graph->accesses.items + node->first_access;
    uint32_t num = 0, num_buffers = 0, num_written = 0;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        num_buffers += resource_at(graph, accesses[i].resource)->bytes > 0;
        num += is_by_pointer(graph, index, accesses[i].resource);
    }
    if (node->kind == WORK_KERNEL && !node->num_accesses &&
        ((const struct graph_kernel *)graph->kernels.items)[node->payload].num_args)
        fputs(", pointers=any", file);
    if (num && num == num_buffers)
        fputs(", pointers=all", file);
    if (!num || num == num_buffers)
        return;
    fputs(", pointers=\"", file);
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        if (!is_by_pointer(graph, index, accesses[i].resource))
            continue;
        write_space(file, num_written++);
        fprintf(file, "%" PRIu32, accesses[i].resource);
    }
    fputs("\"", file);
}

void braid_graph_dot_write_node(const braid_graph *graph, const struct graph_changes *changes,
                                uint32_t index, FILE *file)
{
    const struct graph_node *node = &graph_nodes(graph)[index];
    if (node->cost_ns > 0)
        fprintf(file, ", cost=%" PRIu64, node->cost_ns);
    if (node->kind == WORK_KERNEL) {
        write_launch(graph, node, file);
        write_inside(graph, changes, index, file);
    } else {
        fprintf(file, ", kind=%s", braid_work_words[node->kind].kind);
    }
    if (graph_node_blocks(graph, index))
        fputs(", blocking=true", file);
    if (node->lane_hint != 0)
        fprintf(file, ", lane_hint=%" PRIu32, node->lane_hint);
    if (node->role != GRAPH_MAIN)
        fprintf(file, ", %s=%" PRIu32, node->role == GRAPH_PRELUDE ? "prelude_of" : "epilogue_of",
                node->main);
    else if (node->place)
        fprintf(file, ", place=%u", node->place - 1u);
    write_accesses(graph, node, file);
    write_pointers(graph, index, file);
}
