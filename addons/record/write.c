// SPDX-License-Identifier: Apache-2.0
// Writing the file of a record: the rows of each section, and behind them the bytes.
#include "record/write.h"

#include <string.h>

#include "base/array.h"
#include "base/host_memory.h"
#include "record/rows.h"

struct writing {
    struct array rows, bytes;
    bool failed;
};

static void put_number(struct writing *writing, uint64_t number)
{
    uint8_t *at = braid_array_append(&writing->rows, 8, 1);
    writing->failed = writing->failed || !at;
    for (int i = 0; at && i < 8; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

static void patch_number(struct writing *writing, uint64_t at, uint64_t number)
{
    for (uint64_t i = 0; i < 8; i++)
        ((uint8_t *)writing->rows.items)[at + i] = (uint8_t)(number >> (8 * i));
}

// Puts where the bytes lie. A NUL stands behind them.
static void put_bytes(struct writing *writing, const void *bytes, uint64_t num)
{
    put_number(writing, writing->bytes.num);
    uint8_t *at = braid_array_append(&writing->bytes, num + 1, 1);
    writing->failed = writing->failed || !at;
    if (!at)
        return;
    if (num > 0)
        memcpy(at, bytes, num);
    at[num] = 0;
}

static uint64_t get_number(const void *row, uint16_t at, uint16_t bytes)
{
    uint64_t number = 0;
    uint32_t half = 0;
    if (bytes == 8) {
        memcpy(&number, (const char *)row + at, 8);
    } else if (bytes == 4) {
        memcpy(&half, (const char *)row + at, 4);
        number = half;
    } else {
        number = *((const unsigned char *)row + at);
    }
    return number;
}

static void write_member(struct writing *writing, const struct record_member *member,
                         const void *row)
{
    const void *pointer = NULL;
    if (member->kind == RECORD_TEXT || member->kind == RECORD_BLOCK)
        memcpy(&pointer, (const char *)row + member->at, sizeof(pointer));
    if (member->kind == RECORD_TEXT) {
        const size_t length = pointer ? strlen(pointer) : 0;
        put_bytes(writing, pointer, length);
        put_number(writing, length);
    } else if (member->kind == RECORD_BLOCK && pointer) {
        put_bytes(writing, pointer, get_number(row, member->other, member->other_bytes));
    } else if (member->kind == RECORD_BLOCK) {
        put_number(writing, UINT64_MAX);
    } else {
        put_number(writing, get_number(row, member->at, member->bytes));
    }
}

static void write_section(struct writing *writing, const braid_record_contents *contents,
                          enum record_section section)
{
    const struct record_rows *rows = &braid_record_rows[section];
    const char *items = (const char *)contents;
    uint32_t num = 1;
    if (section != RECORD_PROGRAM) {
        memcpy(&items, (const char *)contents + rows->array_at, sizeof(items));
        memcpy(&num, (const char *)contents + rows->num_at, sizeof(num));
    }
    for (uint32_t i = 0; i < num && !writing->failed; i++)
        for (uint32_t k = 0; k < rows->num_members; k++)
            write_member(writing, &rows->members[k], items + i * rows->bytes);
}

static void write_all(struct writing *writing, const braid_record_contents *contents)
{
    for (int i = 0; i < RECORD_HEAD_BYTES / 8; i++)
        put_number(writing, 0);
    for (int i = 0; i < RECORD_NUM_SECTIONS && !writing->failed; i++) {
        const uint64_t begin = writing->rows.num,
                       entry = 8 * (RECORD_HEAD_NUMBERS + 3 * (uint64_t)i);
        uint64_t num = 0;
        if (i == RECORD_BYTES) {
            num = writing->bytes.num;
            uint8_t *at = braid_array_append(&writing->rows, num, 1);
            writing->failed = !at;
            if (at && num > 0)
                memcpy(at, writing->bytes.items, num);
        } else {
            write_section(writing, contents, (enum record_section)i);
            num = (writing->rows.num - begin) / (8 * (uint64_t)braid_record_rows[i].num_numbers);
        }
        patch_number(writing, entry, begin);
        patch_number(writing, entry + 8, num);
        patch_number(writing, entry + 16, writing->rows.num - begin);
    }
    if (writing->failed)
        return;
    memcpy(writing->rows.items, "braidrec", 8);
    patch_number(writing, 8, RECORD_FORMAT);
    patch_number(writing, 16, writing->rows.num + 8);
    patch_number(writing, 24, RECORD_NUM_SECTIONS);
    put_number(writing, braid_record_get_digest(writing->rows.items, writing->rows.num));
}

uint8_t *braid_record_write(const braid_record_contents *contents, uint64_t *out_num)
{
    struct writing writing = { .failed = false };
    write_all(&writing, contents);
    braid_array_finish(&writing.bytes);
    if (writing.failed)
        braid_array_finish(&writing.rows);
    *out_num = writing.rows.num;
    return writing.failed ? NULL : writing.rows.items;
}
