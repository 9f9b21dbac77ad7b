// SPDX-License-Identifier: Apache-2.0
// Tells of nodes whose order the results depend on, and of nodes that do not repeat their results.
#include <stdio.h>

#include "base/node_text.h"
#include "exec/audit_orders.h"

static struct node_text name(const braid_graph *graph, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(graph, node));
}

static void write_text(const braid_graph *graph, const braid_audit_finding *finding, char *text,
                       size_t size)
{
    struct node_text node = name(graph, finding->node.index);
    unsigned long long byte = finding->begin;
    if (finding->kind == BRAID_AUDIT_UNREPEATABLE)
        snprintf(text, size, "node %s does not repeat its results: byte %llu of '%.150s' differs",
                 node.text, byte, finding->buffer);
    else
        snprintf(text, size,
                 "nothing orders nodes %s and %s, and byte %llu of '%.150s' depends on their order",
                 node.text, name(graph, finding->other.index).text, byte, finding->buffer);
}

static void report(const braid_graph *graph, const struct audit_order_finding *found,
                   const braid_audit_options *options)
{
    const struct audit_difference *difference = &found->difference;
    char text[768], buffer[256];
    braid_audit_finding finding = {
        .kind = found->kind,
        .node = { .index = found->node, .graph = graph->id },
        .resource = { .index = difference->resource, .graph = graph->id },
        .buffer = braid_graph_resource_name(graph, difference->resource, buffer, sizeof(buffer)),
        .text = text,
        .address = difference->memory + difference->first,
        .begin = difference->first,
        .end = difference->last + 1,
        .num = difference->num,
    };
    if (found->kind == BRAID_AUDIT_ORDER)
        finding.other = (braid_node){ .index = found->other, .graph = graph->id };
    if (graph_nodes(graph)[found->node].kind == WORK_KERNEL)
        finding.kernel = graph_kernel_of(graph, found->node)->kernel->name;
    write_text(graph, &finding, text, sizeof(text));
    options->report(options->user, &finding);
}

void braid_audit_orders_report(const braid_graph *graph, const struct array *findings,
                               const braid_audit_options *options)
{
    const struct audit_order_finding *items = findings->items;
    for (size_t i = 0; i < findings->num && options && options->report; i++)
        report(graph, &items[i], options);
}
