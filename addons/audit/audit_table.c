// SPDX-License-Identifier: Apache-2.0
// Tables of segments for audited kernels, and the findings that these leave there.
#include <stdlib.h>

#include "audit/audit.h"

static const struct audit_access *find_accesses(const struct audit_memory *memory,
                                                const struct graph_node *node)
{
    return memory->accesses + node->first_access;
}

static int compare(const void *a, const void *b)
{
    uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
    return left < right ? -1 : left > right;
}

// The addresses at which accesses begin or end.
static size_t list_borders(const struct audit_memory *memory, const struct graph_node *node,
                           uintptr_t *borders)
{
    const struct audit_access *accesses = find_accesses(memory, node);
    size_t num = 0;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        borders[num++] = accesses[i].begin;
        borders[num++] = accesses[i].end;
    }
    if (num)
        qsort(borders, num, sizeof(*borders), compare);
    return num;
}

static bool overlaps(const struct audit_access *access, const struct audit_segment *segment)
{
    return access->begin < segment->end && segment->begin < access->end;
}

// A bit for each act; 0: no access has the memory between two borders.
static uint32_t find_allowed(const struct audit_memory *memory, const struct graph_node *node,
                             uintptr_t begin, uintptr_t end)
{
    enum { READS = 1 << PTX_READS, ALL = (1 << PTX_NUM_ACTS) - 1 };
    const struct audit_access *accesses = find_accesses(memory, node);
    const struct audit_segment segment = { .begin = begin, .end = end };
    uint32_t allowed = 0;
    for (uint32_t i = 0; begin < end && i < node->num_accesses; i++) {
        if (overlaps(&accesses[i], &segment))
            allowed |= accesses[i].may_write ? ALL : READS;
    }
    return allowed;
}

static void add_segment(struct audit_table *table, size_t *num, struct audit_segment segment)
{
    for (int act = 0; act < PTX_NUM_ACTS; act++)
        segment.tallies[act] = (struct audit_tally){ .lowest = UINT64_MAX, .line = AUDIT_NO_LINE };
    if (table)
        table->segments[*num] = segment;
    ++*num;
}

static size_t end_table(struct audit_table *table, size_t num)
{
    const struct audit_segment last = { .begin = UINT64_MAX, .end = UINT64_MAX };
    if (!table)
        return num;
    *table = (struct audit_table){ .num = num };
    table->segments[num] = last;
    return num;
}

size_t braid_audit_table_write(const struct audit_memory *memory, const struct graph_node *node,
                               uintptr_t *room, struct audit_table *table)
{
    size_t num = 0, num_borders = list_borders(memory, node, room);
    for (size_t i = 1; i < num_borders; i++) {
        const uintptr_t begin = room[i - 1], end = room[i];
        const uint32_t allowed = find_allowed(memory, node, begin, end);
        if (allowed)
            add_segment(table, &num,
                        (struct audit_segment){ .begin = begin, .end = end, .allowed = allowed });
    }
    return end_table(table, num);
}

size_t braid_audit_table_write_all(const struct audit_memory *memory, struct audit_table *table)
{
    size_t num = 0;
    for (size_t i = 0; i < memory->num_buffers; i++)
        add_segment(table, &num,
                    (struct audit_segment){ .begin = memory->buffers[i].begin,
                                            .end = memory->buffers[i].end });
    return end_table(table, num);
}

// Declared accesses that were made, also in another way.
static void note_made(const struct audit_memory *memory, const struct graph_node *node,
                      const struct audit_segment *segment)
{
    struct audit_access *accesses = memory->accesses + node->first_access;
    bool was_written = segment->seen[PTX_WRITES] || segment->seen[PTX_UPDATES];
    bool was_touched = false;
    for (int act = 0; act < PTX_NUM_ACTS; act++)
        was_touched |= segment->seen[act] || segment->tallies[act].num != 0;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        if (!overlaps(&accesses[i], segment))
            continue;
        accesses[i].was_read |= was_touched;
        accesses[i].was_written |= was_written && accesses[i].may_write;
    }
}

static braid_status take_tallies(const struct audit_memory *memory, uint32_t node,
                                 const struct audit_segment *segment,
                                 struct audit_findings *findings)
{
    static const braid_audit_kind kinds[] = { [PTX_READS] = BRAID_AUDIT_READS,
                                              [PTX_WRITES] = BRAID_AUDIT_WRITES,
                                              [PTX_UPDATES] = BRAID_AUDIT_UPDATES };
    braid_status status = BRAID_OK;
    for (int act = 0; act < PTX_NUM_ACTS && !status; act++) {
        const struct audit_tally *tally = &segment->tallies[act];
        const struct audit_buffer *buffer =
            tally->num ? braid_audit_find_buffer(memory, segment->begin) : NULL;
        if (!buffer)
            continue;
        const struct audit_finding finding = {
            .kind = kinds[act],
            .node = node,
            .resource = buffer->resource,
            .begin = buffer->begin,
            .line = tally->line,
            .count = { tally->num, tally->lowest, tally->highest },
        };
        status = braid_audit_findings_add(findings, finding);
    }
    return status;
}

braid_status braid_audit_table_take(const struct audit_memory *memory, uint32_t node,
                                    const struct audit_table *table,
                                    struct audit_findings *findings)
{
    const struct graph_node *graph_node = &graph_nodes(findings->graph)[node];
    braid_status status = BRAID_OK;
    for (uint64_t i = 0; i < table->num && !status; i++) {
        note_made(memory, graph_node, &table->segments[i]);
        status = take_tallies(memory, node, &table->segments[i], findings);
    }
    return status;
}

braid_status braid_audit_table_take_undeclared(const struct audit_memory *memory, uint32_t node,
                                               const struct audit_table *table,
                                               struct audit_findings *findings)
{
    braid_status status = BRAID_OK;
    for (uint64_t i = 0; i < table->num && !status; i++)
        status = take_tallies(memory, node, &table->segments[i], findings);
    return status;
}
