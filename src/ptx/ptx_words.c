// SPDX-License-Identifier: Apache-2.0
// PTX as words, without comments.
#include "ptx/ptx_words.h"

#include <ctype.h>
#include <limits.h>
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
        if (*text == ' ' || (*text >= '\t' && *text <= '\r'))
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
    static const bool belongs[UCHAR_MAX + 1] = {
        ['.'] = true, ['_'] = true, ['$'] = true, ['%'] = true, ['0'] = true, ['1'] = true,
        ['2'] = true, ['3'] = true, ['4'] = true, ['5'] = true, ['6'] = true, ['7'] = true,
        ['8'] = true, ['9'] = true, ['a'] = true, ['b'] = true, ['c'] = true, ['d'] = true,
        ['e'] = true, ['f'] = true, ['g'] = true, ['h'] = true, ['i'] = true, ['j'] = true,
        ['k'] = true, ['l'] = true, ['m'] = true, ['n'] = true, ['o'] = true, ['p'] = true,
        ['q'] = true, ['r'] = true, ['s'] = true, ['t'] = true, ['u'] = true, ['v'] = true,
        ['w'] = true, ['x'] = true, ['y'] = true, ['z'] = true, ['A'] = true, ['B'] = true,
        ['C'] = true, ['D'] = true, ['E'] = true, ['F'] = true, ['G'] = true, ['H'] = true,
        ['I'] = true, ['J'] = true, ['K'] = true, ['L'] = true, ['M'] = true, ['N'] = true,
        ['O'] = true, ['P'] = true, ['Q'] = true, ['R'] = true, ['S'] = true, ['T'] = true,
        ['U'] = true, ['V'] = true, ['W'] = true, ['X'] = true, ['Y'] = true, ['Z'] = true,
    };
    return belongs[(unsigned char)c];
}

static const char *skip_word(const char *text)
{
    for (;;) {
        while (in_word(*text))
            text++;
        if (text[0] != ':' || text[1] != ':')
            return text;
        text += 2;
    }
}

struct ptx_word braid_ptx_next_word(const char **text)
{
    struct ptx_word word = { .at = skip_space(*text) };
    const char *end = word.at;
    if (*end == '"') {
        end += 1 + strcspn(end + 1, "\"");
        end += *end == '"';
    } else if (in_word(*end)) {
        end = skip_word(end);
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

bool braid_ptx_is_text(const char *image)
{
    return braid_ptx_word_is(braid_ptx_next_word(&image), ".version");
}
