// SPDX-License-Identifier: Apache-2.0
// Any bytes as text in UTF-8, XML and JSON, and in one line.
#include "base/text.h"

#include <stdbool.h>
#include <string.h>

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

// Whether `next` may follow a lead. The limits rule out surrogates, codes that have a shorter
// sequence, and codes beyond Unicode.
static bool may_follow(unsigned char lead, unsigned char next)
{
    unsigned char least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return next >= least && next <= most;
}

// How many bytes belong together: a character, or the longest part of one (The Unicode Standard 15,
// 3.9, "maximal subpart").
static size_t measure(const unsigned char *text, bool *out_is_character)
{
    size_t length = sequence_length(text[0]), num = 1;
    while (num < length && may_follow(num == 1 ? text[0] : 0x80, text[num]))
        num++;
    *out_is_character = num == length;
    return num;
}

// XML, and so SVG, allows neither most controls nor the two last code points of the first plane.
static bool is_control(const unsigned char *text)
{
    return text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0) ||
           (text[0] == 0xef && text[1] == 0xbf && text[2] >= 0xbe);
}

void braid_text_piece(const char *start, struct text_piece *out_piece)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const unsigned char *text = (const unsigned char *)start;
    bool is_character;
    size_t length = measure(text, &is_character), num = 0;
    *out_piece = (struct text_piece){ TEXT_CHARACTER, length, start, length, "" };
    if (!is_character) {
        out_piece->kind = TEXT_INVALID;
        out_piece->shown = replacement;
        out_piece->num_shown = sizeof(replacement) - 1;
    } else if (is_control(text)) {
        out_piece->kind = TEXT_CONTROL;
        out_piece->shown = out_piece->escaped;
        for (size_t i = 0; i < length; i++)
            num += (size_t)snprintf(out_piece->escaped + num, sizeof(out_piece->escaped) - num,
                                    "\\x%02x", text[i]);
        out_piece->num_shown = num;
    }
}

size_t braid_text_write_piece(FILE *file, const char *text, text_find_escape *find_escape)
{
    struct text_piece piece;
    const char *escape = find_escape(*text);
    if (escape) {
        fputs(escape, file);
        return 1;
    }
    braid_text_piece(text, &piece);
    for (size_t i = 0; i < piece.num_shown; i++) {
        escape = find_escape(piece.shown[i]);
        if (escape)
            fputs(escape, file);
        else
            fputc(piece.shown[i], file);
    }
    return piece.length;
}

static const char *find_xml_escape(char byte)
{
    switch (byte) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\n':
        return " ";
    default:
        return NULL;
    }
}

void braid_text_write_xml(FILE *file, const char *text)
{
    while (*text)
        text += braid_text_write_piece(file, text, find_xml_escape);
}

// JSON in a page's script must neither end the script nor start a tag.
static const char *find_json_escape(char byte)
{
    switch (byte) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '<':
        return "\\u003c";
    case '>':
        return "\\u003e";
    case '&':
        return "\\u0026";
    case '\n':
        return "\\u000a";
    default:
        return NULL;
    }
}

void braid_text_write_json(FILE *file, const char *text)
{
    while (*text)
        text += braid_text_write_piece(file, text, find_json_escape);
}

void braid_text_copy(const char *text, char *out, size_t size)
{
    static const char more[] = "...";
    size_t num = 0, cut = 0; // where the dots go, if the rest has no room
    struct text_piece piece;
    for (; *text; text += piece.length) {
        braid_text_piece(text, &piece);
        if (num + piece.num_shown >= size) {
            memcpy(out + cut, more, sizeof(more));
            return;
        }
        memcpy(out + num, piece.shown, piece.num_shown);
        num += piece.num_shown;
        if (num + sizeof(more) <= size)
            cut = num;
    }
    out[num] = '\0';
}

struct text_decimal braid_text_decimal(double number, int digits)
{
    const double most = 1e15; // parts, which are then exact
    struct text_decimal decimal;
    unsigned long long unit = 1;
    for (int i = 0; i < digits; i++)
        unit *= 10;
    const double parts = number * (double)unit + 0.5;
    const unsigned long long whole = (unsigned long long)(parts < most ? parts : most);
    int length = snprintf(decimal.text, sizeof(decimal.text), "%llu", whole / unit);
    if (digits)
        snprintf(decimal.text + length, sizeof(decimal.text) - (size_t)length, ".%0*llu", digits,
                 whole % unit);
    return decimal;
}

void braid_text_keep_one_line(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
    }
}
