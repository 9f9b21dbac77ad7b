// SPDX-License-Identifier: Apache-2.0
// The tokens of a DOT file, as Graphviz' scanner takes a text apart that has no comments.
#include "dot_token.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static char byte_at(const struct dot_scanner *scanner, size_t position)
{
    return position < scanner->text->length ? scanner->text->data[position] : '\0';
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

char dot_token_peek(struct dot_scanner *scanner)
{
    while (is_space(byte_at(scanner, scanner->position)))
        scanner->position++;
    return byte_at(scanner, scanner->position);
}

// Behind the quote that ends the string. The text has no string without an end.
static void skip_quoted(struct dot_scanner *scanner)
{
    for (scanner->position++; byte_at(scanner, scanner->position) != '"'; scanner->position++)
        scanner->position += byte_at(scanner, scanner->position) == '\\';
    scanner->position++;
}

// Behind <...>, which may have further pairs inside.
static void skip_html(struct dot_scanner *scanner)
{
    size_t depth = 0;
    do {
        depth += byte_at(scanner, scanner->position) == '<';
        depth -= byte_at(scanner, scanner->position) == '>';
        scanner->position++;
    } while (depth > 0);
}

static void skip_string(struct dot_scanner *scanner)
{
    if (byte_at(scanner, scanner->position) == '"')
        skip_quoted(scanner);
    else
        skip_html(scanner);
}

static bool begins_string(char byte)
{
    return byte == '"' || byte == '<';
}

// Goes to the next of the strings that '+' joins. False: there is no other, and it stays.
static bool find_joined(struct dot_scanner *scanner)
{
    struct dot_scanner ahead = *scanner;
    if (dot_token_peek(&ahead) != '+')
        return false;
    ahead.position++;
    if (!begins_string(dot_token_peek(&ahead)))
        return false;
    *scanner = ahead;
    return true;
}

static bool is_letter(char byte)
{
    return ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') || byte == '_' || (byte & 0x80);
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool begins_number(const struct dot_scanner *scanner, size_t at)
{
    at += byte_at(scanner, at) == '-';
    at += byte_at(scanner, at) == '.';
    return is_digit(byte_at(scanner, at));
}

static void skip_digits(struct dot_scanner *scanner)
{
    while (is_digit(byte_at(scanner, scanner->position)))
        scanner->position++;
}

// One point at most; a letter behind it begins another name.
static void skip_number(struct dot_scanner *scanner)
{
    scanner->position += byte_at(scanner, scanner->position) == '-';
    skip_digits(scanner);
    if (byte_at(scanner, scanner->position) == '.') {
        scanner->position++;
        skip_digits(scanner);
    }
}

static void skip_word(struct dot_scanner *scanner)
{
    const char *data = scanner->text->data;
    size_t at = scanner->position + 1;
    while (at < scanner->text->length && (is_letter(data[at]) || is_digit(data[at])))
        at++;
    scanner->position = at;
}

static int find_keyword(const char *word, size_t length)
{
    static const struct {
        char word[12];
        size_t length;
        int kind;
    } keywords[] = { { "subgraph", 8, DOT_TOKEN_SUBGRAPH }, { "node", 4, DOT_TOKEN_NODE },
                     { "edge", 4, DOT_TOKEN_EDGE },         { "graph", 5, DOT_TOKEN_GRAPH },
                     { "digraph", 7, DOT_TOKEN_DIGRAPH },   { "strict", 6, DOT_TOKEN_STRICT } };
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
        if (keywords[i].length == length && (*word | 0x20) == *keywords[i].word &&
            strncasecmp(keywords[i].word, word, length) == 0)
            return keywords[i].kind;
    }
    return DOT_TOKEN_NAME;
}

// What begins at the scanner's place, which goes behind it.
static int skip_token(struct dot_scanner *scanner)
{
    const size_t start = scanner->position;
    const char byte = byte_at(scanner, start);
    if (is_letter(byte)) {
        skip_word(scanner);
        return find_keyword(scanner->text->data + start, scanner->position - start);
    }
    if (begins_string(byte)) {
        do {
            skip_string(scanner);
        } while (find_joined(scanner));
        return DOT_TOKEN_NAME;
    }
    if (begins_number(scanner, start)) {
        skip_number(scanner);
        return DOT_TOKEN_NAME;
    }
    const bool is_arrow = byte == '-' && byte_at(scanner, start + 1) == '>';
    scanner->position += is_arrow ? 2 : start < scanner->text->length;
    return is_arrow ? DOT_TOKEN_ARROW : (unsigned char)byte;
}

struct dot_token dot_token_next(struct dot_scanner *scanner)
{
    dot_token_peek(scanner);
    struct dot_token token = { .start = (uint32_t)scanner->position };
    token.kind = skip_token(scanner);
    token.end = (uint32_t)scanner->position;
    return token;
}

// Graphviz takes out a backslash before a quote, and both before a newline; it keeps others.
static void add_quoted(struct dot_string *string, const char *from, const char *end)
{
    while (from < end) {
        if (*from == '\\' && from[1] == '\n') {
            from += 2;
            continue;
        }
        if (*from == '\\' && from[1] == '\\')
            string->data[string->length++] = *from++;
        else if (*from == '\\' && from[1] == '"')
            from++;
        string->data[string->length++] = *from++;
    }
}

static void add_bytes(struct dot_string *string, const char *from, const char *end)
{
    memcpy(string->data + string->length, from, (size_t)(end - from));
    string->length += (size_t)(end - from);
}

// Adds what a string means, without what encloses it.
static void add_string(struct dot_string *string, struct dot_scanner *scanner)
{
    const char *start = scanner->text->data + scanner->position;
    skip_string(scanner);
    const char *end = scanner->text->data + scanner->position;
    if (*start == '"')
        add_quoted(string, start + 1, end - 1);
    else
        add_bytes(string, start + 1, end - 1);
}

static bool make_room(struct dot_string *string, size_t length)
{
    if (length < string->room)
        return true;
    const size_t room = 2 * length + 64;
    char *data = realloc(string->data, room);
    if (!data)
        return false;
    string->data = data;
    string->room = room;
    return true;
}

bool dot_string_take(const struct dot_text *text, struct dot_token token,
                     struct dot_string *out_string)
{
    struct dot_scanner scanner = { text, token.start };
    if (!make_room(out_string, token.end - token.start))
        return false;
    const char first = text->data[token.start];
    out_string->length = 0;
    out_string->is_html = first == '<';
    if (begins_string(first)) {
        add_string(out_string, &scanner);
        for (; find_joined(&scanner); out_string->is_html = false)
            add_string(out_string, &scanner);
    } else {
        add_bytes(out_string, text->data + token.start, text->data + token.end);
    }
    out_string->data[out_string->length] = '\0';
    return true;
}

bool dot_string_read(const struct dot_text *text, size_t position, struct dot_string *out_string)
{
    struct dot_scanner scanner = { text, position };
    return dot_string_take(text, dot_token_next(&scanner), out_string);
}
