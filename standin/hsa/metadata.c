// SPDX-License-Identifier: Apache-2.0
// A reader for the few msgpack shapes that code object metadata is made of.
//
// The shape is {"amdhsa.kernels": [{".symbol": "NAME.kd", ".args": [{".offset": 0, ".size": 8,
// ".value_kind": "by_value"}, ...], ...}, ...], ...}; keys come in any order.
#include "metadata.h"

#include <stdlib.h>
#include <string.h>

// Where reading stands. Reading past the end sets `damaged`, and every later read gives zeros.
struct reader {
    const uint8_t *next;
    const uint8_t *end;
    bool damaged;
};

enum kind { KIND_OTHER, KIND_INTEGER, KIND_STRING, KIND_ARRAY, KIND_MAP };

// One msgpack value. Containers give only their number of entries; the entries follow.
struct value {
    enum kind kind;
    uint64_t number; // the integer, the number of entries, or the string's length
    const char *text;
};

struct argument_list {
    uint32_t *offsets;
    uint32_t num_arguments;
};

static const uint8_t *take(struct reader *reader, uint64_t num_bytes)
{
    if (reader->damaged || num_bytes > (uint64_t)(reader->end - reader->next)) {
        reader->damaged = true;
        return NULL;
    }
    const uint8_t *bytes = reader->next;
    reader->next += num_bytes;
    return bytes;
}

static uint64_t take_big_endian(struct reader *reader, unsigned num_bytes)
{
    const uint8_t *bytes = take(reader, num_bytes);
    uint64_t number = 0;
    for (unsigned i = 0; bytes && i < num_bytes; i++)
        number = number << 8 | bytes[i];
    return number;
}

static struct value take_string(struct reader *reader, uint64_t num_bytes)
{
    const uint8_t *bytes = take(reader, num_bytes);
    if (!bytes)
        return (struct value){ KIND_OTHER, 0, NULL };
    return (struct value){ KIND_STRING, num_bytes, (const char *)bytes };
}

static struct value skip_bytes(struct reader *reader, uint64_t num_bytes)
{
    take(reader, num_bytes);
    return (struct value){ KIND_OTHER, 0, NULL };
}

// The forms whose first byte is 0xc0 to 0xdf. Sizes in bytes double from one form to the next.
static struct value take_long_form(struct reader *reader, unsigned form)
{
    if (form >= 0xc4 && form <= 0xc6) // binary
        return skip_bytes(reader, take_big_endian(reader, 1u << (form - 0xc4)));
    if (form >= 0xc7 && form <= 0xc9) // extension: a length, a type byte, the data
        return skip_bytes(reader, take_big_endian(reader, 1u << (form - 0xc7)) + 1);
    if (form == 0xca || form == 0xcb) // floating point
        return skip_bytes(reader, form == 0xca ? 4 : 8);
    if (form >= 0xcc && form <= 0xcf) // unsigned
        return (struct value){ KIND_INTEGER, take_big_endian(reader, 1u << (form - 0xcc)), NULL };
    if (form >= 0xd0 && form <= 0xd3) // signed: no offset or size is written so
        return skip_bytes(reader, 1u << (form - 0xd0));
    if (form >= 0xd4 && form <= 0xd8) // extension of a fixed size
        return skip_bytes(reader, (1u << (form - 0xd4)) + 1);
    if (form >= 0xd9 && form <= 0xdb)
        return take_string(reader, take_big_endian(reader, 1u << (form - 0xd9)));
    if (form == 0xdc || form == 0xdd)
        return (struct value){ KIND_ARRAY, take_big_endian(reader, form == 0xdc ? 2 : 4), NULL };
    if (form == 0xde || form == 0xdf)
        return (struct value){ KIND_MAP, take_big_endian(reader, form == 0xde ? 2 : 4), NULL };
    return (struct value){ KIND_OTHER, 0, NULL }; // nil, false, true
}

static struct value take_value(struct reader *reader)
{
    const uint8_t *first = take(reader, 1);
    if (!first)
        return (struct value){ KIND_OTHER, 0, NULL };
    unsigned form = *first;
    if (form < 0x80)
        return (struct value){ KIND_INTEGER, form, NULL };
    if (form < 0x90)
        return (struct value){ KIND_MAP, form & 0x0f, NULL };
    if (form < 0xa0)
        return (struct value){ KIND_ARRAY, form & 0x0f, NULL };
    if (form < 0xc0)
        return take_string(reader, form & 0x1f);
    if (form < 0xe0)
        return take_long_form(reader, form);
    return (struct value){ KIND_OTHER, 0, NULL }; // a small negative number
}

static bool is_text(struct value value, const char *text)
{
    return value.kind == KIND_STRING && value.number == strlen(text) &&
           memcmp(value.text, text, value.number) == 0;
}

// Passes over what is left of `value`. Counting open entries instead of recursing keeps damaged
// metadata from exhausting the stack: each entry consumes at least one byte.
static void skip_entries(struct reader *reader, struct value value)
{
    uint64_t num_open = 0;
    for (;;) {
        if (value.kind == KIND_ARRAY)
            num_open += value.number;
        if (value.kind == KIND_MAP)
            num_open += 2 * value.number;
        if (num_open == 0 || reader->damaged)
            return;
        num_open--;
        value = take_value(reader);
    }
}

static bool append_offset(struct argument_list *list, uint32_t offset)
{
    uint32_t *offsets = realloc(list->offsets, (list->num_arguments + 1) * sizeof(*offsets));
    if (!offsets)
        return false;
    list->offsets = offsets;
    list->offsets[list->num_arguments++] = offset;
    return true;
}

static void take_argument(struct reader *reader, struct argument_list *list)
{
    static const char hidden[] = "hidden_";
    struct value argument = take_value(reader);
    uint64_t offset = UINT64_MAX;
    bool is_hidden = false;
    if (argument.kind != KIND_MAP)
        reader->damaged = true;
    for (uint64_t i = 0; i < argument.number && !reader->damaged; i++) {
        struct value key = take_value(reader);
        struct value value = take_value(reader);
        if (is_text(key, ".offset") && value.kind == KIND_INTEGER)
            offset = value.number;
        if (is_text(key, ".value_kind") && value.kind == KIND_STRING)
            is_hidden =
                value.number >= strlen(hidden) && memcmp(value.text, hidden, strlen(hidden)) == 0;
        skip_entries(reader, value);
    }
    if (is_hidden || reader->damaged)
        return;
    if (offset > UINT32_MAX || !append_offset(list, (uint32_t)offset))
        reader->damaged = true;
}

// Reads one kernel and says whether it is the wanted one.
static bool take_kernel(struct reader *reader, const char *symbol, struct argument_list *list)
{
    struct value kernel = take_value(reader);
    bool found = false;
    if (kernel.kind != KIND_MAP)
        reader->damaged = true;
    for (uint64_t i = 0; i < kernel.number && !reader->damaged; i++) {
        struct value key = take_value(reader);
        struct value value = take_value(reader);
        if (is_text(key, ".symbol"))
            found = is_text(value, symbol);
        if (!is_text(key, ".args") || value.kind != KIND_ARRAY) {
            skip_entries(reader, value);
            continue;
        }
        for (uint64_t j = 0; j < value.number && !reader->damaged; j++)
            take_argument(reader, list);
    }
    return found && !reader->damaged;
}

static bool take_kernels(struct reader *reader, struct value kernels, const char *symbol,
                         struct argument_list *out_list)
{
    for (uint64_t i = 0; i < kernels.number && !reader->damaged; i++) {
        struct argument_list list = { NULL, 0 };
        if (take_kernel(reader, symbol, &list)) {
            *out_list = list;
            return true;
        }
        free(list.offsets);
    }
    return false;
}

bool standin_metadata_find_arguments(const void *metadata, size_t num_bytes, const char *symbol,
                                     uint32_t **out_offsets, uint32_t *out_num_arguments)
{
    const uint8_t *bytes = metadata;
    struct reader reader = { bytes, bytes + num_bytes, false };
    struct value root = take_value(&reader);
    if (root.kind != KIND_MAP)
        return false;
    for (uint64_t i = 0; i < root.number && !reader.damaged; i++) {
        struct value key = take_value(&reader);
        struct value value = take_value(&reader);
        if (!is_text(key, "amdhsa.kernels") || value.kind != KIND_ARRAY) {
            skip_entries(&reader, value);
            continue;
        }
        struct argument_list list = { NULL, 0 };
        if (!take_kernels(&reader, value, symbol, &list))
            return false;
        *out_offsets = list.offsets;
        *out_num_arguments = list.num_arguments;
        return true;
    }
    return false;
}
