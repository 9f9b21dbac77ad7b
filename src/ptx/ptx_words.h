// SPDX-License-Identifier: Apache-2.0
// PTX as words, without comments.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_WORDS_H
#define BRAID_BACKENDS_GPU_GPU_PTX_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// A word of the text (letters, digits, and . _ $ % ::), a string, or one other character.
struct ptx_word {
    const char *at;
    size_t length;
};

// The word at or after *text, which moves past it; length 0 at the end.
struct ptx_word braid_ptx_next_word(const char **text);

// The text is not empty. Words differ from texts in the first character as a rule.
static inline bool braid_ptx_word_begins(struct ptx_word word, const char *text)
{
    return word.length && *word.at == *text && word.length >= strlen(text) &&
           memcmp(word.at, text, strlen(text)) == 0;
}

static inline bool braid_ptx_word_is(struct ptx_word word, const char *text)
{
    return word.length && *word.at == *text && strlen(text) == word.length &&
           memcmp(word.at, text, word.length) == 0;
}

// Whether it begins as the names of registers, labels, variables and functions do.
bool braid_ptx_is_name(struct ptx_word word);
// Whether it begins with a digit.
bool braid_ptx_is_number(struct ptx_word word);

// The number that begins at a place in the word, in base 10, or in that which it shows where base
// is 0. 0: there is none; UINT32_MAX: it is so large, or larger.
uint32_t braid_ptx_read_number(struct ptx_word word, size_t at, int base);

static inline bool ptx_same_word(struct ptx_word a, struct ptx_word b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

// Whether an image is PTX text.
bool braid_ptx_is_text(const char *image);

#endif
