// SPDX-License-Identifier: Apache-2.0
// The pieces of a capture, each checked against the end of its section.
#include "capture_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void capture_refuse(struct capture_reader *reader, const char *format, ...)
{
    char why[256];
    va_list arguments;
    if (reader->status != EXIT_DONE)
        return;
    va_start(arguments, format);
    vsnprintf(why, sizeof(why), format, arguments);
    va_end(arguments);
    reader->status = fail(EXIT_BAD_FILE, "%s: section %s, byte %zu: %s", reader->file->path,
                          reader->section, reader->at, why);
    reader->at = reader->end;
}

const unsigned char *capture_take(struct capture_reader *reader, uint64_t num)
{
    if (reader->status == EXIT_DONE && num > reader->end - reader->at)
        capture_refuse(reader, "%" PRIu64 " bytes are needed, and %zu are left", num,
                       reader->end - reader->at);
    if (reader->status != EXIT_DONE)
        return NULL;
    reader->at += (size_t)num;
    return reader->file->bytes + reader->at - num;
}

uint64_t capture_take_number(struct capture_reader *reader, uint32_t bytes)
{
    const unsigned char *little = capture_take(reader, bytes);
    uint64_t number = 0;
    for (uint32_t i = 0; little && i < bytes; i++)
        number |= (uint64_t)little[i] << 8 * i;
    return number;
}

uint32_t capture_take_below(struct capture_reader *reader, uint32_t bytes, uint64_t end,
                            const char *what)
{
    uint64_t number = capture_take_number(reader, bytes);
    if (number < end || reader->status != EXIT_DONE)
        return (uint32_t)number;
    capture_refuse(reader, "there is no %s %" PRIu64, what, number);
    return 0;
}

const char *capture_take_text(struct capture_reader *reader, bool is_needed)
{
    uint64_t num = capture_take_number(reader, 4);
    const char *text = (const char *)capture_take(reader, num);
    if (reader->status != EXIT_DONE)
        return NULL;
    if (num ? memchr(text, 0, num) != text + num - 1 : is_needed)
        capture_refuse(reader, "a text does not end in its only zero");
    return num && reader->status == EXIT_DONE ? text : NULL;
}

const unsigned char *capture_take_block(struct capture_reader *reader, uint64_t *out_num)
{
    *out_num = capture_take_number(reader, 8);
    const unsigned char *zeros = capture_take(reader, (16 - reader->at % 16) % 16);
    for (const unsigned char *end = reader->file->bytes + reader->at; zeros && zeros < end;
         zeros++) {
        if (*zeros)
            capture_refuse(reader, "the bytes before a block are not 0");
    }
    return capture_take(reader, *out_num);
}

bool capture_begin_section(struct capture_reader *reader, const char *tag)
{
    size_t end_of_file = reader->file->num_bytes - 8;
    memcpy(reader->section, tag, sizeof(reader->section));
    reader->end = reader->status == EXIT_DONE ? end_of_file : reader->at;
    const unsigned char *found = capture_take(reader, 4);
    if (found && memcmp(found, tag, 4) != 0)
        capture_refuse(reader, "another section begins here");
    uint64_t num = capture_take_number(reader, 8);
    if (reader->status == EXIT_DONE && num > reader->end - reader->at)
        capture_refuse(reader, "it has %" PRIu64 " bytes, and %zu are left", num,
                       reader->end - reader->at);
    if (reader->status == EXIT_DONE)
        reader->end = reader->at + (size_t)num;
    return reader->status == EXIT_DONE;
}

void capture_end_section(struct capture_reader *reader)
{
    if (reader->at != reader->end)
        capture_refuse(reader, "%zu bytes too many", reader->end - reader->at);
}

void *capture_take_items(struct capture_reader *reader, size_t least, size_t item_bytes,
                         uint32_t *out_num)
{
    uint64_t num = capture_take_number(reader, 4);
    if (num > (reader->end - reader->at) / least)
        capture_refuse(reader, "%" PRIu64 " items do not fit", num);
    if (reader->status != EXIT_DONE)
        num = 0;
    void *items = calloc(num ? num : 1, item_bytes);
    if (!items) {
        if (reader->status == EXIT_DONE)
            reader->status = fail(EXIT_FAILED, "out of memory for %s", reader->file->path);
        num = 0;
    }
    *out_num = (uint32_t)num;
    return items;
}

void *capture_append(struct capture_reader *reader, struct array *list, size_t num,
                     size_t item_bytes)
{
    if (reader->status != EXIT_DONE)
        return NULL;
    void *first = braid_array_append(list, num, item_bytes);
    if (!first)
        reader->status = fail(EXIT_FAILED, "out of memory for %s", reader->file->path);
    return first ? memset(first, 0, num * item_bytes) : NULL;
}
