// SPDX-License-Identifier: Apache-2.0
// CUDA C++ as tokens, without comments.
#ifndef BRAID_BACKENDS_GPU_GPU_TOKENS_H
#define BRAID_BACKENDS_GPU_GPU_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_OTHER, TOKEN_DIRECTIVE };

struct token {
    enum token_kind kind;
    const char *at;
    size_t length;
};

struct lexer {
    const char *at;
    bool line_start; // only space since the last line break
    bool has_raw_string;
};

struct token braid_token_next(struct lexer *lexer);
struct token braid_token_peek(const struct lexer *lexer);

bool braid_token_is(struct token token, const char *text);
bool braid_token_begins(struct token token, const char *text);
bool braid_token_is_one_of(struct token token, const char *const *texts); // ended by NULL

#endif
