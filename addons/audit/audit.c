// SPDX-License-Identifier: Apache-2.0
// Runs a frame, node by node, and reports accesses that are not declared. Counts the waits that the
// plan loses without declared accesses that were never made.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/audit_orders.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"
#include "base/sized.h"
#include "exec/exec_memory.h"
#include "graph/code.h"
#include "graph/regions.h"
#include "plan/schedule.h"

static braid_status run_node(void *context, uint32_t node)
{
    struct auditing *auditing = context;
    const struct backend_task *task = audit_task_of(&auditing->reach, node);
    if (task->kind != WORK_QUEUE || auditing->way->sees_queue_calls)
        return auditing->way->run_node(auditing, node, task);
    if (auditing->way->pause)
        auditing->way->pause(auditing);
    braid_status status = braid_audit_reach_run(&auditing->reach, task);
    return status ? status
                  : braid_audit_findings_add_unseen(&auditing->findings, node, GRAPH_NONE,
                                                    "the work of its call is not seen");
}

// Whether this thread audits: it would wait for the end of its own audit.
static _Thread_local bool is_auditing;

// State of the process, since a fork is.
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int refusal; // by the system; constant after once

static void leave_parents(void)
{
    braid_audit_leave_parents(is_auditing);
}

static void watch(void)
{
    refusal = pthread_atfork(NULL, NULL, leave_parents);
}

static braid_status watch_forks(void)
{
    pthread_once(&once, watch);
    return refusal ? braid_error_no_memory("the handler of forks") : BRAID_OK;
}

static braid_status judge_frame(struct auditing *auditing)
{
    struct error_attempt attempt;
    braid_exec *exec = auditing->exec;
    braid_status status = braid_exec_update(exec, &exec->frames.slots[0], 0, 0);
    if (!status)
        status = auditing->way->start(auditing);
    if (status)
        return status;
    status = braid_audit_walk(
        &(struct audit_walk){ .reach = &auditing->reach, .run = run_node, .context = auditing });
    if (!auditing->way->stop)
        return status;
    braid_error_begin_attempt(&attempt);
    braid_status stopped = auditing->way->stop(auditing);
    braid_error_end_attempt(&attempt, status ? BRAID_OK : stopped);
    return status ? status : stopped;
}

// The frame that is judged runs last, so that its results stay. Transient buffers that shared
// memory would have accesses of each other, and more orders than the graph's.
static braid_status run_frames(struct auditing *auditing, const braid_audit_options *options)
{
    braid_status status = braid_exec_part_memory(auditing->exec, auditing->exec->culled.graph);
    if (!status)
        status = watch_forks();
    if (!status)
        status = braid_audit_reach_open(auditing->exec, &auditing->reach);
    braid_audit_lock(auditing->way == &braid_audit_way_by_pages);
    is_auditing = true;
    if (!status && options && options->orders)
        status = braid_audit_orders(&auditing->reach, &auditing->orders);
    if (!status)
        status = judge_frame(auditing);
    is_auditing = false;
    braid_audit_unlock();
    return status;
}

// ---- waits that the plan loses without declared accesses that were never made ----
//
// A copy of the graph lacks them, and is planned as the exec was. A write that was never made still
// reads, unless it is declared to only write.

struct waits {
    uint64_t num, num_left; // the waits of the exec's plan, and without such accesses
};

static bool waits_are_fewer(const struct waits *waits)
{
    return waits->num_left < waits->num;
}

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
static bool begin_lean(const braid_graph *graph, struct lean *lean)
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

static void finish_lean(struct lean *lean)
{
    braid_free(lean->nodes);
    braid_free(lean->accesses);
    braid_free(lean->unchecked);
    braid_free(lean->marks);
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

static void mark_accesses(struct lean *lean, uint32_t first, uint32_t end)
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
    mark_accesses(lean, region->first, last->first + last->num);
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

static uint64_t count_waits(const struct program *program)
{
    uint64_t num = 0;
    for (size_t i = 0; i < program->num_ops; i++)
        num += program->ops[i].kind == BRAID_STEP_WAIT;
    for (uint32_t i = 0; i < program->num_bodies; i++)
        num += count_waits(&program->bodies[i]);
    return num;
}

static braid_status plan_lean(const braid_exec *exec, const struct audit_findings *findings,
                              struct lean *lean, uint64_t *out_num)
{
    const struct audit_finding *items = findings->items.items;
    struct plan_options plan = { 0 };
    braid_schedule *schedule = NULL;
    if (!begin_lean(exec->culled.graph, lean))
        return braid_error_no_memory("an audit");
    for (size_t i = 0; i < findings->items.num; i++)
        take_away(lean, &items[i]);
    for (uint32_t i = 0; i < lean->graph.regions.num; i++) // inner ones first
        take_from_region(lean, i);
    close_gaps(lean);
    braid_exec_get_cost_model(exec, &plan.costs);
    plan.costs.island_call_ns = 0; // as the exec, which has no islands
    braid_status status = braid_schedule_plan(&lean->graph, &plan, &schedule);
    if (!status)
        *out_num = count_waits(&schedule->program);
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

// Plans the graph again if it has such accesses. A graph on several devices has copies that follow
// from its accesses, and is left alone. Errors: those of braid_schedule_create.
static braid_status find_waits(const braid_exec *exec, const struct audit_findings *findings,
                               struct waits *out_waits)
{
    struct lean lean;
    *out_waits = (struct waits){ 0 };
    if (exec->placed || !has_such_accesses(findings))
        return BRAID_OK;
    out_waits->num = out_waits->num_left = count_waits(&exec->schedule->program);
    if (!out_waits->num)
        return BRAID_OK;
    braid_status status = plan_lean(exec, findings, &lean, &out_waits->num_left);
    finish_lean(&lean);
    return status;
}

static void report_waits(const struct waits *waits, const braid_audit_options *options)
{
    char text[160];
    const braid_audit_finding finding = { .kind = BRAID_AUDIT_SPARE_WAITS,
                                          .num = waits->num - waits->num_left,
                                          .text = text };
    if (!waits_are_fewer(waits) || !options || !options->report)
        return;
    snprintf(text, sizeof(text),
             "the plan loses %llu of its %llu wait%s without the declared accesses that were never "
             "made",
             (unsigned long long)finding.num, (unsigned long long)waits->num,
             waits->num == 1 ? "" : "s");
    PLAIN_MEMORY;
    options->report(&finding, options->user);
}

// ---- the report ----

// A frame that fails has findings up to there. Accesses may come behind it.
static braid_status report(struct auditing *auditing, const braid_audit_options *options,
                           braid_status status, size_t *out_num)
{
    struct error_attempt attempt;
    struct waits waits = { 0 };
    braid_error_begin_attempt(&attempt);
    braid_status ended = braid_audit_findings_end(&auditing->findings,
                                                  status ? NULL : auditing->memory, auditing->exec);
    if (!status && !ended)
        ended = find_waits(auditing->exec, &auditing->findings, &waits);
    braid_audit_findings_report(&auditing->findings, options);
    braid_audit_orders_report(auditing->findings.graph, &auditing->orders, options);
    report_waits(&waits, options);
    *out_num = auditing->findings.items.num + auditing->orders.num + waits_are_fewer(&waits);
    braid_error_end_attempt(&attempt, status ? BRAID_OK : ended);
    return status ? status : ended;
}

static const struct audit_way *find_way(const struct backend *backend)
{
    return backend->ops->run_here                          ? &braid_audit_way_by_pages
           : backend->ops->kernel_changes & KERNEL_CHANGED ? &braid_audit_way_by_kernels
                                                           : &braid_audit_way_by_contents;
}

static braid_status check(const braid_device *device, const braid_graph *graph,
                          const size_t *out_num_findings)
{
    static const char function[] = "braid_graph_audit";
    if (!device || !graph || !out_num_findings)
        return braid_error_null(function, !device  ? "device"
                                          : !graph ? "graph"
                                                   : "out_num_findings");
    braid_status status = braid_inside_check(function, NULL);
    if (!status && is_auditing)
        status = braid_error(BRAID_WRONG_STATE, "%s: called inside an audit", function);
    if (!status)
        status = braid_device_check(function, device);
    if (!status && graph->ranks)
        status = braid_error(BRAID_UNSUPPORTED, "%s: a graph with communicators needs other ranks",
                             function);
    return status;
}

// The CPU loads no code for a GPU. So a compiler makes the PTX of sources, for which it needs no
// device. Without one these kernels are not compared, and explanations of plans tell why.
static braid_status create_exec(const braid_graph *graph, braid_device *device,
                                braid_exec **out_exec)
{
    const braid_exec_options alone = { .islands = BRAID_ISLANDS_NEVER };
    struct text_finder finder;
    braid_text_finder_make(&finder);
    braid_status status =
        device->backend->ops->run_here ? graph_check_code(graph, &finder) : BRAID_OK;
    return status ? status : braid_exec_create(device, graph, &alone, out_exec);
}

static braid_status audit_graph(const braid_graph *graph, braid_device *device,
                                const braid_audit_options *options, size_t *out_num_findings)
{
    DEVICE_MEMORY(device);
    braid_status status = check(device, graph, out_num_findings);
    if (status)
        return status;
    size_t num = 0;
    struct auditing auditing = { .way = find_way(device->backend), .findings.graph = graph };
    status = braid_audit_findings_begin(&auditing.findings);
    if (!status)
        status = create_exec(graph, device, &auditing.exec);
    if (!status)
        status = run_frames(&auditing, options);
    status = report(&auditing, options, status, &num);
    if (!status) {
        *out_num_findings = num;
        status = braid_exec_tell_traps(auditing.exec, BRAID_LAST_FRAME);
    }
    auditing.way->destroy(&auditing);
    braid_audit_reach_close(&auditing.reach);
    braid_exec_destroy(auditing.exec);
    braid_audit_findings_finish(&auditing.findings);
    braid_array_finish(&auditing.orders);
    return status;
}

braid_status braid_graph_audit_sized(const braid_graph *graph, braid_device *device,
                                     const braid_audit_options *options, size_t *out_num_findings,
                                     size_t size)
{
    braid_audit_options own;
    braid_status status =
        braid_sized_take("braid_graph_audit: options", options, size, &own, sizeof(own));
    return status ? status : audit_graph(graph, device, &own, out_num_findings);
}
