// SPDX-License-Identifier: Apache-2.0
// Audits on the CPU: each node runs on the calling thread, and its accesses fault.
#include "exec/audit_by_pages.h"

#include <sys/mman.h>

#include "base/error.h"

// At most one buffer for a resource. Its pages are counted also if its memory is not known: the
// system gives memory only where something is written.
static size_t place(struct audit *audit, unsigned char *block, const braid_graph *graph)
{
    size_t num = braid_audit_most_buffers(graph), num_pages = 2 * num, used = 0;
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        const struct graph_resource *resource = graph_resource_at(graph, i);
        num_pages += (1 + resource->num_versions) * (resource->bytes / AUDIT_PAGE);
    }
    braid_audit_carve(block, &used, 1, sizeof(*audit));
    braid_audit_memory_place(&audit->memory, block, &used, graph);
    audit->noted = braid_audit_carve(block, &used, num, sizeof(*audit->noted));
    audit->pages.spans = braid_audit_carve(block, &used, num, sizeof(*audit->pages.spans));
    audit->pages.own = braid_audit_carve(block, &used, num_pages, 1);
    audit->pages.now = braid_audit_carve(block, &used, num_pages, 1);
    return used;
}

// Whether some of these bytes are in pages that are left alone.
static bool is_unseen(const struct audit_pages *pages, uintptr_t begin, uintptr_t end)
{
    size_t page = braid_audit_page_at(pages, begin);
    size_t last = braid_audit_page_at(pages, end - 1);
    while (page < last && pages->own[page])
        page++;
    return !pages->own[page];
}

static braid_status fill(struct audit *audit, const struct auditing *auditing)
{
    struct audit_memory *memory = &audit->memory;
    braid_audit_memory_fill(memory, auditing->findings.graph, auditing->exec);
    for (size_t i = 0; i < memory->num_buffers; i++)
        braid_audit_pages_add(&audit->pages, memory->buffers[i].begin, memory->buffers[i].end);
    braid_status status = braid_audit_pages_read(&audit->pages);
    for (size_t i = 0; i < memory->num_accesses && !status; i++) {
        struct audit_access *access = &memory->accesses[i];
        if (access->begin && is_unseen(&audit->pages, access->begin, access->end))
            access->was_read = access->was_written = true;
    }
    return status;
}

static braid_status start(struct auditing *auditing)
{
    const braid_graph *graph = auditing->findings.graph;
    struct audit counted = { 0 };
    size_t bytes = place(&counted, NULL, graph);
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED)
        return braid_error_no_memory("an audit");
    struct audit *audit = auditing->own = block;
    auditing->memory = &audit->memory;
    audit->bytes = bytes;
    place(audit, block, graph);
    braid_status status = fill(audit, auditing);
    return status ? status : braid_audit_start(audit);
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
    if (!status && audit->is_unseen)
        status = braid_audit_findings_add_unseen(
            &auditing->findings, node,
            "behind its first accesses, the system refuses to open single pages of its buffers");
    return status;
}

static braid_status run_node(struct auditing *auditing, uint32_t node,
                             const struct backend_task *task)
{
    braid_audit_begin_node(auditing->own, &graph_nodes(auditing->findings.graph)[node]);
    braid_status status = braid_audit_reach_run(&auditing->reach, task);
    braid_audit_end_node(auditing->own);
    return status ? status : take(auditing, node);
}

static void pause_judging(struct auditing *auditing)
{
    braid_audit_pause(auditing->own);
}

static braid_status stop(struct auditing *auditing)
{
    braid_audit_stop(auditing->own);
    return BRAID_OK;
}

static void destroy(struct auditing *auditing)
{
    struct audit *audit = auditing->own;
    if (audit)
        munmap(audit, audit->bytes);
}

const struct audit_way braid_audit_way_by_pages = {
    .start = start,
    .run_node = run_node,
    .pause = pause_judging,
    .stop = stop,
    .destroy = destroy,
};
