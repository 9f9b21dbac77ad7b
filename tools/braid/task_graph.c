// SPDX-License-Identifier: Apache-2.0
// A file's graph as a braid_graph.
#include "task_graph.h"

#include "progress.h"

const char *task_graph_name(const struct dot_node *node)
{
    return node->label ? node->label : node->id;
}

static braid_status fill(braid_graph *graph, const struct dot_file *file, task_graph_add *add,
                         void *user)
{
    braid_status status = braid_graph_reserve(graph, file->num_nodes, file->num_edges, 0);
    for (uint32_t i = 0; i < file->num_nodes && status == BRAID_OK; i++)
        status = add(graph, &file->nodes[i], i, user);
    for (uint32_t i = 0; i < file->num_edges && status == BRAID_OK; i++) {
        const struct dot_edge *edge = &file->edges[i];
        status = braid_graph_add_edge(graph, braid_graph_node(graph, edge->from),
                                      braid_graph_node(graph, edge->to));
        progress_show("building the graph", i, file->num_edges);
    }
    return status;
}

enum exit_status task_graph_create(const struct dot_file *file, task_graph_add *add, void *user,
                                   braid_graph **out_graph)
{
    braid_graph *graph;
    if (braid_graph_create(&graph) != BRAID_OK)
        return fail_in_library();
    if (fill(graph, file, add, user) != BRAID_OK) {
        braid_graph_destroy(graph);
        return fail_in_library();
    }
    *out_graph = graph;
    return EXIT_DONE;
}
