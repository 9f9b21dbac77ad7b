// SPDX-License-Identifier: Apache-2.0
// How many waits the plan loses without declared accesses that were never made.
//
// A copy of the graph lacks them, and is planned as the exec was. A write that was never made still
// reads, unless it is declared to only write.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/error.h"
#include "graph/regions.h"
#include "plan/schedule.h"

#define NOT_MADE UINT32_MAX // as a mode

// Shares all but these arrays with the graph.
struct lean {
    braid_graph graph;
    struct graph_node *nodes;
    struct graph_access *accesses;
    uint32_t *unchecked;
    uint8_t *marks; // by resource
};

// Arguments may point to buffers that their kernels no longer access.
static bool begin(const braid_graph *graph, struct lean *lean)
{
    braid_graph *own = &lean->graph;
    *lean = (struct lean){ .graph = *graph };
    lean->nodes = braid_allocate_zeroed(graph->nodes.num, sizeof(*lean->nodes));
    lean->accesses = braid_allocate_zeroed(graph->accesses.num, sizeof(*lean->accesses));
    lean->unchecked = braid_allocate_zeroed(graph->arg_sizes.num, sizeof(*lean->unchecked));
    lean->marks = braid_allocate_zeroed(graph->resources.num, 1);
    if (!lean->nodes || !lean->accesses || !lean->unchecked || !lean->marks)
        return false;
    memcpy(lean->nodes, graph->nodes.items, graph->nodes.num * sizeof(*lean->nodes));
    memcpy(lean->accesses, graph->accesses.items, graph->accesses.num * sizeof(*lean->accesses));
    for (uint32_t i = 0; i < graph->arg_sizes.num; i++)
        lean->unchecked[i] = i;
    own->nodes.items = lean->nodes;
    own->accesses.items = lean->accesses;
    own->unchecked = (struct array){ .items = lean->unchecked, .num = graph->arg_sizes.num };
    return true;
}

static void finish(struct lean *lean)
{
    free(lean->nodes);
    free(lean->accesses);
    free(lean->unchecked);
    free(lean->marks);
}

static void take_away(struct lean *lean, const struct audit_finding *finding)
{
    const bool reads = finding->kind == BRAID_AUDIT_NEVER_READS;
    if (!reads && finding->kind != BRAID_AUDIT_NEVER_WRITES)
        return;
    const struct graph_node *node = &lean->nodes[finding->node];
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        struct graph_access *access = &lean->accesses[node->first_access + i];
        if (access->resource == finding->resource && (access->mode == BRAID_READ) == reads)
            access->mode = reads || access->mode == BRAID_WRITE ? NOT_MADE : BRAID_READ;
    }
}

enum { MARK_READS = 1, MARK_WRITES = 2 };

static void mark(struct lean *lean, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        const struct graph_access *accesses = &lean->accesses[lean->nodes[i].first_access];
        for (uint32_t k = 0; k < lean->nodes[i].num_accesses; k++) {
            if (accesses[k].mode != NOT_MADE)
                lean->marks[accesses[k].resource] |=
                    accesses[k].mode == BRAID_READ ? MARK_READS : MARK_WRITES;
        }
    }
}

// From outside, a region makes the accesses of its nodes and of its condition.
static void take_from_region(struct lean *lean, uint32_t index)
{
    const struct graph_region *regions = graph_regions(&lean->graph), *region = &regions[index];
    const struct graph_node *node = &lean->nodes[region->node];
    if (graph_region_is_else(region) || !node->num_accesses)
        return;
    const uint32_t other = braid_graph_region_else(&lean->graph, index);
    const struct graph_region *last = other == GRAPH_NONE ? region : &regions[other];
    mark(lean, region->first, last->first + last->num);
    if (region->condition != GRAPH_NONE)
        lean->marks[region->condition] |= MARK_READS;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        struct graph_access *access = &lean->accesses[node->first_access + i];
        uint8_t *made = &lean->marks[access->resource];
        if (!(*made & MARK_WRITES))
            access->mode = *made ? BRAID_READ : NOT_MADE;
        *made = 0;
    }
}

static void close_gaps(struct lean *lean)
{
    for (size_t i = 0; i < lean->graph.nodes.num; i++) {
        struct graph_node *node = &lean->nodes[i];
        struct graph_access *accesses = &lean->accesses[node->first_access];
        uint32_t num = 0;
        for (uint32_t k = 0; k < node->num_accesses; k++) {
            if (accesses[k].mode != NOT_MADE)
                accesses[num++] = accesses[k];
        }
        node->num_accesses = num;
    }
}

static uint64_t count(const struct program *program)
{
    uint64_t num = 0;
    for (size_t i = 0; i < program->num_ops; i++)
        num += program->ops[i].kind == BRAID_STEP_WAIT;
    for (uint32_t i = 0; i < program->num_bodies; i++)
        num += count(&program->bodies[i]);
    return num;
}

static braid_status plan_lean(const braid_exec *exec, const struct audit_findings *findings,
                              struct lean *lean, uint64_t *out_num)
{
    const struct audit_finding *items = findings->items.items;
    braid_schedule_options plan = { 0 };
    braid_schedule *schedule = NULL;
    if (!begin(exec->culled.graph, lean))
        return braid_error_no_memory("an audit");
    for (size_t i = 0; i < findings->items.num; i++)
        take_away(lean, &items[i]);
    for (uint32_t i = 0; i < lean->graph.regions.num; i++) // inner ones first
        take_from_region(lean, i);
    close_gaps(lean);
    braid_exec_get_cost_model(exec, &plan.costs);
    plan.costs.island_call_ns = 0; // as the exec, which has no islands
    braid_status status = braid_schedule_create(&lean->graph, &plan, &schedule);
    if (!status)
        *out_num = count(&schedule->program);
    braid_schedule_destroy(schedule);
    return status;
}

static bool has_such_accesses(const struct audit_findings *findings)
{
    const struct audit_finding *items = findings->items.items;
    for (size_t i = 0; i < findings->items.num; i++) {
        if (items[i].kind == BRAID_AUDIT_NEVER_READS || items[i].kind == BRAID_AUDIT_NEVER_WRITES)
            return true;
    }
    return false;
}

// A graph on several devices has copies that follow from its accesses, and is left alone.
braid_status braid_audit_waits_count(const braid_exec *exec, const struct audit_findings *findings,
                                     struct audit_waits *out_waits)
{
    struct lean lean;
    *out_waits = (struct audit_waits){ 0 };
    if (exec->placed || !has_such_accesses(findings))
        return BRAID_OK;
    out_waits->num = out_waits->num_left = count(&exec->schedule->program);
    if (!out_waits->num)
        return BRAID_OK;
    braid_status status = plan_lean(exec, findings, &lean, &out_waits->num_left);
    finish(&lean);
    return status;
}

void braid_audit_waits_report(const struct audit_waits *waits, const braid_audit_options *options)
{
    char text[160];
    const braid_audit_finding finding = { .kind = BRAID_AUDIT_SPARE_WAITS,
                                          .num = waits->num - waits->num_left,
                                          .text = text };
    if (!audit_waits_are_fewer(waits) || !options || !options->report)
        return;
    snprintf(text, sizeof(text),
             "the plan loses %llu of its %llu wait%s without the declared accesses that were never "
             "made",
             (unsigned long long)finding.num, (unsigned long long)waits->num,
             waits->num == 1 ? "" : "s");
    options->report(options->user, &finding);
}
