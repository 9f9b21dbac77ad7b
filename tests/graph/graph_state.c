// SPDX-License-Identifier: Apache-2.0
// Everything that can be seen of a graph, as text.
#include "graph/graph_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/links.h"
#include "support/check.h"

static const char *hazard_text(uint32_t hazard)
{
    switch ((enum graph_hazard)hazard) {
    case GRAPH_READ_AFTER_WRITE:
        return "read after write";
    case GRAPH_WRITE_AFTER_READ:
        return "write after read";
    case GRAPH_WRITE_AFTER_WRITE:
        return "write after write";
    case GRAPH_EXCLUSIVE_USE:
        return "exclusive use";
    }
    return "unknown hazard";
}

static int compare_links(const void *a, const void *b)
{
    const struct graph_link *left = a, *right = b;
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return (left->to > right->to) - (left->to < right->to);
}

static void write_links(const braid_graph *graph, FILE *file)
{
    struct array array = { 0 };
    check_ok(braid_graph_find_links(graph, &array));
    struct graph_link *links = array.items;
    if (array.num)
        qsort(links, array.num, sizeof(*links), compare_links);
    for (size_t i = 0; i < array.num; i++) {
        char buffer[256];
        fprintf(file, "%s%s->%s %s of %s", i ? "; " : "", braid_graph_name(graph, links[i].from),
                braid_graph_name(graph, links[i].to), hazard_text(links[i].hazard),
                braid_graph_resource_name(graph, links[i].resource, buffer, sizeof(buffer)));
    }
    braid_array_finish(&array);
}

static void write_nodes(const braid_graph *graph, FILE *file)
{
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        fprintf(file, "%u: %s kind %u role %u main %u cost %llu hint %u accesses %u\n", i,
                braid_graph_name(graph, i), node->kind, node->role, node->main,
                (unsigned long long)node->cost_ns, node->lane_hint, node->num_accesses);
    }
    for (size_t i = 0; i < graph->edges.num; i++)
        fprintf(file, "%u->%u\n", graph_edges(graph)[i].from, graph_edges(graph)[i].to);
}

char *graph_state(const braid_graph *graph)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    fprintf(file, "version %llu, %zu nodes, %zu edges, %zu accesses, %zu resources, ",
            (unsigned long long)graph->version, braid_graph_get_num_nodes(graph), graph->edges.num,
            graph->accesses.num, graph->resources.num);
    fprintf(file, "%zu kernels, %zu works, %zu + %zu args, %zu addresses\n", graph->kernels.num,
            graph->works.num, graph->arg_sizes.num, graph->arg_bytes.num, graph->addresses.num);
    write_nodes(graph, file);
    write_links(graph, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

char *graph_links_text(const braid_graph *graph)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    write_links(graph, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

void check_links(const braid_graph *graph, const char *expected)
{
    char *text = graph_links_text(graph);
    assert_string_equal(text, expected);
    free(text);
}
