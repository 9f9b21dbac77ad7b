// SPDX-License-Identifier: Apache-2.0
// Reading JSON (RFC 8259) piece by piece, as far as the library's own files go.
#include "base/json_read.h"

#include <string.h>

enum { MOST_DEPTH = 64 };

static void skip_space(struct json_reader *reader)
{
    reader->at += strspn(reader->at, " \t\r\n");
}

bool braid_json_take(struct json_reader *reader, char c)
{
    skip_space(reader);
    if (reader->failed || *reader->at != c)
        return false;
    reader->at++;
    return true;
}

// One character of a string, past which *reader moves; -1: none that can be read.
static int take_character(struct json_reader *reader)
{
    static const char signs[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    unsigned char c = (unsigned char)*reader->at;
    if (c < 0x20)
        return -1;
    reader->at++;
    if (c != '\\')
        return c;
    const char *sign = *reader->at ? strchr(signs, *reader->at) : NULL;
    if (!sign)
        return -1;
    reader->at++;
    return meanings[sign - signs];
}

void braid_json_string(struct json_reader *reader, char *text, size_t size)
{
    size_t num = 0;
    text[0] = '\0';
    if (!braid_json_take(reader, '"')) {
        reader->failed = true;
        return;
    }
    while (!reader->failed && *reader->at != '"') {
        int c = take_character(reader);
        reader->failed = c < 0 || num + 1 >= size;
        if (!reader->failed)
            text[num++] = (char)c;
    }
    text[num] = '\0';
    reader->at += !reader->failed;
}

uint64_t braid_json_number(struct json_reader *reader)
{
    uint64_t number = 0;
    skip_space(reader);
    const char *first = reader->at;
    while (!reader->failed && *reader->at >= '0' && *reader->at <= '9') {
        uint64_t digit = (uint64_t)(*reader->at++ - '0');
        reader->failed = number > (UINT64_MAX - digit) / 10;
        number = number * 10 + digit;
    }
    // No sign, no leading zero, no fraction.
    reader->failed |= reader->at == first || (*first == '0' && reader->at != first + 1) ||
                      (*reader->at && strchr(".eE", *reader->at));
    return reader->failed ? 0 : number;
}

static void skip_string(struct json_reader *reader)
{
    reader->at++;
    while (*reader->at && *reader->at != '"')
        reader->at += reader->at[0] == '\\' && reader->at[1] ? 2 : 1;
    reader->failed |= *reader->at != '"';
    reader->at += !reader->failed;
}

static void skip_members(struct json_reader *reader, char close)
{
    reader->at++;
    reader->failed |= ++reader->depth > MOST_DEPTH;
    if (!braid_json_take(reader, close)) {
        do {
            if (close == '}') {
                skip_space(reader);
                reader->failed |= *reader->at != '"';
                if (!reader->failed)
                    skip_string(reader);
                reader->failed |= !braid_json_take(reader, ':');
            }
            braid_json_skip(reader);
        } while (braid_json_take(reader, ','));
        reader->failed |= !braid_json_take(reader, close);
    }
    reader->depth--;
}

void braid_json_skip(struct json_reader *reader)
{
    skip_space(reader);
    if (reader->failed)
        return;
    if (*reader->at == '"') {
        skip_string(reader);
    } else if (*reader->at == '{') {
        skip_members(reader, '}');
    } else if (*reader->at == '[') {
        skip_members(reader, ']');
    } else { // a number or a word
        size_t length = strcspn(reader->at, " \t\r\n,]}:\"[{");
        reader->failed = length == 0;
        reader->at += length;
    }
}

bool braid_json_end(struct json_reader *reader)
{
    skip_space(reader);
    return !reader->failed && *reader->at == '\0';
}
