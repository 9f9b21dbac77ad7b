// SPDX-License-Identifier: Apache-2.0
// Tells of nodes whose order the results depend on, and of nodes that do not repeat their results.
#include <stdio.h>

#include "audit/audit_orders.h"
#include "base/node_text.h"

static struct node_text name(const braid_graph *graph, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(graph, node));
}

static void write_text(const braid_graph *graph, const struct audit_order_finding *found,
                       const char *buffer, char *text, size_t size)
{
    const struct audit_difference *difference = &found->difference;
    char differing[256];
    if (buffer)
        snprintf(differing, sizeof(differing), "byte %llu of '%.150s'",
                 (unsigned long long)difference->first, buffer);
    else
        snprintf(differing, sizeof(differing), "the end of node %s",
                 name(graph, difference->node).text);
    if (found->kind == BRAID_AUDIT_ORDER)
        snprintf(text, size, "nothing orders nodes %s and %s, and %s depends on their order",
                 name(graph, found->node).text, name(graph, found->other).text, differing);
    else if (found->node != GRAPH_NONE)
        snprintf(text, size, "node %s does not repeat its results: %s differs",
                 name(graph, found->node).text, differing);
    else
        snprintf(text, size, "the frame does not always repeat its results: %s differs", differing);
}

static braid_node node_of(const braid_graph *graph, uint32_t node)
{
    return node == GRAPH_NONE ? (braid_node){ 0 } : (braid_node){ .index = node, graph->id };
}

static void report(const braid_graph *graph, const struct audit_order_finding *found,
                   const braid_audit_options *options)
{
    const struct audit_difference *difference = &found->difference;
    char text[768], buffer[256];
    braid_audit_finding finding = { .kind = found->kind,
                                    .node = node_of(graph, found->node),
                                    .other = node_of(graph, found->other),
                                    .text = text };
    if (difference->resource != GRAPH_NONE) {
        finding.resource = (braid_resource){ .index = difference->resource, .graph = graph->id };
        finding.buffer =
            braid_graph_resource_name(graph, difference->resource, buffer, sizeof(buffer));
        finding.address = difference->memory + difference->first;
        finding.begin = difference->first;
        finding.end = difference->last + 1;
        finding.num = difference->num;
    }
    if (found->node != GRAPH_NONE && graph_nodes(graph)[found->node].kind == WORK_KERNEL)
        finding.kernel = graph_kernel_of(graph, found->node)->kernel->name;
    write_text(graph, found, finding.buffer, text, sizeof(text));
    options->report(options->user, &finding);
}

void braid_audit_orders_report(const braid_graph *graph, const struct array *findings,
                               const braid_audit_options *options)
{
    const struct audit_order_finding *items = findings->items;
    for (size_t i = 0; i < findings->num && options && options->report; i++)
        report(graph, &items[i], options);
}
