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

static void write_resource(const braid_graph *graph, uint32_t index, FILE *file)
{
    const struct graph_resource *resource =
        &((const struct graph_resource *)graph->resources.items)[index];
    if (resource->buffer != index) {
        fprintf(file, "#%" PRIu32 ":%" PRIu64 ":%" PRIu64, resource->buffer, resource->offset,
                resource->bytes);
        return;
    }
    char unused[1];
    write_code(file, braid_graph_resource_name(graph, index, unused, sizeof(unused)));
    if (resource->bytes > 0)
        fprintf(file, ":%" PRIu64, resource->bytes);
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
    write_accesses(graph, node, file);
}
