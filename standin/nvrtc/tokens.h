// SPDX-License-Identifier: Apache-2.0
// C source as tokens: words, strings, single characters; comments and directives are skipped.
#ifndef BRAID_STANDIN_NVRTC_TOKENS_H
#define BRAID_STANDIN_NVRTC_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

struct token {
    const char *start; // NULL: the end
    size_t length;
    int line;
};

struct tokens {
    const char *at;
    int line;
    int error_line;         // where the first #error is; 0: none so far
    const char *error_text; // the rest of that line
};

struct token tokens_next(struct tokens *tokens);
bool token_is(struct token token, const char *text);
bool token_is_word(struct token token);

#endif
