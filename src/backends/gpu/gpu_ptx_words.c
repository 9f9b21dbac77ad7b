// SPDX-License-Identifier: Apache-2.0
// PTX as words, without comments.
#include "backends/gpu/gpu_ptx_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_comment(const char *text)
{
    if (text[1] == '/')
        return text + strcspn(text, "\n");
    const char *end = strstr(text + 2, "*/");
    return end ? end + 2 : text + strlen(text);
}

static const char *skip_space(const char *text)
{
    while (*text) {
        if (isspace((unsigned char)*text))
            text++;
        else if (text[0] == '/' && (text[1] == '/' || text[1] == '*'))
            text = skip_comment(text);
        else
            break;
    }
    return text;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '$' || c == '%';
}

struct ptx_word braid_ptx_next_word(const char **text)
{
    struct ptx_word word = { .at = skip_space(*text) };
    const char *end = word.at;
    if (*end == '"') {
        end += 1 + strcspn(end + 1, "\"");
        end += *end == '"';
    } else if (in_word(*end)) {
        while (in_word(*end) || (end[0] == ':' && end[1] == ':'))
            end += *end == ':' ? 2 : 1;
    } else if (*end) {
        end++;
    }
    word.length = (size_t)(end - word.at);
    *text = end;
    return word;
}

bool braid_ptx_is_number(struct ptx_word word)
{
    return word.length && isdigit((unsigned char)*word.at);
}

bool braid_ptx_is_name(struct ptx_word word)
{
    return word.length && in_word(*word.at) && *word.at != '.' && !braid_ptx_is_number(word);
}

uint32_t braid_ptx_read_number(struct ptx_word word, size_t at, int base)
{
    if (at >= word.length || !isdigit((unsigned char)word.at[at]))
        return 0;
    unsigned long number = strtoul(word.at + at, NULL, base);
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

bool braid_gpu_is_ptx(const char *image)
{
    return braid_ptx_word_is(braid_ptx_next_word(&image), ".version");
}
