// SPDX-License-Identifier: Apache-2.0
// Beginning branches, and their second arms. An arm is a region that runs at most once.
#include "base/error.h"
#include "graph/region_begin.h"

braid_status braid_graph_begin_if(braid_graph *graph, const braid_if *branch, braid_node *out_if)
{
    if (!graph || !branch)
        return braid_error_null("braid_graph_begin_if", graph ? "branch" : "graph");
    const struct region_begin begin = { .kind = WORK_BRANCH,
                                        .name = branch->node.name
                                                    ? branch->node.name
                                                    : braid_work_words[WORK_BRANCH].name,
                                        .options = &branch->node,
                                        .condition = branch->condition,
                                        .most = 1,
                                        .expected = 1,
                                        .tests_first = true };
    if (!branch->condition.graph)
        return braid_error_invalid("branch '%s': it has no .condition", begin.name);
    return braid_graph_begin_region(graph, &begin, out_if);
}

braid_status braid_graph_else(braid_graph *graph)
{
    if (!graph)
        return braid_error_null("braid_graph_else", "graph");
    if (!graph->open.num)
        return braid_error_invalid("braid_graph_else: no branch is open");
    struct graph_region *open = (struct graph_region *)graph->open.items + (graph->open.num - 1);
    if (graph_nodes(graph)[open->node].kind != WORK_BRANCH)
        return braid_error_invalid("braid_graph_else: loop '%s' is open, and no branch",
                                   braid_graph_name(graph, open->node));
    if (graph_region_is_else(open))
        return braid_error_invalid("braid_graph_else: branch '%s' has two arms already",
                                   braid_graph_name(graph, open->node));
    if (!braid_array_reserve(&graph->regions, graph->open.num + 1, sizeof(*open)))
        return braid_error_no_memory("an arm of a branch");
    braid_status status = braid_graph_end_body(graph, open);
    if (!status)
        open->first = graph_num_nodes(graph);
    return status;
}
