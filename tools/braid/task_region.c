// SPDX-License-Identifier: Apache-2.0
// Loops and branches of a file as those of a braid_graph.
#include "task_region.h"

enum { EXPECTED = 10 }; // iterations, where the file does not say

braid_status task_region_reach(braid_graph *graph, const struct dot_file *file,
                               struct task_region *at, uint32_t around, bool is_else)
{
    braid_status status = BRAID_OK;
    while (!status && at->node != around) {
        const struct dot_node *ended = &file->nodes[at->node];
        *at = (struct task_region){ ended->around, ended->is_else };
        status = braid_graph_end(graph);
    }
    if (status || at->is_else == is_else)
        return status;
    at->is_else = true;
    return braid_graph_else(graph);
}

static uint64_t find_times(const struct dot_node *node)
{
    if (node->expected)
        return node->expected;
    bool is_fixed = node->condition == DOT_NONE;
    return node->most && (is_fixed || node->most < EXPECTED) ? node->most : EXPECTED;
}

static braid_status begin_loop(braid_graph *graph, const struct dot_node *node, braid_loop loop,
                               bool is_run)
{
    bool is_fixed = !loop.condition.graph;
    if (is_run)
        loop = (braid_loop){ .node = loop.node, .times = find_times(node) };
    else if (is_fixed)
        loop.times = node->most;
    else
        loop.most = node->most;
    loop.unbounded = !is_run && !is_fixed && !node->most;
    return braid_graph_begin_loop(graph, &loop, NULL);
}

braid_status task_region_begin(braid_graph *graph, const struct dot_file *file, uint32_t index,
                               const braid_node_options *options, const braid_resource *resources,
                               bool is_run, struct task_region *at)
{
    const struct dot_node *node = &file->nodes[index];
    braid_node_options own = *options;
    braid_resource condition = { 0 };
    own.accesses = NULL; // its bodies have them
    own.num_accesses = 0;
    if (node->condition != DOT_NONE)
        condition = resources[node->condition];
    *at = (struct task_region){ index, false };
    if (node->kind == DOT_BRANCH)
        return braid_graph_begin_if(graph, &(braid_if){ .node = own, .condition = condition },
                                    NULL);
    const braid_loop loop = { .node = own,
                              .condition = condition,
                              .expected = node->expected,
                              .tests_first = node->tests_first };
    return begin_loop(graph, node, loop, is_run);
}
