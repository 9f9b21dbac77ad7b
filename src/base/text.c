// SPDX-License-Identifier: Apache-2.0
// Any bytes as text in UTF-8, XML and JSON, and in one line.
#include "base/text.h"

#include <stdint.h>

// The smallest code point that a sequence of 2, 3 or 4 bytes may encode.
static const uint32_t smallest_of_length[] = { 0, 0, 0x80, 0x800, 0x10000 };

static size_t sequence_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead < 0xe0)
        return 2;
    if (lead >= 0xe0 && lead < 0xf0)
        return 3;
    return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

// XML, and so SVG, allows neither surrogates nor the two last code points of the first plane.
static int is_drawable(uint32_t code, size_t length)
{
    int is_surrogate = code >= 0xd800 && code < 0xe000;
    int is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    return code >= smallest_of_length[length] && code <= 0x10ffff && !is_surrogate && !is_control &&
           code != 0xfffe && code != 0xffff;
}

size_t braid_text_character(const char *start)
{
    const unsigned char *text = (const unsigned char *)start;
    size_t length = sequence_length(text[0]);
    if (length == 0)
        return 0;
    uint32_t code = length == 1 ? text[0] : text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    return is_drawable(code, length) ? length : 0;
}

static const char *find_xml_escape(char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

void braid_text_write_xml(FILE *file, const char *text)
{
    while (*text) {
        const char *escape = find_xml_escape(*text);
        size_t length = braid_text_character(text);
        if (escape)
            fputs(escape, file);
        else if (length > 0)
            fwrite(text, 1, length, file);
        else
            fprintf(file, *text == '\n' ? " " : "\\x%02x", (unsigned char)*text);
        text += length > 0 ? length : 1;
    }
}

// JSON in a page's script must neither end the script nor start a tag.
void braid_text_write_json(FILE *file, const char *text)
{
    while (*text) {
        size_t length = braid_text_character(text);
        if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else if (*text == '<' || *text == '>' || *text == '&' || *text == '\n')
            fprintf(file, "\\u%04x", (unsigned char)*text);
        else if (length > 0)
            fwrite(text, 1, length, file);
        else
            fprintf(file, "\\\\x%02x", (unsigned char)*text);
        text += length > 0 ? length : 1;
    }
}

void braid_text_keep_one_line(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
    }
}
