// SPDX-License-Identifier: Apache-2.0
// Audits on the CPU: each node runs on the calling thread, and its accesses fault.
#include "audit/audit_by_pages.h"

#include <sys/mman.h>

#include "base/array.h"
#include "base/error.h"

// At most one buffer for a resource. Its pages are counted also if its memory is not known: the
// system gives memory only where something is written.
static size_t lay_out(struct audit *audit, unsigned char *block, const braid_graph *graph)
{
    size_t num = braid_audit_most_buffers(graph), num_pages = 2 * num, used = 0;
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        const struct graph_resource *resource = graph_resource_at(graph, i);
        num_pages += (1 + resource->num_versions) * (resource->bytes / AUDIT_PAGE);
    }
    braid_audit_carve(block, &used, 1, sizeof(*audit));
    braid_audit_memory_lay_out(&audit->memory, block, &used, graph);
    audit->noted = braid_audit_carve(block, &used, num, sizeof(*audit->noted));
    audit->pages.spans = braid_audit_carve(block, &used, num, sizeof(*audit->pages.spans));
    audit->pages.own = braid_audit_carve(block, &used, num_pages, 1);
    audit->pages.now = braid_audit_carve(block, &used, num_pages, 1);
    audit->users = braid_audit_carve(block, &used, num_pages, sizeof(*audit->users));
    return used;
}

// Why accesses to these bytes may be unseen; NULL: all are seen.
static const char *find_reason(const struct audit_pages *pages, uintptr_t begin, uintptr_t end)
{
    const size_t last = braid_audit_page_at(pages, end - 1);
    const char *reason = NULL;
    for (size_t page = braid_audit_page_at(pages, begin); page <= last; page++) {
        if (!pages->own[page])
            return "it has pages that only allow to read, or with data or the stack of a thread";
        if (pages->own[page] & AUDIT_SHARED)
            reason = "it has memory that files, other processes or addresses may share";
    }
    return reason;
}

// Accesses that may be unseen count as made.
static braid_status tell_unseen(struct auditing *auditing, struct audit *audit)
{
    struct audit_memory *memory = &audit->memory;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < memory->num_accesses; i++) {
        struct audit_access *access = &memory->accesses[i];
        if (access->begin && find_reason(&audit->pages, access->begin, access->end))
            access->was_read = access->was_written = true;
    }
    for (size_t i = 0; i < memory->num_buffers && !status; i++) {
        const struct audit_buffer *buffer = &memory->buffers[i];
        const char *reason = find_reason(&audit->pages, buffer->begin, buffer->end);
        if (reason)
            status = braid_audit_findings_add_unseen(&auditing->findings, GRAPH_NONE,
                                                     buffer->resource, reason);
    }
    return status;
}

// ---- begin and end ----

// While all pages are open.
static braid_status read_pages(struct auditing *auditing, struct audit *audit)
{
    braid_status status = braid_audit_pages_read(&audit->pages);
    if (!status)
        status = braid_audit_leave_stacks(&audit->pages);
    return status ? status : tell_unseen(auditing, audit);
}

static braid_status fill(struct audit *audit, struct auditing *auditing)
{
    struct audit_memory *memory = &audit->memory;
    braid_audit_memory_fill(memory, auditing->findings.graph, auditing->exec);
    for (size_t i = 0; i < memory->num_buffers; i++)
        braid_audit_pages_add(&audit->pages, memory->buffers[i].begin, memory->buffers[i].end);
    return read_pages(auditing, audit);
}

// NULL: the system has no memory.
static void *map(size_t bytes, int flags)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE | flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

// Where the system clears no page in a child, the child's faults are judged as a thread's.
static braid_status know_children(struct audit *audit)
{
    atomic_int *is_parent = map(AUDIT_PAGE, 0);
    audit->is_parent = is_parent;
    if (!is_parent)
        return braid_error_no_memory("an audit");
    *is_parent = 1;
    madvise(is_parent, AUDIT_PAGE, MADV_WIPEONFORK);
    return BRAID_OK;
}

// The device's own threads sleep before a node begins. Else they would count as threads that use
// pages of its buffers.
static braid_status sleep_threads(const struct auditing *auditing)
{
    static const struct backend_task nothing = { .kind = WORK_EMPTY, .disabled = true };
    return braid_audit_reach_run(&auditing->reach, &nothing);
}

static braid_status start(struct auditing *auditing)
{
    const braid_graph *graph = auditing->findings.graph;
    struct audit counted = { 0 };
    size_t bytes = lay_out(&counted, NULL, graph);
    void *block = map(bytes, MAP_NORESERVE);
    if (!block)
        return braid_error_no_memory("an audit");
    struct audit *audit = auditing->own = block;
    auditing->memory = &audit->memory;
    audit->bytes = bytes;
    lay_out(audit, block, graph);
    braid_status status = know_children(audit);
    if (!status)
        status = fill(audit, auditing);
    if (!status)
        status = sleep_threads(auditing);
    audit->others = braid_audit_note_others();
    if (!status)
        status = braid_audit_start(audit);
    if (status || audit->sees_calls)
        return status;
    status = braid_audit_findings_add_unseen(&auditing->findings, GRAPH_NONE, GRAPH_NONE,
                                             "system calls that use memory of buffers are not "
                                             "seen here, and fail, nor are all accesses of "
                                             "threads that nodes start");
    if (status)
        braid_audit_stop(audit);
    return status;
}

static braid_status take(struct auditing *auditing, uint32_t node)
{
    struct audit *audit = auditing->own;
    braid_status status = BRAID_OK;
    auditing->findings.has_run[node] = true;
    for (uint32_t i = 0; i < audit->num_noted; i++) {
        struct audit_buffer *buffer = &audit->memory.buffers[audit->noted[i]];
        if (!status)
            status = braid_audit_findings_take(&auditing->findings, node, buffer);
        buffer->is_noted = false;
    }
    audit->num_noted = 0;
    if (!status && audit->unseen)
        status =
            braid_audit_findings_add_unseen(&auditing->findings, node, GRAPH_NONE, audit->unseen);
    return status;
}

// A node that was given up may have set the rights of pages, which it keeps from then on.
static braid_status run_node(struct auditing *auditing, uint32_t node,
                             const struct backend_task *task)
{
    braid_status status = sleep_threads(auditing);
    if (status)
        return status;
    braid_audit_begin_node(auditing->own, &graph_nodes(auditing->findings.graph)[node]);
    status = braid_audit_reach_run(&auditing->reach, task);
    const braid_status found =
        braid_audit_end_node(auditing->own) ? read_pages(auditing, auditing->own) : BRAID_OK;
    if (!status)
        status = found;
    return status ? status : take(auditing, node);
}

static void pause_judging(struct auditing *auditing)
{
    braid_audit_pause(auditing->own);
}

static braid_status stop(struct auditing *auditing)
{
    struct audit *audit = auditing->own;
    braid_status status = BRAID_OK;
    braid_audit_stop(audit);
    if (audit->makes_threads || braid_audit_others_ran(audit->others))
        status = braid_audit_findings_add_unseen(&auditing->findings, GRAPH_NONE, GRAPH_NONE,
                                                 "other threads run meanwhile: their system calls "
                                                 "fail at memory of buffers, and their accesses to "
                                                 "pages that are open for nodes are not seen");
    return status;
}

static void destroy(struct auditing *auditing)
{
    struct audit *audit = auditing->own;
    if (!audit)
        return;
    if (audit->is_parent)
        munmap((void *)(uintptr_t)audit->is_parent, AUDIT_PAGE);
    munmap(audit, audit->bytes);
}

const struct audit_way braid_audit_way_by_pages = {
    .start = start,
    .run_node = run_node,
    .pause = pause_judging,
    .stop = stop,
    .destroy = destroy,
};
