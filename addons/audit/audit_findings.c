// SPDX-License-Identifier: Apache-2.0
// The findings of an audit: one for each node, buffer and kind; and their texts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "graph/extents.h"
#include "plan/schedule.h"

static struct audit_finding *find(const struct audit_findings *findings,
                                  const struct audit_finding *like)
{
    struct audit_finding *items = findings->items.items;
    for (size_t i = findings->items.num; i-- > 0;)
        if (items[i].node == like->node && items[i].resource == like->resource &&
            items[i].kind == like->kind && items[i].reason == like->reason)
            return &items[i];
    return NULL;
}

static braid_status add(struct audit_findings *findings, struct audit_finding finding)
{
    struct audit_finding *item = braid_array_append(&findings->items, 1, sizeof(*item));
    if (!item)
        return braid_error_no_memory("the findings of an audit");
    *item = finding;
    return BRAID_OK;
}

braid_status braid_audit_findings_begin(struct audit_findings *findings)
{
    const struct array *known = &findings->graph->known;
    const struct extent *extents = known->items;
    const size_t num = graph_num_nodes(findings->graph);
    findings->has_run = braid_allocate_zeroed(num, sizeof(bool));
    findings->is_free = braid_allocate_zeroed(num, sizeof(bool));
    if (!findings->has_run || !findings->is_free)
        return braid_error_no_memory("an audit");
    for (size_t i = 0; i < known->num; i++) {
        if (!extents[i].last)
            findings->is_free[extents[i].buffer] = true;
    }
    return BRAID_OK;
}

// A node of a loop may have some of earlier iterations.
// A node that may touch anything keeps its orders, so its accesses are right.
braid_status braid_audit_findings_add(struct audit_findings *findings, struct audit_finding finding)
{
    const bool is_of_node = finding.node != GRAPH_NONE && finding.kind != BRAID_AUDIT_UNSEEN;
    if (is_of_node && findings->is_free[finding.node])
        return BRAID_OK;
    struct audit_finding *known = find(findings, &finding);
    if (!known)
        return add(findings, finding);
    struct audit_count *count = &known->count;
    count->num += finding.count.num;
    if (finding.count.lowest < count->lowest)
        count->lowest = finding.count.lowest;
    if (finding.count.highest > count->highest)
        count->highest = finding.count.highest;
    if (finding.line < known->line)
        known->line = finding.line;
    return BRAID_OK;
}

braid_status braid_audit_findings_take(struct audit_findings *findings, uint32_t node,
                                       struct audit_buffer *buffer)
{
    braid_status status = BRAID_OK;
    for (int writes = 0; writes < 2; writes++) {
        const struct audit_finding finding = {
            .kind = writes ? BRAID_AUDIT_WRITES : BRAID_AUDIT_READS,
            .node = node,
            .resource = buffer->resource,
            .begin = buffer->origin,
            .count = buffer->counts[writes],
        };
        if (finding.count.num && !status)
            status = braid_audit_findings_add(findings, finding);
        buffer->counts[writes] = (struct audit_count){ 0 };
    }
    return status;
}

braid_status braid_audit_findings_add_unseen(struct audit_findings *findings, uint32_t node,
                                             uint32_t resource, const char *reason)
{
    return braid_audit_findings_add(findings, (struct audit_finding){ .kind = BRAID_AUDIT_UNSEEN,
                                                                      .node = node,
                                                                      .resource = resource,
                                                                      .reason = reason });
}

static braid_status add_import(struct audit_findings *findings, const struct audit_memory *memory)
{
    const braid_graph *graph = findings->graph;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < graph->resources.num && graph->imported_places && !status; i++) {
        if (!graph_resource_at(graph, i)->bytes && !memory->known[i].end)
            status = braid_audit_findings_add_unseen(findings, GRAPH_NONE, i,
                                                     "the import does not tell where it lies");
    }
    for (uint32_t i = 0; i < graph_num_nodes(graph) && !status; i++) {
        if (findings->is_free[i] && findings->has_run[i])
            status = braid_audit_findings_add_unseen(
                findings, i, GRAPH_NONE,
                "the import proves no accesses of it, so that it keeps its captured orders");
    }
    return status;
}

static int compare(const void *a, const void *b)
{
    const struct audit_finding *left = a, *right = b;
    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return left->resource < right->resource ? -1 : left->resource > right->resource;
}

// Whether a node's code never makes an access that it declares. The remarks stand by node.
static bool lacks(const braid_schedule *schedule, uint32_t node, uint32_t resource)
{
    const struct array *remarks = &schedule->graph->code_remarks.items;
    const struct code_remark *items = remarks->items;
    for (size_t i = braid_array_find(remarks, node, sizeof(*items));
         i < remarks->num && items[i].node == node; i++) {
        if (items[i].resource == resource)
            return !schedule_left_out(schedule, node);
    }
    return false;
}

// Code has no say about an access that the node made: its code for this device may be other code.
static braid_status end_node(struct audit_findings *findings, uint32_t index,
                             const struct audit_memory *memory, const braid_schedule *schedule)
{
    const struct graph_access *accesses = findings->graph->accesses.items;
    const struct graph_node *node = &graph_nodes(findings->graph)[index];
    const uint32_t end = node->first_access + node->num_accesses;
    braid_status status = BRAID_OK;
    for (uint32_t k = node->first_access; k < end && !status; k++) {
        const struct audit_access *access = &memory->accesses[k];
        const bool has_run = findings->has_run[index];
        const bool was_made = access->may_write ? access->was_written : access->was_read;
        const struct audit_finding finding = {
            .kind = access->may_write ? BRAID_AUDIT_NEVER_WRITES : BRAID_AUDIT_NEVER_READS,
            .node = index,
            .resource = accesses[k].resource,
            .by_code = lacks(schedule, index, accesses[k].resource),
        };
        if (!was_made && !findings->is_free[index] &&
            (finding.by_code || (has_run && access->begin < access->end)))
            status = add(findings, finding);
    }
    return status;
}

braid_status braid_audit_findings_end(struct audit_findings *findings,
                                      const struct audit_memory *memory, const braid_exec *exec)
{
    braid_status status = BRAID_OK;
    if (memory)
        status = add_import(findings, memory);
    for (uint32_t i = 0; memory && i < graph_num_nodes(findings->graph) && !status; i++)
        status = end_node(findings, i, memory, exec->schedule);
    if (findings->items.num)
        qsort(findings->items.items, findings->items.num, sizeof(struct audit_finding), compare);
    return status;
}

void braid_audit_findings_finish(struct audit_findings *findings)
{
    struct audit_finding *items = findings->items.items;
    for (size_t i = 0; i < findings->items.num; i++)
        braid_free(items[i].file);
    braid_array_finish(&findings->items);
    braid_free(findings->has_run);
    braid_free(findings->is_free);
}

static void write_text(const braid_audit_finding *finding, struct node_text node, char *text,
                       size_t size)
{
    static const char *const verbs[] = { [BRAID_AUDIT_READS] = "reads",
                                         [BRAID_AUDIT_WRITES] = "writes",
                                         [BRAID_AUDIT_UPDATES] = "atomically updates",
                                         [BRAID_AUDIT_NEVER_READS] = "read",
                                         [BRAID_AUDIT_NEVER_WRITES] = "write",
                                         [BRAID_AUDIT_UNSEEN] = "" };
    const char *verb = verbs[finding->kind];
    unsigned long long begin = finding->begin, last = finding->end - 1;
    char bytes[64], times[40] = "", line[160] = "";
    if (finding->kind >= BRAID_AUDIT_NEVER_READS) {
        snprintf(text, size, "node %s declares to %s '%.150s', and %s never does", node.text, verb,
                 finding->buffer, finding->by_code ? "by its code" : "in this frame");
        return;
    }
    if (begin == last)
        snprintf(bytes, sizeof(bytes), "byte %llu", begin);
    else
        snprintf(bytes, sizeof(bytes), "bytes from %llu to %llu", begin, last);
    if (finding->num > 1)
        snprintf(times, sizeof(times), ", %llu times", (unsigned long long)finding->num);
    const char *slash = finding->file ? strrchr(finding->file, '/') : NULL;
    if (finding->file)
        snprintf(line, sizeof(line), " (%.140s:%u)", slash ? slash + 1 : finding->file,
                 finding->line);
    snprintf(text, size, "node %s %s %s of '%.150s'%s, which it does not declare%s", node.text,
             verb, bytes, finding->buffer, times, line);
}

static void report(const braid_graph *graph, const struct audit_finding *found,
                   const braid_audit_options *options)
{
    char text[512], buffer[256];
    braid_audit_finding finding = {
        .kind = found->kind,
        .text = text,
        .by_code = found->by_code,
    };
    if (found->resource != GRAPH_NONE) {
        finding.resource = (braid_resource){ .index = found->resource, .graph = graph->id };
        finding.buffer = braid_graph_resource_name(graph, found->resource, buffer, sizeof(buffer));
    }
    if (found->node == GRAPH_NONE) {
        snprintf(text, sizeof(text), "%s%.150s%s%s", finding.buffer ? "'" : "",
                 finding.buffer ? finding.buffer : "",
                 finding.buffer ? "' is not audited in full: " : "", found->reason);
        PLAIN_MEMORY;
        options->report(&finding, options->user);
        return;
    }
    finding.node = (braid_node){ .index = found->node, .graph = graph->id };
    if (graph_nodes(graph)[found->node].kind == WORK_KERNEL)
        finding.kernel = graph_kernel_of(graph, found->node)->kernel->name;
    if (found->count.num) {
        finding.address =
            (const void *)(found->count.first ? found->count.first : found->count.lowest);
        finding.begin = found->count.lowest - found->begin;
        finding.end = found->count.highest - found->begin + 1;
        finding.num = found->count.num;
    }
    if (found->file) {
        finding.file = found->file;
        finding.line = found->line & ((1 << AUDIT_LINE_BITS) - 1);
    }
    struct node_text node = braid_node_text(found->node, braid_graph_name(graph, found->node));
    if (found->kind == BRAID_AUDIT_UNSEEN)
        snprintf(text, sizeof(text), "node %s is not audited: %s", node.text, found->reason);
    else
        write_text(&finding, node, text, sizeof(text));
    PLAIN_MEMORY;
    options->report(&finding, options->user);
}

void braid_audit_findings_report(const struct audit_findings *findings,
                                 const braid_audit_options *options)
{
    const struct audit_finding *items = findings->items.items;
    for (size_t i = 0; i < findings->items.num && options && options->report; i++)
        report(findings->graph, &items[i], options);
}
