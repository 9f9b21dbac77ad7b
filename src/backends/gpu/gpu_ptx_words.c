// SPDX-License-Identifier: Apache-2.0
// PTX as words, without comments.
#include "backends/gpu/gpu_ptx_words.h"

#include <ctype.h>
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
    return isalnum((unsigned char)c) || (c && strchr("._$%", c));
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

bool braid_ptx_word_is(struct ptx_word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.at, text, word.length) == 0;
}

bool braid_ptx_word_begins(struct ptx_word word, const char *text)
{
    return word.length >= strlen(text) && memcmp(word.at, text, strlen(text)) == 0;
}

bool braid_gpu_is_ptx(const char *image)
{
    return braid_ptx_word_is(braid_ptx_next_word(&image), ".version");
}
