// SPDX-License-Identifier: Apache-2.0
// The changes of each node: the uses of parameters sorted by node, and as text.
#include "graph/changes.h"

#include <stdlib.h>

#include "base/append.h"
#include "base/error.h"

static const struct graph_parameter_use *use_at(const braid_graph *graph,
                                                const struct graph_changes *changes, uint32_t i)
{
    return &((const struct graph_parameter_use *)graph->uses.items)[changes->uses[i]];
}

// Counted by node; then each use takes the next place of its node, so that all are in order.
static void sort_uses(const braid_graph *graph, struct graph_changes *changes)
{
    const struct graph_parameter_use *uses = graph->uses.items;
    uint32_t num_nodes = graph_num_nodes(graph);
    for (size_t i = 0; i < graph->uses.num; i++)
        changes->first[uses[i].node + 1]++;
    for (uint32_t i = 0; i < num_nodes; i++)
        changes->first[i + 1] += changes->first[i];
    for (size_t i = 0; i < graph->uses.num; i++)
        changes->uses[changes->first[uses[i].node]++] = (uint32_t)i;
    for (uint32_t i = num_nodes; i > 0; i--)
        changes->first[i] = changes->first[i - 1];
    changes->first[0] = 0;
}

braid_status braid_graph_find_changes(const braid_graph *graph, struct graph_changes *out_changes)
{
    struct graph_changes changes = { 0 };
    if (graph->uses.num == 0) {
        *out_changes = changes;
        return BRAID_OK;
    }
    changes.first = braid_allocate_zeroed((size_t)graph_num_nodes(graph) + 1, sizeof(uint32_t));
    changes.uses = braid_allocate_zeroed(graph->uses.num, sizeof(uint32_t));
    if (!changes.first || !changes.uses) {
        braid_graph_changes_finish(&changes);
        return braid_error_no_memory("what a graph's parameters change");
    }
    sort_uses(graph, &changes);
    *out_changes = changes;
    return BRAID_OK;
}

void braid_graph_changes_finish(struct graph_changes *changes)
{
    free(changes->first);
    free(changes->uses);
    *changes = (struct graph_changes){ 0 };
}

void braid_graph_describe_changes(const braid_graph *graph, const struct graph_changes *changes,
                                  uint32_t node, char *text, size_t size)
{
    const struct graph_parameter *parameters = graph->parameters.items;
    uint32_t before = GRAPH_NONE; // the parameter at hand
    text[0] = '\0';
    if (!changes->first)
        return;
    for (uint32_t i = changes->first[node]; i < changes->first[node + 1]; i++) {
        const struct graph_parameter_use *use = use_at(graph, changes, i);
        if (use->parameter != before)
            braid_append(text, size, "%s%s: ", before == GRAPH_NONE ? "" : "; ",
                         braid_names_at(&graph->names, parameters[use->parameter].name));
        else
            braid_append(text, size, ", ");
        if (use->target == BRAID_TARGET_ARGUMENT)
            braid_append(text, size, "argument %u", use->argument);
        else
            braid_append(text, size, "%s", braid_graph_target_name(use->target));
        before = use->parameter;
    }
}

bool braid_graph_changes_launch(const braid_graph *graph, const struct graph_changes *changes,
                                uint32_t node)
{
    if (!changes->first)
        return false;
    for (uint32_t i = changes->first[node]; i < changes->first[node + 1]; i++) {
        uint32_t target = use_at(graph, changes, i)->target;
        if (target == BRAID_TARGET_ENABLED ||
            (target >= BRAID_TARGET_GRID && target <= BRAID_TARGET_GRID_Z))
            return true;
    }
    return false;
}
