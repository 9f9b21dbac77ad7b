// SPDX-License-Identifier: Apache-2.0
// CUDA C++ as tokens, without comments.
#include "backends/gpu/gpu_tokens.h"

#include <ctype.h>
#include <string.h>

bool braid_token_is(struct token token, const char *text)
{
    return token.length == strlen(text) && memcmp(token.at, text, token.length) == 0;
}

bool braid_token_begins(struct token token, const char *text)
{
    return token.length >= strlen(text) && memcmp(token.at, text, strlen(text)) == 0;
}

bool braid_token_is_one_of(struct token token, const char *const *texts)
{
    for (; *texts; texts++) {
        if (braid_token_is(token, *texts))
            return true;
    }
    return false;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// Behind a line break that a backslash takes back, or behind the next character.
static const char *next_in_line(const char *at)
{
    bool continued = at[0] == '\\' && (at[1] == '\n' || (at[1] == '\r' && at[2] == '\n'));
    return at + (!continued ? 1 : at[1] == '\n' ? 2 : 3);
}

// The end of what a line has: the first line break without a backslash before it.
static const char *line_end(const char *at)
{
    while (*at && *at != '\n')
        at = next_in_line(at);
    return at;
}

static const char *directive_end(const char *at)
{
    while (*at && *at != '\n') {
        if (at[0] == '/' && at[1] == '/')
            return line_end(at);
        if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else {
            at = next_in_line(at);
        }
    }
    return at;
}

static const char *string_end(const char *at)
{
    char quote = *at++;
    while (*at && *at != quote && *at != '\n')
        at += at[0] == '\\' && at[1] ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

static void skip_space(struct lexer *lexer)
{
    for (;;) {
        const char *at = lexer->at;
        if (isspace((unsigned char)*at)) {
            lexer->line_start |= *at == '\n';
            lexer->at++;
        } else if (at[0] == '/' && at[1] == '/') {
            lexer->at = line_end(at);
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            lexer->at = end ? end + 2 : at + strlen(at);
        } else {
            return;
        }
    }
}

// A number's quotes (1'000) and suffixes belong to it.
static const char *word_end(const char *at)
{
    bool number = isdigit((unsigned char)*at);
    while (in_word(*at) || (number && (*at == '.' || (*at == '\'' && in_word(at[1])))))
        at++;
    return at;
}

struct token braid_token_next(struct lexer *lexer)
{
    skip_space(lexer);
    const char *at = lexer->at;
    struct token token = { .kind = TOKEN_OTHER, .at = at };
    if (!*at) {
        token.kind = TOKEN_END;
    } else if (*at == '#' && lexer->line_start) {
        token.kind = TOKEN_DIRECTIVE;
        lexer->at = directive_end(at);
    } else if (*at == '"' || *at == '\'') {
        token.kind = TOKEN_STRING;
        lexer->at = string_end(at);
    } else if (in_word(*at)) {
        token.kind = TOKEN_WORD;
        lexer->at = word_end(at);
        if (*lexer->at == '"' && lexer->at[-1] == 'R')
            lexer->has_raw_string = true;
    } else {
        lexer->at++;
    }
    lexer->line_start = false;
    token.length = (size_t)(lexer->at - at);
    return token;
}

struct token braid_token_peek(const struct lexer *lexer)
{
    struct lexer ahead = *lexer;
    return braid_token_next(&ahead);
}
