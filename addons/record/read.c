// SPDX-License-Identifier: Apache-2.0
// Reading a record: nothing in the file is trusted, and the first wrong number is named by its
// byte.
#include <braid/record.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/store.h"
#include "record/order.h"
#include "record/rows.h"

struct braid_record {
    uint8_t *bytes; // the file
    uint64_t num;
    struct store store; // the arrays
    struct array befores;
    braid_record_contents contents;
};

struct section {
    uint64_t begin, rows, bytes;
};

struct reading {
    const char *path;
    struct braid_record *record;
    uint64_t format;
    struct section sections[RECORD_NUM_SECTIONS];
    enum record_section section; // the present row's
    uint64_t row, at;            // and the byte of its present number
};

static uint64_t number_at(const uint8_t *bytes, uint64_t at)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number |= (uint64_t)bytes[at + (uint64_t)i] << (8 * i);
    return number;
}

// ---- messages ----

__attribute__((format(printf, 3, 4))) static braid_status
refuse(const struct reading *reading, uint64_t at, const char *format, ...)
{
    char reason[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    return braid_error_invalid("record '%s', byte %" PRIu64 ": %s", reading->path, at, reason);
}

static braid_status refuse_member(const struct reading *reading, const struct record_member *member,
                                  uint64_t is, const char *reason)
{
    return refuse(reading, reading->at, "'%s' of %s %" PRIu64 " is %" PRIu64 ": %s", member->name,
                  braid_record_rows[reading->section].name, reading->row, is, reason);
}

// ---- the file ----

static braid_status read_stream(struct braid_record *record, FILE *stream, const char *path)
{
    size_t capacity = 1 << 16, got = 1;
    while (got > 0) {
        if (record->num == capacity || !record->bytes) {
            capacity *= record->bytes ? 2 : 1;
            uint8_t *more = braid_reallocate(record->bytes, capacity);
            if (!more)
                return braid_error_no_memory("a record");
            record->bytes = more;
        }
        got = fread(record->bytes + record->num, 1, capacity - record->num, stream);
        record->num += got;
    }
    if (ferror(stream))
        return braid_error(BRAID_IO_ERROR, "record '%s': %s", path, strerror(errno));
    return BRAID_OK;
}

static braid_status read_file(struct braid_record *record, const char *path)
{
    FILE *stream = fopen(path, "rbe");
    if (!stream && (errno == ENOENT || errno == ENOTDIR))
        return braid_error_invalid("record '%s': there is no such file", path);
    if (!stream)
        return braid_error(BRAID_IO_ERROR, "record '%s': %s", path, strerror(errno));
    const braid_status status = read_stream(record, stream, path);
    fclose(stream);
    return status;
}

static braid_status check_head(struct reading *reading)
{
    const uint8_t *bytes = reading->record->bytes;
    const uint64_t num = reading->record->num;
    if (num < 8 || memcmp(bytes, "braidrec", 8) != 0)
        return refuse(reading, 0, "it does not begin with 'braidrec': this is no record");
    if (num < 24)
        return refuse(reading, num, "the file ends here, in its head");
    reading->format = number_at(bytes, 8);
    if (reading->format < RECORD_OLDEST_FORMAT || reading->format > RECORD_FORMAT)
        return refuse(reading, 8, "the format is %" PRIu64 ", and this Braid reads %d to %d",
                      reading->format, RECORD_OLDEST_FORMAT, RECORD_FORMAT);
    if (number_at(bytes, 16) != num)
        return refuse(reading, 16, "the file should have %" PRIu64 " bytes, and has %" PRIu64,
                      number_at(bytes, 16), num);
    if (num < RECORD_HEAD_BYTES + 8)
        return refuse(reading, num, "the file ends here, in its head");
    if (number_at(bytes, num - 8) != braid_record_get_digest(bytes, num - 8))
        return refuse(reading, num - 8,
                      "the digest is not that of the bytes: the file was changed");
    if (number_at(bytes, 24) != RECORD_NUM_SECTIONS)
        return refuse(reading, 24, "there are %" PRIu64 " sections, and not %d",
                      number_at(bytes, 24), RECORD_NUM_SECTIONS);
    return BRAID_OK;
}

static bool has_member(const struct reading *reading, const struct record_member *member)
{
    return member->since <= reading->format;
}

// The bytes of a row in the file.
static uint64_t row_bytes(const struct reading *reading, enum record_section section)
{
    const struct record_rows *rows = &braid_record_rows[section];
    uint64_t num = rows->num_numbers;
    for (uint32_t i = 0; i < rows->num_members; i++)
        num -= !has_member(reading, &rows->members[i]); // each new member is one number
    return 8 * num;
}

static braid_status check_sections(struct reading *reading)
{
    const uint8_t *bytes = reading->record->bytes;
    const uint64_t end = reading->record->num - 8;
    uint64_t begin = RECORD_HEAD_BYTES;
    for (int i = 0; i < RECORD_NUM_SECTIONS; i++) {
        struct section *section = &reading->sections[i];
        const uint64_t at = 8 * (RECORD_HEAD_NUMBERS + 3 * (uint64_t)i);
        const uint64_t row = row_bytes(reading, (enum record_section)i);
        *section = (struct section){ number_at(bytes, at), number_at(bytes, at + 8),
                                     number_at(bytes, at + 16) };
        if (section->begin != begin)
            return refuse(reading, at, "section %d begins at %" PRIu64 ", and not at %" PRIu64, i,
                          section->begin, begin);
        if (section->bytes > end - begin)
            return refuse(reading, at + 16, "section %d ends behind the file", i);
        if (i != RECORD_BYTES &&
            (section->rows != section->bytes / row || section->bytes % row != 0 ||
             section->rows >= BRAID_RECORD_NONE || (i == RECORD_PROGRAM && section->rows != 1)))
            return refuse(reading, at + 8, "section %d has %" PRIu64 " rows in %" PRIu64 " bytes",
                          i, section->rows, section->bytes);
        begin += section->bytes;
    }
    if (begin != end)
        return refuse(reading, begin, "bytes stand behind the last section");
    return BRAID_OK;
}

// ---- rows ----

static void put(void *row, uint16_t at, uint16_t bytes, uint64_t number)
{
    const uint32_t half = (uint32_t)number;
    const bool flag = number != 0;
    if (bytes == 8)
        memcpy((char *)row + at, &number, 8);
    else if (bytes == 4)
        memcpy((char *)row + at, &half, 4);
    else
        memcpy((char *)row + at, &flag, sizeof(flag));
}

static uint64_t get(const void *row, uint16_t at, uint16_t bytes)
{
    uint64_t number = 0;
    uint32_t half = 0;
    memcpy(bytes == 8 ? (void *)&number : (void *)&half, (const char *)row + at, bytes);
    return bytes == 8 ? number : half;
}

// Bytes that the row points to, with the NUL behind.
static braid_status put_pointer(const struct reading *reading, const struct record_member *member,
                                uint64_t from, uint64_t num, void *row)
{
    const struct section *all = &reading->sections[RECORD_BYTES];
    const uint8_t *bytes = reading->record->bytes + all->begin;
    if (from >= all->bytes || num >= all->bytes - from)
        return refuse_member(reading, member, from, "its bytes end behind the last section");
    if (bytes[from + num] != 0)
        return refuse_member(reading, member, from, "no NUL stands behind its bytes");
    if (member->kind == RECORD_TEXT && memchr(bytes + from, 0, num))
        return refuse_member(reading, member, from, "a NUL stands in its text");
    const void *pointer = bytes + from;
    memcpy((char *)row + member->at, &pointer, sizeof(pointer));
    return BRAID_OK;
}

static braid_status read_member(struct reading *reading, const struct record_member *member,
                                void *row)
{
    const uint8_t *bytes = reading->record->bytes;
    const uint64_t number = number_at(bytes, reading->at);
    braid_status status = BRAID_OK;
    if (member->kind == RECORD_TEXT)
        status = put_pointer(reading, member, number, number_at(bytes, reading->at + 8), row);
    else if (member->kind == RECORD_BLOCK && number != UINT64_MAX)
        status =
            put_pointer(reading, member, number, get(row, member->other, member->other_bytes), row);
    else if (member->kind == RECORD_BLOCK)
        ;
    else if ((member->kind == RECORD_FLAG || member->kind == RECORD_CHOICE) &&
             number > member->limit)
        status = refuse_member(reading, member, number, "there is no such value");
    else if (member->kind == RECORD_INDEX && number != BRAID_RECORD_NONE &&
             number >= reading->sections[member->limit].rows)
        status = refuse_member(reading, member, number, "there is no such row");
    else if (member->bytes == 4 && number > UINT32_MAX && number < (uint64_t)INT32_MIN)
        status = refuse_member(reading, member, number, "it has more than 4 bytes");
    else
        put(row, member->at, member->bytes, number);
    reading->at += member->kind == RECORD_TEXT ? 16 : 8;
    return status;
}

static braid_status read_rows(struct reading *reading, enum record_section section, void *items)
{
    const struct record_rows *rows = &braid_record_rows[section];
    reading->section = section;
    reading->at = reading->sections[section].begin;
    for (uint64_t i = 0; i < reading->sections[section].rows; i++) {
        reading->row = i;
        for (uint32_t k = 0; k < rows->num_members; k++) {
            const braid_status status =
                has_member(reading, &rows->members[k])
                    ? read_member(reading, &rows->members[k], (char *)items + i * rows->bytes)
                    : BRAID_OK;
            if (status)
                return status;
        }
    }
    return BRAID_OK;
}

static braid_status read_arrays(struct reading *reading)
{
    braid_record_contents *contents = &reading->record->contents;
    braid_status status = read_rows(reading, RECORD_PROGRAM, contents);
    for (int i = RECORD_MODULES; i < RECORD_BYTES && !status; i++) {
        const struct record_rows *rows = &braid_record_rows[i];
        const uint32_t num = (uint32_t)reading->sections[i].rows;
        void *items = braid_store_take(&reading->record->store, num, rows->bytes);
        if (!items)
            return braid_error_no_memory("a record");
        memcpy((char *)contents + rows->array_at, &items, sizeof(items));
        memcpy((char *)contents + rows->num_at, &num, sizeof(num));
        status = read_rows(reading, (enum record_section)i, items);
    }
    return status;
}

// ---- rows that point to others ----

static braid_status refuse_row(struct reading *reading, enum record_section section, uint32_t row,
                               const char *reason)
{
    const uint64_t at = reading->sections[section].begin + row * row_bytes(reading, section);
    return refuse(reading, at, "%s %u: %s", braid_record_rows[section].name, row, reason);
}

static bool is_inside(uint64_t first, uint64_t num, uint64_t all)
{
    return first <= all && num <= all - first;
}

// Why the work cannot be, or NULL. Its graphs stand before graph `before`.
static const char *judge_work(const braid_record_contents *contents, const braid_record_work *work,
                              uint32_t before)
{
    const bool has_graph = work->graph != BRAID_RECORD_NONE;
    const bool has_event = work->kind == BRAID_RECORD_EVENT_RECORD ||
                           work->kind == BRAID_RECORD_EVENT_WAIT ||
                           work->scope == BRAID_RECORD_OF_EVENT;
    if (work->kind == BRAID_RECORD_KERNEL && work->kernel == BRAID_RECORD_NONE)
        return "a launch has no kernel";
    if (work->kind == BRAID_RECORD_GRAPH && (!has_graph || work->num_bodies != 1))
        return "a launch has no graph";
    if (work->kind == BRAID_RECORD_CONDITIONAL && !has_graph && work->num_bodies)
        return "a conditional node has no graph";
    if (work->kind == BRAID_RECORD_CONDITIONAL && work->condition == BRAID_RECORD_NO_CONDITION)
        return "a conditional node is neither a loop nor a branch";
    if (has_graph && !is_inside(work->graph, work->num_bodies, before))
        return "its graphs do not stand before it";
    if (has_event && work->event >= contents->num_events)
        return "there is no such event";
    if (work->scope == BRAID_RECORD_OF_STREAM && work->scope_of >= contents->num_streams)
        return "there is no such stream";
    if (work->scope == BRAID_RECORD_OF_CONTEXT && work->scope_of >= contents->num_contexts)
        return "there is no such context";
    return NULL;
}

static braid_status check_operations(struct reading *reading)
{
    const braid_record_contents *contents = &reading->record->contents;
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const braid_record_work *work = &contents->operations[i].work;
        const char *reason = judge_work(contents, work, contents->num_graphs);
        if (work->scope == BRAID_RECORD_OF_OPERATION && work->scope_of >= i)
            reason = "it waits for a later operation";
        if (reason)
            return refuse_row(reading, RECORD_OPERATIONS, i, reason);
    }
    return BRAID_OK;
}

static const char *judge_node(const braid_record_contents *contents, uint32_t graph,
                              uint32_t number)
{
    const braid_record_node *node = &contents->nodes[contents->graphs[graph].first_node + number];
    if (!is_inside(node->first_before, node->num_befores, contents->num_befores))
        return "its list of nodes before it is not in the file";
    for (uint32_t i = 0; i < node->num_befores; i++)
        if (contents->befores[node->first_before + i] >= number)
            return "it depends on a node that does not stand before it";
    return judge_work(contents, &node->work, graph);
}

static braid_status check_graphs(struct reading *reading)
{
    const braid_record_contents *contents = &reading->record->contents;
    uint64_t next = 0;
    for (uint32_t i = 0; i < contents->num_graphs; i++) {
        const braid_record_graph *graph = &contents->graphs[i];
        if (graph->first_node != next || !is_inside(next, graph->num_nodes, contents->num_nodes))
            return refuse_row(reading, RECORD_GRAPHS, i, "its nodes are not behind those before");
        for (uint32_t k = 0; k < graph->num_nodes; k++) {
            const char *reason = judge_node(contents, i, k);
            if (reason)
                return refuse_row(reading, RECORD_NODES, graph->first_node + k, reason);
        }
        next += graph->num_nodes;
    }
    if (next != contents->num_nodes)
        return refuse_row(reading, RECORD_NODES, (uint32_t)next, "no graph has it");
    return BRAID_OK;
}

static braid_status check_lists(struct reading *reading)
{
    const braid_record_contents *contents = &reading->record->contents;
    if (contents->num_events > (uint64_t)contents->num_operations + contents->num_nodes)
        return refuse_row(reading, RECORD_PROGRAM, 0, "there are more events than operations");
    for (uint32_t i = 0; i < contents->num_kernels; i++) {
        const braid_record_kernel *kernel = &contents->kernels[i];
        if (kernel->num_parameters != BRAID_RECORD_NONE &&
            !is_inside(kernel->first_parameter, kernel->num_parameters, contents->num_parameters))
            return refuse_row(reading, RECORD_KERNELS, i, "its parameters are not in the file");
    }
    for (uint32_t i = 0; i < contents->num_frames; i++)
        if (!is_inside(contents->frames[i].first_operation, contents->frames[i].num_operations,
                       contents->num_operations))
            return refuse_row(reading, RECORD_FRAMES, i, "its operations are not in the file");
    for (uint32_t i = 0; i < contents->num_memory; i++) {
        const braid_record_memory *memory = &contents->memory[i];
        if (memory->allocation == BRAID_RECORD_NONE || !memory->bytes ||
            memory->num_bytes > contents->allocations[memory->allocation].bytes)
            return refuse_row(reading, RECORD_MEMORY, i, "an allocation does not have its bytes");
        if (!memory->is_of_end &&
            (!contents->num_frames ||
             memory->num_bytes != contents->allocations[memory->allocation].bytes))
            return refuse_row(reading, RECORD_MEMORY, i, "it is not all of an allocation");
    }
    for (uint32_t i = 0; i < contents->num_streams; i++)
        if (contents->streams[i].context >= contents->num_contexts)
            return refuse_row(reading, RECORD_STREAMS, i, "there is no such context");
    return BRAID_OK;
}

static braid_status order(struct braid_record *record)
{
    braid_record_contents *contents = &record->contents;
    void *copy = braid_array_append(&record->befores, contents->num_befores, sizeof(uint32_t));
    if (!copy && contents->num_befores > 0)
        return braid_error_no_memory("a record");
    if (contents->num_befores > 0)
        memcpy(copy, contents->befores, contents->num_befores * sizeof(uint32_t));
    // The array came from this record's store.
    if (!braid_record_order(contents, (braid_record_operation *)(uintptr_t)contents->operations,
                            &record->befores))
        return braid_error_no_memory("a record");
    contents->befores = record->befores.items;
    contents->num_befores = (uint32_t)record->befores.num;
    return BRAID_OK;
}

static braid_status read_record(struct braid_record *record, const char *path)
{
    struct reading reading = { .path = path, .record = record };
    braid_status status = read_file(record, path);
    if (!status)
        status = check_head(&reading);
    if (!status)
        status = check_sections(&reading);
    if (!status)
        status = read_arrays(&reading);
    if (!status)
        status = check_lists(&reading);
    if (!status)
        status = check_operations(&reading);
    if (!status)
        status = check_graphs(&reading);
    return status ? status : order(record);
}

// ---- the public functions ----

braid_status braid_record_load(const char *path, braid_record **out_record)
{
    if (!path || !out_record)
        return braid_error_null("braid_record_load", path ? "out_record" : "path");
    struct braid_record *record = braid_allocate_zeroed(1, sizeof(*record));
    if (!record)
        return braid_error_no_memory("a record");
    const braid_status status = read_record(record, path);
    if (status)
        braid_record_destroy(record);
    else
        *out_record = record;
    return status;
}

void braid_record_destroy(braid_record *record)
{
    if (!record)
        return;
    braid_store_finish(&record->store);
    braid_array_finish(&record->befores);
    braid_free(record->bytes);
    braid_free(record);
}

const braid_record_contents *braid_record_get_contents(const braid_record *record)
{
    return record ? &record->contents : NULL;
}
