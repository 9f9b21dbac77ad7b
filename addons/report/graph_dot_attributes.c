// SPDX-License-Identifier: Apache-2.0
// The attributes in a graph's drawing for programs that plan it, without parameters and arguments.
#include "report/graph_dot_attributes.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/array.h"
#include "graph/add.h"
#include "graph/addresses.h"
#include "graph/regions.h"

// Writes a name so that no reader takes it for a separator of names.
static void write_code(FILE *file, const char *name)
{
    for (const unsigned char *next = (const unsigned char *)name; *next; next++) {
        if (isascii(*next) && (isalnum(*next) || *next == '_' || *next == '.' || *next == '-'))
            fputc(*next, file);
        else
            fprintf(file, "%%%02x", *next);
    }
}

// Where it lies, if not on the first device.
static void write_home(const struct graph_resource *resource, FILE *file)
{
    uint32_t home = resource->home;
    if (resource->is_scratch)
        fputs("@node", file);
    else if (resource->alignment)
        fputs("@none", file);
    else if (home == GRAPH_EVERYWHERE)
        fputs("@all", file);
    else if (home)
        fprintf(file, "@%" PRIu32, home);
}

static void write_memory(const struct graph_resource *resource, FILE *file)
{
    if (resource->bytes > 0)
        fprintf(file, ":%" PRIu64, resource->bytes);
    if (resource->alignment && resource->alignment != GRAPH_ALIGNMENT)
        fprintf(file, ":%" PRIu64, resource->alignment);
    if (resource->num_versions)
        fprintf(file, "*%" PRIu32, resource->num_versions);
    write_home(resource, file);
}

// A node's own scratch is a transient buffer, which it alone accesses.
static void write_resource(const braid_graph *graph, uint32_t index, FILE *file)
{
    const struct graph_resource *resource = graph_resource_at(graph, index);
    if (resource->frames_before) {
        fprintf(file, "^%" PRIu32 ":%" PRIu32, resource->versioned, resource->frames_before);
        return;
    }
    if (resource->buffer != index) {
        fprintf(file, "#%" PRIu32 ":%" PRIu64 ":%" PRIu64, resource->buffer, resource->offset,
                resource->bytes);
        return;
    }
    char unused[1];
    write_code(file, braid_graph_resource_name(graph, index, unused, sizeof(unused)));
    write_memory(resource, file);
}

// Writes the separator before item `index` of a list. Graphviz takes no long strings in one piece:
// a backslash before a newline continues a string.
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
    for (size_t i = 0; i < graph->outputs.num; i++)
        fprintf(file, "%s%" PRIu32, i ? " " : ", outputs=\"",
                ((const uint32_t *)graph->outputs.items)[i]);
    fputs(graph->outputs.num ? "\"];\n" : "];\n", file);
}

static void write_launch(const braid_graph *graph, const struct graph_node *node, FILE *file)
{
    const struct graph_kernel *kernel =
        &((const struct graph_kernel *)graph->kernels.items)[node->payload];
    const braid_dim3 grid = graph_kernel_grid(kernel), *block = &kernel->block;
    if (grid.x != 1 || grid.y != 1 || grid.z != 1 || block->x != 1 || block->y != 1 ||
        block->z != 1)
        fprintf(file,
                ", launch=\"%" PRIu32 ",%" PRIu32 ",%" PRIu32 "x%" PRIu32 ",%" PRIu32 ",%" PRIu32
                "\"",
                grid.x, grid.y, grid.z, block->x, block->y, block->z);
}

// The conditions under which the planner moves a kernel into an island (plan_divide.c).
static void write_inside(const braid_graph *graph, const struct graph_changes *changes,
                         uint32_t index, FILE *file)
{
    const struct graph_kernel *kernel = graph_kernel_of(graph, index);
    if (graph_kernel_has_text(kernel) && !kernel->cluster[0] && !kernel->grid_from &&
        !kernel->empty && !braid_graph_changes_launch(graph, changes, index) &&
        kernel->num_args <= GRAPH_MOST_ARGS_INSIDE)
        fprintf(file, ", inside=%" PRIu32, kernel->num_args);
}

static void write_accesses(const braid_graph *graph, const struct graph_node *node, FILE *file)
{
    static const char *const modes[] = { "", "r", "w", "rw", "x", "a" };
    const struct graph_access *accesses = graph->accesses.items;
    uint32_t num = 0;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        const struct graph_access *access = &accesses[node->first_access + i];
        if (num == 0)
            fputs(", accesses=\"", file);
        write_space(file, num++);
        fprintf(file, "%s%" PRIu32, modes[access->mode], access->resource);
    }
    if (num > 0)
        fputs("\"", file);
}

// Whether the node has an address of the buffer from the plan or by braid_resource_address.
static bool has_address(const struct array *list, const braid_graph *graph, uint32_t node,
                        uint32_t buffer)
{
    const struct graph_address *addresses = list->items;
    for (size_t i = braid_graph_first_address(list, node);
         i < list->num && addresses[i].node == node; i++) {
        if (graph_resource_at(graph, addresses[i].resource)->buffer == buffer)
            return true;
    }
    return false;
}

static bool is_by_pointer(const braid_graph *graph, uint32_t node, uint32_t index)
{
    const struct graph_resource *resource = graph_resource_at(graph, index);
    return resource->bytes > 0 && !resource->alignment &&
           !has_address(&graph->addresses, graph, node, resource->buffer) &&
           !has_address(&graph->given, graph, node, resource->buffer);
}

// Writes the buffers that a node touches by pointers of its own: these tie it to the place of its
// memory. A kernel that has arguments and declares no access may touch any.
static void write_pointers(const braid_graph *graph, uint32_t index, FILE *file)
{
    const struct graph_node *node = &graph_nodes(graph)[index];
    const struct graph_access *all = graph->accesses.items; // NULL: no node has any
    const struct graph_access *accesses = all ? &all[node->first_access] : NULL;
    uint32_t num = 0, num_buffers = 0, num_written = 0;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        const struct graph_resource *resource = graph_resource_at(graph, accesses[i].resource);
        num_buffers += resource->bytes > 0;
        num += is_by_pointer(graph, index, accesses[i].resource);
    }
    if (node->kind == WORK_KERNEL && !node->num_accesses && graph_kernel_of(graph, index)->num_args)
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

// When it ends.
static void write_loop(const braid_graph *graph, uint32_t index, FILE *file)
{
    const struct work_loop *loop = graph_loop(graph, index);
    uint32_t at = braid_graph_region_entered(graph, index);
    bool is_open = at == GRAPH_NONE || graph_regions(graph)[at].node != index;
    uint32_t condition = is_open ? GRAPH_NONE : graph_regions(graph)[at].condition;
    if (condition != GRAPH_NONE)
        fprintf(file, ", condition=%" PRIu32, condition);
    if (graph_nodes(graph)[index].kind == WORK_BRANCH)
        return;
    if (!is_open)
        fprintf(file, ", expected=%" PRIu64, graph_regions(graph)[at].expected);
    if (loop->most != UINT64_MAX || (!is_open && condition == GRAPH_NONE))
        fprintf(file, ", most=%" PRIu64, loop->most);
    if (loop->tests_first)
        fputs(", tests_first=true", file);
}

// Whose body it is directly in.
static void write_region(const braid_graph *graph, uint32_t index, FILE *file)
{
    uint32_t at = braid_graph_region_of(graph, index);
    if (at == GRAPH_NONE)
        return;
    const struct graph_region *region = &graph_regions(graph)[at];
    fprintf(file, ", %s=%" PRIu32, graph_region_is_else(region) ? "else_of" : "body_of",
            region->node);
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
    if (work_has_body(node->kind))
        write_loop(graph, index, file);
    if (graph_node_blocks(graph, index))
        fputs(", blocking=true", file);
    write_region(graph, index, file);
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
