// SPDX-License-Identifier: Apache-2.0
// The tokens of a DOT file, as Graphviz' scanner takes a text apart that has no comments.
#include "dot_token.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static char byte_at(const struct dot_scanner *scanner, size_t position)
{
    return position < scanner->text->length ? scanner->text->data[position] : '\0';
}

char dot_token_peek(struct dot_scanner *scanner)
{
    while (isspace((unsigned char)byte_at(scanner, scanner->position)))
        scanner->position++;
    return byte_at(scanner, scanner->position);
}

// FNV-1a, begun with `hash`.
static uint64_t hash_bytes(const struct dot_scanner *scanner, size_t start, size_t end,
                           uint64_t hash)
{
    for (size_t i = start; i < end; i++)
        hash = (hash ^ (unsigned char)scanner->text->data[i]) * 0x100000001b3;
    return hash;
}

#define HASH_START ((uint64_t)0xcbf29ce484222325)

// Up to the quote that ends the string. Adds it to the hash.
static uint64_t take_quoted(struct dot_scanner *scanner, uint64_t hash)
{
    const size_t start = ++scanner->position;
    while (scanner->position < scanner->text->length && byte_at(scanner, scanner->position) != '"')
        scanner->position += byte_at(scanner, scanner->position) == '\\' ? 2 : 1;
    if (scanner->position > scanner->text->length)
        scanner->position = scanner->text->length;
    hash = hash_bytes(scanner, start, scanner->position, hash);
    scanner->position += scanner->position < scanner->text->length;
    return hash;
}

// A string, and all that '+' joins to it.
static uint64_t take_strings(struct dot_scanner *scanner)
{
    uint64_t hash = take_quoted(scanner, HASH_START);
    while (dot_token_peek(scanner) == '+') {
        scanner->position++;
        if (dot_token_peek(scanner) == '"')
            hash = take_quoted(scanner, hash);
    }
    return hash;
}

// <...> with further pairs inside. It is never the same name as a quoted one.
static uint64_t take_html(struct dot_scanner *scanner)
{
    const size_t start = scanner->position;
    size_t depth = 0;
    do {
        depth += byte_at(scanner, scanner->position) == '<';
        depth -= byte_at(scanner, scanner->position) == '>';
        scanner->position++;
    } while (depth > 0 && scanner->position < scanner->text->length);
    return hash_bytes(scanner, start, scanner->position, HASH_START);
}

static bool is_letter(char byte)
{
    return isalpha((unsigned char)byte) || byte == '_' || (byte & 0x80);
}

static bool is_in_number(char byte)
{
    return isdigit((unsigned char)byte) || byte == '.';
}

static int find_keyword(const char *word, size_t length)
{
    static const struct {
        const char *word;
        int kind;
    } keywords[] = { { "subgraph", DOT_TOKEN_SUBGRAPH },
                     { "node", DOT_TOKEN_DEFAULTS },
                     { "edge", DOT_TOKEN_DEFAULTS },
                     { "graph", DOT_TOKEN_DEFAULTS } };
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
        if (strlen(keywords[i].word) == length && strncasecmp(keywords[i].word, word, length) == 0)
            return keywords[i].kind;
    }
    return DOT_TOKEN_NAME;
}

static struct dot_token take_word(struct dot_scanner *scanner)
{
    const size_t start = scanner->position;
    const char *word = scanner->text->data + start;
    const bool is_name = is_letter(*word);
    char byte;
    do {
        byte = byte_at(scanner, ++scanner->position);
    } while (is_in_number(byte) ? byte != '.' || !is_name : is_name && is_letter(byte));
    return (struct dot_token){ is_name ? find_keyword(word, scanner->position - start)
                                       : DOT_TOKEN_NAME,
                               hash_bytes(scanner, start, scanner->position, HASH_START) };
}

struct dot_token dot_token_next(struct dot_scanner *scanner)
{
    const char byte = dot_token_peek(scanner);
    const char next = byte ? byte_at(scanner, scanner->position + 1) : '\0';
    if (byte == '"')
        return (struct dot_token){ DOT_TOKEN_NAME, take_strings(scanner) };
    if (byte == '<')
        return (struct dot_token){ DOT_TOKEN_NAME, take_html(scanner) };
    if (byte == '-' && (next == '>' || next == '-')) {
        scanner->position += 2;
        return (struct dot_token){ DOT_TOKEN_ARROW, 0 };
    }
    if (is_letter(byte) || is_in_number(byte) || (byte == '-' && is_in_number(next)))
        return take_word(scanner);
    scanner->position += byte != '\0';
    return (struct dot_token){ (unsigned char)byte, 0 };
}
