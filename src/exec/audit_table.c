// SPDX-License-Identifier: Apache-2.0
// Tables of segments for audited kernels, and the findings that these leave there.
#include <stdlib.h>

#include "exec/audit.h"

static const struct audit_access *find_accesses(const struct audit_memory *memory,
                                                const struct graph_node *node)
{
    return memory->accesses + node->first_access;
}

size_t braid_audit_count_segments(const struct audit_memory *memory, const struct graph_node *node)
{
    return 2 * (memory->num_buffers + node->num_accesses);
}

static int compare(const void *a, const void *b)
{
    uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
    return left < right ? -1 : left > right;
}

// The addresses at which something begins or ends.
static size_t list_borders(const struct audit_memory *memory, const struct graph_node *node,
                           uintptr_t *borders)
{
    const struct audit_access *accesses = find_accesses(memory, node);
    size_t num = 0;
    for (size_t i = 0; i < memory->num_buffers; i++) {
        borders[num++] = memory->buffers[i].begin;
        borders[num++] = memory->buffers[i].end;
    }
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

static struct audit_segment make_segment(const struct audit_memory *memory,
                                         const struct graph_node *node, uintptr_t begin,
                                         uintptr_t end)
{
    enum { READS = 1 << AUDIT_READS, ALL = (1 << AUDIT_NUM_ACTS) - 1 };
    const struct audit_access *accesses = find_accesses(memory, node);
    struct audit_segment segment = { .begin = begin, .end = end };
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        if (overlaps(&accesses[i], &segment))
            segment.allowed |= accesses[i].may_write ? ALL : READS;
    }
    for (int act = 0; act < AUDIT_NUM_ACTS; act++)
        segment.tallies[act].lowest = UINT64_MAX;
    return segment;
}

void braid_audit_table_write(const struct audit_memory *memory, const struct graph_node *node,
                             uintptr_t *room, struct audit_table *table)
{
    size_t num = list_borders(memory, node, room), extent = 0;
    *table = (struct audit_table){ .num = 0 };
    for (size_t i = 1; i < num; i++) {
        uintptr_t begin = room[i - 1], end = room[i];
        while (extent < memory->num_extents && memory->extents[extent].end <= begin)
            extent++;
        if (begin < end && extent < memory->num_extents && memory->extents[extent].begin <= begin)
            table->segments[table->num++] = make_segment(memory, node, begin, end);
    }
    table->segments[table->num] = (struct audit_segment){ .begin = UINT64_MAX, .end = UINT64_MAX };
}

// Declared accesses that were made, also in another way.
static void note_made(const struct audit_memory *memory, const struct graph_node *node,
                      const struct audit_segment *segment)
{
    struct audit_access *accesses = memory->accesses + node->first_access;
    bool was_written = segment->seen[AUDIT_WRITES] || segment->seen[AUDIT_UPDATES];
    bool was_touched = false;
    for (int act = 0; act < AUDIT_NUM_ACTS; act++)
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
    static const braid_audit_kind kinds[] = { [AUDIT_READS] = BRAID_AUDIT_READS,
                                              [AUDIT_WRITES] = BRAID_AUDIT_WRITES,
                                              [AUDIT_UPDATES] = BRAID_AUDIT_UPDATES };
    braid_status status = BRAID_OK;
    for (int act = 0; act < AUDIT_NUM_ACTS && !status; act++) {
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
            .count = { tally->num, tally->lowest, tally->lowest, tally->highest },
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
    findings->has_run[node] = true;
    for (uint64_t i = 0; i < table->num && !status; i++) {
        note_made(memory, graph_node, &table->segments[i]);
        status = take_tallies(memory, node, &table->segments[i], findings);
    }
    return status;
}
