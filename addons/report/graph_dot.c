// SPDX-License-Identifier: Apache-2.0
// Draws a graph: nodes by kind, explicit edges, edges that follow from accesses, bundles in boxes.
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/error.h"
#include "graph/add.h"
#include "graph/addresses.h"
#include "graph/changes.h"
#include "graph/cull.h"
#include "graph/links.h"
#include "graph/regions.h"
#include "report/dot.h"

// ---- attributes ----

// The attributes in a graph's drawing for programs that plan it, without parameters and arguments.

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
        fprintf(file, "@place%" PRIu32, graph_place_number(home));
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

// graph [cost_unit=ns, resources="...", outputs="..."]; the latter two only where there are any.
static void graph_dot_write_graph(const braid_graph *graph, FILE *file)
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
    if (graph_kernel_has_text(kernel) && !kernel->cluster[0] && !kernel->cooperative &&
        !kernel->grid_from && !kernel->empty &&
        !braid_graph_changes_launch(graph, changes, index) &&
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
static void write_region_attributes(const braid_graph *graph, uint32_t index, FILE *file)
{
    uint32_t at = braid_graph_region_of(graph, index);
    if (at == GRAPH_NONE)
        return;
    const struct graph_region *region = &graph_regions(graph)[at];
    fprintf(file, ", %s=%" PRIu32, graph_region_is_else(region) ? "else_of" : "body_of",
            region->node);
}

// Attributes of a node, each behind a comma: cost, kind, launch, lane_hint, prelude_of or
// epilogue_of, accesses, pointers and others. An attribute with its default is left out.
static void graph_dot_write_node(const braid_graph *graph, const struct graph_changes *changes,
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
    write_region_attributes(graph, index, file);
    if (node->lane_hint != 0)
        fprintf(file, ", lane_hint=%" PRIu32, node->lane_hint);
    if (node->role != GRAPH_MAIN)
        fprintf(file, ", %s=%" PRIu32, node->role == GRAPH_PRELUDE ? "prelude_of" : "epilogue_of",
                node->main);
    else if (node->place)
        fprintf(file, ", on=%u", node->place);
    write_accesses(graph, node, file);
    write_pointers(graph, index, file);
}

// ---- the drawing ----

static const char *find_look(const struct graph_node *node)
{
    if (node->kind == WORK_KERNEL && node->role != GRAPH_MAIN)
        return ", fillcolor=white";
    return braid_work_words[node->kind].look;
}

// The name stands a second time where the label has more than that, for programs that read it back.
static void write_node(const braid_graph *graph, const struct graph_changes *changes,
                       uint32_t index, bool is_left_out, FILE *file)
{
    char changing[1024];
    const struct graph_node *node = &graph_nodes(graph)[index];
    fprintf(file, "    %" PRIu32 " [", index);
    braid_graph_describe_changes(graph, changes, index, changing, sizeof(changing));
    braid_dot_write_label(file, braid_graph_name(graph, index),
                          node->cost_ns > 0 ? &node->cost_ns : NULL, changing);
    if (node->cost_ns > 0 || changing[0]) {
        fputs(", name=\"", file);
        braid_dot_write_text(file, braid_graph_name(graph, index));
        fputc('"', file);
    }
    graph_dot_write_node(graph, changes, index, file);
    if (changing[0]) {
        fputs(", changes=\"", file);
        braid_dot_write_text(file, changing);
        fputc('"', file);
    }
    fprintf(file, "%s%s];\n", find_look(node), is_left_out ? DOT_LEFT_OUT : "");
}

// A bundle's members and, as edges, the order they run in. In the box of the body that has them.
static void write_bundle(const struct graph_units *units, uint32_t unit, FILE *file)
{
    uint32_t first = units->first_of[unit], end = units->first_of[unit + 1];
    if (end - first < 2)
        return;
    braid_dot_begin_box(file, "", "style=\"rounded,dashed\"; color=\"#8896a8\"", "bundle_%" PRIu32,
                        unit);
    for (uint32_t i = first; i < end; i++)
        fprintf(file, "        %" PRIu32 ";\n", units->members[i]);
    for (uint32_t i = first; i + 1 < end; i++)
        fprintf(file, "        %" PRIu32 " -> %" PRIu32 " [color=\"#8896a8\", implied=bundle];\n",
                units->members[i], units->members[i + 1]);
    fputs("    }\n", file);
}

static bool has_body(const braid_graph *graph, uint32_t node)
{
    return work_has_body((enum work_kind)graph_nodes(graph)[node].kind);
}

static void begin_box(FILE *file, const char *kind, uint32_t node, const char *label)
{
    braid_dot_begin_box(file, label, DOT_REGION_LOOK, "%s_%" PRIu32, kind, node);
}

static void write_region(const braid_graph *graph, const struct graph_units *units, uint32_t node,
                         FILE *file);

static void write_bundle_of_first(const struct graph_units *units, uint32_t node, FILE *file)
{
    uint32_t unit = units->unit_of[node];
    if (units->members[units->first_of[unit]] == node)
        write_bundle(units, unit, file);
}

// The nodes directly in a body, and the boxes of bundles and regions inside.
static void write_body(const braid_graph *graph, const struct graph_units *units, uint32_t index,
                       FILE *file)
{
    const struct graph_region *region = &graph_regions(graph)[index];
    uint32_t end = region->first + region->num;
    for (uint32_t i = region->first; i < end; i++) {
        if (braid_graph_region_of(graph, i) == index && !has_body(graph, i))
            fprintf(file, "        %" PRIu32 ";\n", i);
    }
    for (uint32_t i = region->first; i < end; i++) {
        if (braid_graph_region_of(graph, i) != index)
            continue;
        if (has_body(graph, i))
            write_region(graph, units, i, file);
        else
            write_bundle_of_first(units, i, file);
    }
}

static void write_region(const braid_graph *graph, const struct graph_units *units, uint32_t node,
                         FILE *file)
{
    enum work_kind kind = (enum work_kind)graph_nodes(graph)[node].kind;
    uint32_t body = braid_graph_region_entered(graph, node);
    uint32_t other = braid_graph_region_else(graph, body);
    begin_box(file, braid_work_words[kind].kind, node, braid_graph_name(graph, node));
    fprintf(file, "        %" PRIu32 ";\n", node);
    if (kind == WORK_BRANCH)
        begin_box(file, "if", node, "if");
    write_body(graph, units, body, file);
    if (kind == WORK_BRANCH)
        fputs("    }\n", file);
    if (other != GRAPH_NONE) {
        begin_box(file, "else", node, "else");
        write_body(graph, units, other, file);
        fputs("    }\n", file);
    }
    fputs("    }\n", file);
}

// A body that is open has no box.
static void write_regions(const braid_graph *graph, const struct graph_units *units, FILE *file)
{
    for (uint32_t i = 0; i < graph->regions.num; i++) {
        const struct graph_region *region = &graph_regions(graph)[i];
        if (!graph_region_is_else(region) &&
            braid_graph_region_of(graph, region->node) == GRAPH_NONE)
            write_region(graph, units, region->node, file);
    }
}

// Whether the order of two nodes is no edge: one is inside the other, or they are in two arms.
static bool are_apart(const braid_graph *graph, uint32_t outer, uint32_t node)
{
    uint32_t at = braid_graph_region_of(graph, node);
    for (; at != GRAPH_NONE; at = braid_graph_region_of(graph, graph_regions(graph)[at].node)) {
        const struct graph_region *region = &graph_regions(graph)[at];
        if (outer == region->node || (outer > region->node && outer < region->first))
            return true;
    }
    return false;
}

// Solid where data flows; dotted where only the resource keeps the two apart.
static void write_link(const braid_graph *graph, const struct graph_link *link, FILE *file)
{
    char name[256];
    fprintf(file, "    %" PRIu32 " -> %" PRIu32 " [xlabel=\"", link->from, link->to);
    braid_dot_write_text(file,
                         braid_graph_resource_name(graph, link->resource, name, sizeof(name)));
    fprintf(file, "\", implied=access%s];\n",
            link->hazard == GRAPH_READ_AFTER_WRITE ? "" : ", style=dotted");
}

static bool writes(const struct graph_access *access, uint32_t resource)
{
    return access->resource == resource && access->mode != BRAID_READ;
}

// From the writer of a version to its reader in a later frame. The label of a node's edge to itself
// has room of its own: an xlabel would stand on the head of another edge.
static void write_frame_edge(const braid_graph *graph, uint32_t reader, uint32_t earlier,
                             FILE *file)
{
    const struct graph_resource *resource = graph_resource_at(graph, earlier);
    const struct graph_access *accesses = graph->accesses.items;
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        for (uint32_t k = 0; k < node->num_accesses; k++) {
            if (!writes(&accesses[node->first_access + k], resource->versioned))
                continue;
            fprintf(file, "    %" PRIu32 " -> %" PRIu32 " [%s=\"", i, reader,
                    i == reader ? "label" : "xlabel");
            braid_dot_write_text(file, braid_names_at(&graph->names, resource->name));
            fputs("\", style=dashed, constraint=false, implied=frame];\n", file);
        }
    }
}

static void write_frame_edges(const braid_graph *graph, FILE *file)
{
    const struct graph_access *accesses = graph->accesses.items;
    for (uint32_t i = 0; i < graph_num_nodes(graph) && graph->versions.num; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        for (uint32_t k = 0; k < node->num_accesses; k++) {
            uint32_t resource = accesses[node->first_access + k].resource;
            if (graph_resource_at(graph, resource)->frames_before)
                write_frame_edge(graph, i, resource, file);
        }
    }
}

// Nodes come in the order of adding, which decides between equal plans; boxes only name them.
static void write_nodes(const braid_graph *graph, const braid_graph *culled,
                        const struct graph_changes *changes, const struct graph_units *units,
                        FILE *file)
{
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++)
        write_node(graph, changes, i, graph_nodes(culled)[i].is_left_out, file);
    for (uint32_t i = 0; i < graph_num_nodes(graph) && graph->num_bundled > 0; i++) {
        if (braid_graph_region_of(graph, i) == GRAPH_NONE)
            write_bundle_of_first(units, i, file);
    }
    write_regions(graph, units, file);
}

static void write_edges(const braid_graph *graph, const struct array *links, FILE *file)
{
    const struct graph_edge *edges = graph_edges(graph);
    for (size_t i = 0; i < graph->edges.num; i++)
        fprintf(file, "    %" PRIu32 " -> %" PRIu32 ";\n", edges[i].from, edges[i].to);
    const struct graph_link *first = links->items;
    for (size_t i = 0; i < links->num; i++)
        if (!are_apart(graph, first[i].from, first[i].to))
            write_link(graph, &first[i], file);
    write_frame_edges(graph, file);
}

// A graph with a cycle is drawn like any other: that is when a picture helps most.
braid_status braid_graph_write_dot(const braid_graph *graph, FILE *file)
{
    if (!graph || !file)
        return braid_error_null("braid_graph_write_dot", graph ? "file" : "graph");
    struct graph_units units;
    braid_status status = braid_graph_find_units(graph, &units);
    if (status != BRAID_OK)
        return status;
    struct array links = { 0 };
    struct graph_changes changes = { 0 };
    struct culled culled;
    status = braid_graph_cull(graph, &culled);
    if (status == BRAID_OK)
        status = braid_graph_find_links(graph, &links);
    if (status == BRAID_OK)
        status = braid_graph_find_changes(graph, &changes);
    if (status == BRAID_OK) {
        braid_dot_begin(file, "graph", graph_num_nodes(graph));
        graph_dot_write_graph(graph, file);
        write_nodes(graph, culled.graph, &changes, &units, file);
        write_edges(graph, &links, file);
        status = braid_dot_end(file);
    }
    braid_culled_finish(&culled);
    braid_graph_changes_finish(&changes);
    braid_array_finish(&links);
    braid_graph_units_finish(&units);
    return status;
}
