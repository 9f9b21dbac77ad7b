// SPDX-License-Identifier: Apache-2.0
// C source as tokens: words, strings, single characters; comments and directives are skipped.
#include "tokens.h"

#include <ctype.h>
#include <string.h>

static void advance(struct tokens *tokens, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tokens->line += *tokens->at++ == '\n';
}

static void skip_comment(struct tokens *tokens)
{
    if (tokens->at[1] == '/') {
        advance(tokens, strcspn(tokens->at, "\n"));
        return;
    }
    const char *end = strstr(tokens->at + 2, "*/");
    advance(tokens, end == NULL ? strlen(tokens->at) : (size_t)(end + 2 - tokens->at));
}

// A directive ends with the first line that does not end in a backslash.
static void skip_directive(struct tokens *tokens)
{
    const char *word = tokens->at + 1;
    word += strspn(word, " \t");
    if (strncmp(word, "error", 5) == 0 && tokens->error_line == 0) {
        tokens->error_line = tokens->line;
        tokens->error_text = word + 5 + strspn(word + 5, " \t");
    }
    size_t length = strcspn(tokens->at, "\n");
    while (length > 0 && tokens->at[length - 1] == '\\' && tokens->at[length] != '\0')
        length += 1 + strcspn(tokens->at + length + 1, "\n");
    advance(tokens, length);
}

static void skip_space(struct tokens *tokens)
{
    for (;;) {
        const char *at = tokens->at;
        if (isspace((unsigned char)*at))
            advance(tokens, 1);
        else if (at[0] == '/' && (at[1] == '/' || at[1] == '*'))
            skip_comment(tokens);
        else if (at[0] == '#')
            skip_directive(tokens);
        else
            return;
    }
}

static size_t string_length(const char *at)
{
    size_t length = 1;
    while (at[length] != '\0' && at[length] != at[0])
        length += at[length] == '\\' && at[length + 1] != '\0' ? 2 : 1;
    return length + (at[length] != '\0');
}

struct token tokens_next(struct tokens *tokens)
{
    skip_space(tokens);
    struct token token = { .start = tokens->at, .length = 1, .line = tokens->line };
    unsigned char first = (unsigned char)*tokens->at;
    if (first == '\0')
        return (struct token){ .line = tokens->line };
    if (isalnum(first) || first == '_')
        while (isalnum((unsigned char)token.start[token.length]) ||
               token.start[token.length] == '_')
            token.length++;
    else if (first == '"' || first == '\'')
        token.length = string_length(token.start);
    advance(tokens, token.length);
    return token;
}

bool token_is(struct token token, const char *text)
{
    return token.start != NULL && strlen(text) == token.length &&
           memcmp(token.start, text, token.length) == 0;
}

bool token_is_word(struct token token)
{
    return token.start != NULL && (isalpha((unsigned char)*token.start) || *token.start == '_');
}
