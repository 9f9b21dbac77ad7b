// SPDX-License-Identifier: Apache-2.0
// PTX as words, without comments.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_WORDS_H
#define BRAID_BACKENDS_GPU_GPU_PTX_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// A word of the text (letters, digits, and . _ $ % ::), a string, or one other character.
struct ptx_word {
    const char *at;
    size_t length;
};

// The word at or after *text, which moves past it; length 0 at the end.
struct ptx_word braid_ptx_next_word(const char **text);

bool braid_ptx_word_is(struct ptx_word word, const char *text);
bool braid_ptx_word_begins(struct ptx_word word, const char *text);

static inline bool ptx_same_word(struct ptx_word a, struct ptx_word b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

// Whether an image is PTX text.
bool braid_gpu_is_ptx(const char *image);

#endif
