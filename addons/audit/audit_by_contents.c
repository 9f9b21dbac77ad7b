// SPDX-License-Identifier: Apache-2.0
// Audits on devices whose kernels cannot tell of their accesses: buffers are compared before and
// behind each node. So only writes are seen, and only those that change something.
#include <string.h>

#include "audit/audit.h"
#include "audit/audit_state.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"

struct by_contents {
    struct audit_memory memory;
    void *block;              // that of `memory`
    struct audit_state state; // AUDIT_START: before the node at hand
};

static bool declares(const struct audit_memory *memory, const struct graph_node *node,
                     uintptr_t address)
{
    const struct audit_access *accesses = memory->accesses + node->first_access;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        if (accesses[i].may_write && accesses[i].begin <= address && address < accesses[i].end)
            return true;
    }
    return false;
}

static void count(struct audit_buffer *buffer, uintptr_t address)
{
    struct audit_count *count = &buffer->counts[true];
    if (!count->num)
        *count = (struct audit_count){ 1, address, address };
    if (address < count->lowest)
        count->lowest = address;
    if (address > count->highest)
        count->highest = address;
}

struct judging {
    struct by_contents *way;
    const struct graph_node *node;
};

static braid_status judge(const struct audit_state *state, const struct audit_piece *piece,
                          void *context)
{
    const struct judging *judging = context;
    const struct audit_memory *memory = &judging->way->memory;
    struct audit_buffer *buffer = NULL;
    (void)state;
    if (!memcmp(piece->now, piece->kept, piece->bytes))
        return BRAID_OK;
    for (uint64_t i = 0; i < piece->bytes; i++) {
        const uintptr_t address = (uintptr_t)piece->memory + i;
        if (piece->now[i] == piece->kept[i] || declares(memory, judging->node, address))
            continue;
        if (!buffer || address < buffer->begin || address >= buffer->end)
            buffer = braid_audit_find_buffer(memory, address);
        if (buffer)
            count(buffer, address);
    }
    memcpy(piece->kept, piece->now, piece->bytes);
    return BRAID_OK;
}

static braid_status take(struct auditing *auditing, uint32_t node)
{
    const struct by_contents *way = auditing->own;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < way->memory.num_buffers && !status; i++)
        status = braid_audit_findings_take(&auditing->findings, node, &way->memory.buffers[i]);
    return status;
}

static braid_status run_node(struct auditing *auditing, uint32_t node,
                             const struct backend_task *task)
{
    struct by_contents *way = auditing->own;
    struct judging judging = { way, &graph_nodes(auditing->findings.graph)[node] };
    braid_status status = braid_audit_reach_run(&auditing->reach, task);
    if (!status)
        status = braid_audit_state_visit(&way->state, AUDIT_START, judge, &judging);
    return status ? status : take(auditing, node);
}

static braid_status start(struct auditing *auditing)
{
    const braid_graph *graph = auditing->findings.graph;
    struct by_contents *way = braid_allocate_zeroed(1, sizeof(*way));
    if (!way)
        return braid_error_no_memory("an audit");
    auditing->own = way;
    auditing->memory = &way->memory;
    braid_status status =
        braid_audit_memory_create(graph, auditing->exec, &way->memory, &way->block);
    if (!status)
        status = braid_audit_state_create(graph, &auditing->reach, AUDIT_START, &way->state);
    return status ? status
                  : braid_audit_findings_add_unseen(
                        &auditing->findings, GRAPH_NONE, GRAPH_NONE,
                        "reads are not seen here, nor are writes that change nothing");
}

static void destroy(struct auditing *auditing)
{
    struct by_contents *way = auditing->own;
    if (!way)
        return;
    braid_audit_state_finish(&way->state);
    braid_free(way->block);
    braid_free(way);
}

const struct audit_way braid_audit_way_by_contents = {
    .start = start,
    .run_node = run_node,
    .sees_queue_calls = true,
    .destroy = destroy,
};
