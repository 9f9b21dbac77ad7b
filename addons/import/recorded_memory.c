// SPDX-License-Identifier: Apache-2.0
// The memory of a recorded frame: allocations, and bytes that copies from the host wrote there.
#include <string.h>

#include "base/error.h"
#include "import/memory.h"

static bool lives_from(const braid_record_allocation *allocation, uint32_t operation)
{
    return allocation->freed_at == BRAID_RECORD_NONE || allocation->freed_at >= operation;
}

static bool lives_until(const braid_record_allocation *allocation, uint32_t operation)
{
    return allocation->born == BRAID_RECORD_NONE || allocation->born <= operation;
}

static struct import_buffer buffer_of(const struct import_memory *memory, uint32_t index)
{
    const braid_record_allocation *of = &memory->recorded.record->allocations[index];
    return (struct import_buffer){
        .kind = of->kind == BRAID_RECORD_VARIABLE ? BUFFER_VARIABLE : BUFFER_DRIVER,
        .begin = of->address,
        .bytes = of->bytes,
        .is_watched = braid_import_is_of_host(of->kind) && !memory->options->is_unwatched,
        .member = MEMBER_NONE,
        .is_mapped = of->kind == BRAID_RECORD_MAPPED || of->kind == BRAID_RECORD_FOREIGN ||
                     of->address != of->device_address,
        .node = index,
    };
}

// Pinned memory may have a second address, and is a second buffer then: both count as mapped.
braid_status braid_import_memory_add_recorded(struct import_memory *memory)
{
    const struct import_recorded *recorded = &memory->recorded;
    memory->seen = braid_store_take(&memory->store, recorded->record->num_graphs + (size_t)1,
                                    sizeof(*memory->seen));
    memory->end_of = braid_store_take(&memory->store, recorded->record->num_allocations + (size_t)1,
                                      sizeof(*memory->end_of));
    if (!memory->seen || !memory->end_of)
        return braid_error_no_memory("the memory of a record");
    for (uint32_t i = 0; i < recorded->record->num_memory; i++)
        if (recorded->record->memory[i].is_of_end)
            memory->end_of[recorded->record->memory[i].allocation] = i + 1;
    for (uint32_t i = 0; i < recorded->record->num_allocations; i++) {
        const braid_record_allocation *of = &recorded->record->allocations[i];
        struct import_buffer buffer = buffer_of(memory, i);
        if (!of->bytes || !lives_from(of, recorded->first) || !lives_until(of, recorded->end - 1))
            continue;
        if (!braid_array_put(&memory->buffers, &buffer, sizeof(buffer)))
            return braid_error_no_memory("the memory of a record");
        buffer.begin = of->device_address;
        if (buffer.begin != of->address &&
            !braid_array_put(&memory->buffers, &buffer, sizeof(buffer)))
            return braid_error_no_memory("the memory of a record");
    }
    return BRAID_OK;
}

enum import_place braid_import_memory_find_recorded(const struct import_memory *memory,
                                                    uint32_t node, uint64_t address,
                                                    uint32_t *out_buffer)
{
    const struct import_buffer *buffers = import_buffers(memory);
    const uint32_t operation = captured_nodes(memory->captured)[node].operation;
    for (uint32_t i = memory->num_given; i < memory->buffers.num; i++) {
        if (buffers[i].is_part)
            continue;
        const braid_record_allocation *of = &memory->recorded.record->allocations[buffers[i].node];
        if (address - buffers[i].begin < buffers[i].bytes && lives_from(of, operation) &&
            lives_until(of, operation)) {
            *out_buffer = i;
            return PLACE_BUFFER;
        }
    }
    return PLACE_NOWHERE;
}

// ---- contents ----

bool braid_import_has_contents(const struct import_recorded *recorded)
{
    const braid_record_contents *record = recorded->record;
    bool has = false;
    for (uint32_t i = 0; i < record->num_memory && !has; i++)
        has = !record->memory[i].is_of_end;
    return has && recorded->first == record->frames[record->num_frames - 1].first_operation;
}

enum { UNKNOWN, KNOWN, CHANGES };

// The bytes of the memory that a piece of work writes, if it is one range.
static bool find_range(const braid_record_contents *record, const braid_record_work *work,
                       uint64_t *out_begin, uint64_t *out_bytes)
{
    if (work->kind == BRAID_RECORD_ALLOCATE && work->memory != BRAID_RECORD_NONE) {
        *out_begin = record->allocations[work->memory].address;
        *out_bytes = record->allocations[work->memory].bytes;
        return true;
    }
    if (work->kind != BRAID_RECORD_COPY && work->kind != BRAID_RECORD_FILL)
        return false;
    const uint64_t pitch = work->to.pitch ? work->to.pitch : work->width;
    const uint64_t rows = work->to.rows ? work->to.rows : work->height;
    const uint64_t height = work->height ? work->height : 1, depth = work->depth ? work->depth : 1;
    *out_begin = work->to.address + work->to.x + (work->to.y + work->to.z * rows) * pitch;
    *out_bytes = ((depth - 1) * rows + height - 1) * pitch + work->width;
    return true;
}

// The copy stands beside the node, or behind it.
static void compare(const unsigned char *from, uint64_t begin, uint64_t bytes,
                    struct import_copy *copy)
{
    for (uint64_t i = 0; i < copy->bytes; i++) {
        const uint64_t at = copy->begin + i - begin;
        if (at < bytes && (copy->known[i] != KNOWN || copy->data[i] != from[at]))
            copy->known[i] = CHANGES;
    }
}

static void take_write(const unsigned char *from, uint64_t begin, uint64_t bytes,
                       struct import_copy *copy)
{
    for (uint64_t i = 0; i < copy->bytes; i++) {
        const uint64_t at = copy->begin + i - begin;
        if (at >= bytes)
            continue;
        copy->known[i] = from ? KNOWN : UNKNOWN;
        copy->data[i] = from ? from[at] : 0;
    }
}

static bool meets(uint64_t begin, uint64_t bytes, uint64_t other_begin, uint64_t other_bytes)
{
    return begin < other_begin + other_bytes && other_begin < begin + bytes;
}

// Calls `take` for each range that a graph writes in the memory of the copy. Graphs inside stand
// before theirs.
static void look_into(const struct import_memory *memory, const braid_record_work *work,
                      void (*take)(const unsigned char *, uint64_t, uint64_t, struct import_copy *),
                      struct import_copy *copy)
{
    const braid_record_contents *record = memory->recorded.record;
    bool *seen = memory->seen;
    uint64_t begin, bytes;
    if (work->graph == BRAID_RECORD_NONE)
        return;
    memset(seen, 0, record->num_graphs * sizeof(*seen));
    for (uint32_t k = 0; k < work->num_bodies; k++)
        seen[work->graph + k] = true;
    for (uint32_t g = work->graph + work->num_bodies; g-- > 0;) {
        for (uint32_t i = 0; seen[g] && i < record->graphs[g].num_nodes; i++) {
            const braid_record_work *node = &record->nodes[record->graphs[g].first_node + i].work;
            for (uint32_t k = 0; node->graph != BRAID_RECORD_NONE && k < node->num_bodies; k++)
                seen[node->graph + k] = true;
            if (find_range(record, node, &begin, &bytes) &&
                meets(begin, bytes, copy->begin, copy->bytes))
                take(NULL, begin, bytes, copy);
        }
    }
}

static void note_meeting(const unsigned char *from, uint64_t begin, uint64_t bytes,
                         struct import_copy *copy)
{
    (void)from, (void)begin, (void)bytes;
    copy->node = 0; // any
}

// Pinned memory is read after the call, and earlier work may still write there.
static bool is_source_written(const struct import_memory *memory, uint32_t operation)
{
    const braid_record_operation *operations = memory->recorded.record->operations;
    const braid_record_work *work = &operations[operation].work;
    struct import_copy source = { .node = IMPORT_NONE,
                                  .begin = work->from.address + work->from.x,
                                  .bytes = work->width };
    for (uint32_t i = 0; i < operation && source.node == IMPORT_NONE; i++) {
        uint64_t begin, bytes;
        look_into(memory, &operations[i].work, note_meeting, &source);
        if (find_range(memory->recorded.record, &operations[i].work, &begin, &bytes) &&
            meets(begin, bytes, source.begin, source.bytes))
            source.node = 0;
    }
    return source.node != IMPORT_NONE;
}

const void *braid_import_memory_sent_bytes(const struct import_memory *memory, uint32_t operation)
{
    const braid_record_work *work = &memory->recorded.record->operations[operation].work;
    const bool is_flat = work->height <= 1 && work->depth <= 1 && work->num_bytes == work->width;
    return work->kind == BRAID_RECORD_COPY && is_flat && work->bytes &&
                   !is_source_written(memory, operation)
               ? work->bytes
               : NULL;
}

// Later operations may have changed bytes that the record has of the end.
static void forget_later(const struct import_memory *memory,
                         const braid_record_allocation *allocation, struct import_copy *copy)
{
    const braid_record_contents *record = memory->recorded.record;
    const uint32_t end = allocation->freed_at < record->num_operations ? allocation->freed_at
                                                                       : record->num_operations;
    for (uint32_t i = memory->recorded.end; i < end; i++) {
        uint64_t begin, bytes;
        look_into(memory, &record->operations[i].work, take_write, copy);
        if (find_range(record, &record->operations[i].work, &begin, &bytes))
            take_write(NULL, begin, bytes, copy);
    }
}

// An allocation has the bytes of its end until somebody else writes there.
static void take_row(const struct import_memory *memory, const braid_record_memory *kept,
                     struct import_copy *copy)
{
    const braid_record_allocation *of = &memory->recorded.record->allocations[kept->allocation];
    if (!meets(of->address, kept->num_bytes, copy->begin, copy->bytes))
        return;
    take_write(kept->bytes, of->address, kept->num_bytes, copy);
    if (kept->is_of_end)
        forget_later(memory, of, copy);
}

// All that the memory had where the frame begins, or the ends of allocations that are older than
// the record.
static void take_kept(const struct import_memory *memory, bool of_begin, struct import_copy *copy)
{
    const braid_record_contents *record = memory->recorded.record;
    for (uint32_t i = 0; i < record->num_memory; i++) {
        const braid_record_memory *kept = &record->memory[i];
        const bool is_old = record->allocations[kept->allocation].born == BRAID_RECORD_NONE;
        if (of_begin ? !kept->is_of_end : kept->is_of_end && is_old)
            take_row(memory, kept, copy);
    }
}

static bool stands_before(const struct import_memory *memory, const uint64_t *before,
                          const braid_record_work *work)
{
    const struct captured_node *nodes = captured_nodes(memory->captured);
    for (uint32_t i = 0; i < memory->captured->nodes.num; i++) {
        if (nodes[i].recorded == work)
            return captured_has(before, i);
    }
    return false;
}

// Also where it stands in a body.
static void mark_before(const struct captured_graph *captured, uint32_t node, uint64_t *before)
{
    for (uint32_t at = node; at != IMPORT_NONE;) {
        braid_captured_mark_before(captured, at, before);
        at = captured_regions(captured)[captured_nodes(captured)[at].region].owner;
    }
}

// Writes of the frame without known bytes are accesses of their nodes, as are those of its graphs.
// Copies behind the node come in a second turn, when its own bytes are known. Kernels before the
// frame are not looked at.
static void fill(const struct import_memory *memory, uint32_t node, const uint64_t *before,
                 struct import_copy *copy)
{
    const struct import_recorded *recorded = &memory->recorded;
    const bool is_kept = braid_import_has_contents(recorded);
    take_kept(memory, is_kept, copy);
    for (uint32_t k = is_kept ? recorded->first : 0; k < 2 * recorded->end; k++) {
        const uint32_t i = k % recorded->end;
        const braid_record_work *work = &recorded->record->operations[i].work;
        const bool is_first = k < recorded->end, is_in_frame = i >= recorded->first;
        uint64_t begin, bytes;
        if (is_first && !is_in_frame)
            look_into(memory, work, take_write, copy);
        if ((!is_first && !is_in_frame) || !find_range(recorded->record, work, &begin, &bytes) ||
            begin >= copy->begin + copy->bytes || copy->begin >= begin + bytes)
            continue;
        const unsigned char *from = braid_import_memory_sent_bytes(memory, i);
        if (is_in_frame && !from)
            continue;
        copy->node = is_in_frame ? node : copy->node;
        const bool is_before = !is_in_frame || stands_before(memory, before, work);
        if (is_first && is_before)
            take_write(from, begin, bytes, copy);
        const bool allocates = is_first && work->kind == BRAID_RECORD_ALLOCATE;
        if (allocates && memory->end_of[work->memory])
            take_row(memory, &recorded->record->memory[memory->end_of[work->memory] - 1], copy);
        else if (!is_first && !is_before)
            compare(from, begin, bytes, copy);
    }
}

braid_status braid_import_memory_fill_recorded(const struct import_memory *memory, uint32_t node,
                                               struct import_copy *copy)
{
    struct store store = { 0 };
    uint64_t *before =
        braid_store_take(&store, memory->captured->nodes.num / 64 + 1, sizeof(*before));
    if (before) {
        mark_before(memory->captured, node, before);
        fill(memory, node, before, copy);
    }
    braid_store_finish(&store);
    return before ? BRAID_OK : braid_error_no_memory("the memory of a record");
}
