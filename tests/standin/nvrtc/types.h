// SPDX-License-Identifier: Apache-2.0
// How many bytes a kernel's parameter takes, from the words of its declaration.
#ifndef BRAID_STANDIN_NVRTC_TYPES_H
#define BRAID_STANDIN_NVRTC_TYPES_H

#include <stddef.h>

#include "tokens.h"

enum { MAX_TYPEDEFS = 64 };

struct types {
    struct {
        struct token name;
        size_t bytes;
    } typedefs[MAX_TYPEDEFS];
    size_t num_typedefs;
};

// Bytes of a type, or of a declaration with its name; 0: not understood.
size_t types_bytes(const struct types *types, const struct token *words, size_t num_words);

// Reads what follows the word typedef, up to its semicolon. What is not understood is left out.
void types_read_typedef(struct types *types, struct tokens *tokens);

#endif
