// SPDX-License-Identifier: Apache-2.0
// Runs a frame, node by node, and reports accesses that are not declared.
#include <stdlib.h>

#include "audit/audit.h"
#include "audit/audit_orders.h"
#include "audit/audit_walk.h"
#include "base/array.h"
#include "base/error.h"
#include "base/inside.h"
#include "exec/exec_memory.h"

static braid_status run_node(void *context, uint32_t node)
{
    struct auditing *auditing = context;
    const struct backend_task *task = &auditing->exec->frames.slots[0].frame.tasks[node];
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

// A frame that fails has findings up to there. Accesses may come behind it.
static braid_status report(struct auditing *auditing, const braid_audit_options *options,
                           braid_status status, size_t *out_num)
{
    struct error_attempt attempt;
    struct audit_waits waits = { 0 };
    braid_error_begin_attempt(&attempt);
    braid_status ended =
        braid_audit_findings_end(&auditing->findings, status ? NULL : auditing->memory);
    if (!status && !ended)
        ended = braid_audit_waits_count(auditing->exec, &auditing->findings, &waits);
    braid_audit_findings_report(&auditing->findings, options);
    braid_audit_orders_report(auditing->findings.graph, &auditing->orders, options);
    braid_audit_waits_report(&waits, options);
    *out_num = auditing->findings.items.num + auditing->orders.num + audit_waits_are_fewer(&waits);
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
    static const char function[] = "braid_exec_audit";
    if (!device || !graph || !out_num_findings)
        return braid_error_null(function, !device  ? "device"
                                          : !graph ? "graph"
                                                   : "out_num_findings");
    braid_status status = braid_inside_check(function, NULL);
    if (!status && is_auditing)
        status = braid_error_invalid("%s: called inside an audit", function);
    if (!status)
        status = braid_device_check(function, device);
    if (!status && graph->ranks)
        status = braid_error(BRAID_UNSUPPORTED, "%s: a graph with communicators needs other ranks",
                             function);
    return status;
}

braid_status braid_exec_audit(braid_device *device, const braid_graph *graph,
                              const braid_audit_options *options, size_t *out_num_findings)
{
    braid_status status = check(device, graph, out_num_findings);
    if (status)
        return status;
    size_t num = 0;
    struct auditing auditing = { .way = find_way(device->backend), .findings.graph = graph };
    const braid_exec_options alone = { .islands = BRAID_ISLANDS_NEVER };
    auditing.findings.has_run = braid_allocate_zeroed(graph_num_nodes(graph), sizeof(bool));
    if (!auditing.findings.has_run)
        return braid_error_no_memory("an audit");
    status = braid_exec_create(device, graph, &alone, &auditing.exec);
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
    free(auditing.findings.has_run);
    return status;
}
