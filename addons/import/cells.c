// SPDX-License-Identifier: Apache-2.0
// Pointer cells: reads the words of memory from which kernels load pointers.
#include "import/cells.h"

#include <string.h>

#include "base/error.h"

// Where nobody knows the place of a pointer, each aligned word in as much memory may be it.
enum { WORD = 8, MOST_BYTES = 1 << 20, MOST_VALUES = 1 << 12 };

static const char not_recorded[] =
    "it loads a pointer that no copy from the host tells, or that copies of the frame change";

struct reader {
    struct import_memory *memory;
    uint32_t node;
    const struct code_address *addresses;
    struct import_pointers *pointers;
};

static braid_status no_memory(void)
{
    return braid_error_no_memory("pointers that a captured kernel loads");
}

static bool is_known(const struct reader *reader)
{
    return !reader->pointers->why;
}

static void refuse(const struct reader *reader, const char *why)
{
    if (is_known(reader))
        reader->pointers->why = why;
}

static braid_status put_value(const struct reader *reader, struct array *values, uint64_t value)
{
    const uint64_t *had = values->items;
    for (size_t i = values->num; i-- > 0;) {
        if (had[i] == value)
            return BRAID_OK;
    }
    if (values->num == MOST_VALUES)
        refuse(reader, "it may load too many pointers from memory");
    return braid_array_put(values, &value, sizeof(value)) ? BRAID_OK : no_memory();
}

static braid_status put_cell(const struct reader *reader, uint32_t buffer, uint64_t from,
                             uint64_t to)
{
    const struct import_cell cell = { buffer, from, to };
    struct array *cells = &reader->pointers->cells;
    const struct import_cell *had = cells->items;
    for (size_t i = 0; i < cells->num; i++) {
        if (had[i].buffer == buffer && had[i].from == from && had[i].to == to)
            return BRAID_OK;
    }
    return braid_array_put(cells, &cell, sizeof(cell)) ? BRAID_OK : no_memory();
}

static uint64_t word_in(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

// Any word of a buffer that lies in memory, or at the end of some, is a pointer. One in unknown
// memory of the process counts, too, since some devices reach that.
static braid_status read_all(const struct reader *reader, const struct import_buffer *of,
                             struct array *values)
{
    const unsigned char *bytes = NULL;
    const uint64_t first = (of->begin + WORD - 1) / WORD * WORD, end = of->begin + of->bytes;
    braid_status status = BRAID_OK;
    if (of->bytes > MOST_BYTES) {
        refuse(reader, "it loads a pointer from an unknown place in too much memory");
        return BRAID_OK;
    }
    if (first + WORD > end)
        return BRAID_OK;
    status = braid_import_memory_read(reader->memory, reader->node, of, first, end - first, &bytes);
    if (!status && !bytes)
        refuse(reader, not_recorded);
    for (uint64_t at = 0; first + at + WORD <= end && !status && is_known(reader); at += WORD) {
        const uint64_t word = word_in(bytes + at);
        enum import_place place;
        uint32_t buffer;
        reader->pointers->num_words++;
        if (!braid_import_may_point(word))
            continue;
        status = braid_import_memory_find_or_end(reader->memory, reader->node, word, &place,
                                                 &buffer, NULL);
        if (!status && place != PLACE_NOWHERE)
            status = put_value(reader, values, word);
    }
    return status;
}

static braid_status read_one(const struct reader *reader, const struct import_buffer *of,
                             uint64_t at, struct array *values)
{
    const unsigned char *bytes = NULL;
    if (at < of->begin || of->bytes < WORD || at - of->begin > of->bytes - WORD) {
        refuse(reader, "it loads a pointer from beyond the memory that an address leads to");
        return BRAID_OK;
    }
    braid_status status =
        braid_import_memory_read(reader->memory, reader->node, of, at, WORD, &bytes);
    reader->pointers->num_words++;
    if (!status && !bytes)
        refuse(reader, not_recorded);
    return status || !bytes ? status : put_value(reader, values, word_in(bytes));
}

static braid_status read_in(const struct reader *reader, const struct code_address *address,
                            uint32_t buffer, uint64_t base, struct array *values)
{
    const struct import_buffer of = import_buffers(reader->memory)[buffer];
    if (of.is_closed) {
        reader->pointers->is_closed = true;
        return BRAID_OK;
    }
    if (of.kind == BUFFER_ALLOCATION) {
        refuse(reader, "it loads a pointer from memory that the graph allocates");
        return BRAID_OK;
    }
    if (of.is_watched) {
        refuse(reader, "it loads a pointer from memory that others may write");
        return BRAID_OK;
    }
    braid_status status;
    if (address->bytes > WORD) {
        status = put_cell(reader, buffer, 0, 0);
        return status ? status : read_all(reader, &of, values);
    }
    const uint64_t at = base + (uint64_t)(int64_t)(int32_t)address->offset, from = at - of.begin;
    status = put_cell(reader, buffer, from, from + WORD);
    return status ? status : read_one(reader, &of, at, values);
}

// Behind one address. An address of no memory cannot be followed: its own access tells. Where two
// buffers meet, a place that is known is in one of them.
static braid_status read_behind(const struct reader *reader, const struct code_address *address,
                                uint64_t base, struct array *values)
{
    enum import_place place;
    uint32_t buffer = 0, before = IMPORT_NONE;
    braid_status status =
        braid_import_memory_find_or_end(reader->memory, reader->node, base, &place, &buffer,
                                        address->is_loaded_below ? &before : NULL);
    if (status || (place != PLACE_BUFFER && place != PLACE_DEAD))
        return status;
    if (before == IMPORT_NONE || address->bytes > WORD)
        status = read_in(reader, address, buffer, base, values);
    return status || before == IMPORT_NONE ? status
                                           : read_in(reader, address, before, base, values);
}

static braid_status read_arguments(const struct reader *reader, const struct code_address *address,
                                   struct array *values)
{
    const struct captured_graph *captured = reader->memory->captured;
    const struct captured_node *node = &captured_nodes(captured)[reader->node];
    const struct captured_param *param =
        captured_params_of(captured, captured_function_of(captured, node)) + address->parameter;
    const unsigned char *argument =
        braid_captured_argument(captured, node, address->parameter) + address->offset;
    braid_status status = BRAID_OK;
    for (uint64_t at = 0;
         at + WORD <= address->bytes && !status && address->offset + at + WORD <= param->bytes;
         at += address->step)
        status = put_value(reader, values, word_in(argument + at));
    return status;
}

// Pointers lead to it one after another. The first is an argument.
static braid_status read_values(const struct reader *reader, uint32_t index, struct array *values)
{
    enum { MOST_CHAIN = 8 };
    uint32_t chain[MOST_CHAIN], num = 0;
    struct array from = { 0 };
    for (uint32_t at = index + 1; at && num < MOST_CHAIN; at = reader->addresses[at - 1].through)
        chain[num++] = at - 1;
    braid_status status = read_arguments(reader, &reader->addresses[chain[--num]], values);
    while (num > 0 && !status) {
        const struct code_address *address = &reader->addresses[chain[--num]];
        braid_array_finish(&from);
        from = *values;
        *values = (struct array){ 0 };
        for (size_t i = 0; i < from.num && !status && is_known(reader); i++)
            status = read_behind(reader, address, ((const uint64_t *)from.items)[i], values);
    }
    braid_array_finish(&from);
    return status;
}

braid_status braid_import_read_cells(struct import_memory *memory, uint32_t node,
                                     const struct array *addresses, uint32_t index,
                                     struct import_pointers *out_pointers)
{
    struct import_pointers pointers = { 0 };
    const struct reader reader = { memory, node, addresses->items, &pointers };
    const braid_status status = read_values(&reader, index, &pointers.values);
    if (status)
        braid_import_pointers_finish(&pointers);
    else
        *out_pointers = pointers;
    return status;
}

void braid_import_pointers_finish(struct import_pointers *pointers)
{
    braid_array_finish(&pointers->values);
    braid_array_finish(&pointers->cells);
    *pointers = (struct import_pointers){ 0 };
}
