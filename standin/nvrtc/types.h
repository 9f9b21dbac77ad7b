// SPDX-License-Identifier: Apache-2.0
// How many bytes a kernel's parameter takes, from the words of its declaration.
#ifndef BRAID_STANDIN_NVRTC_TYPES_H
#define BRAID_STANDIN_NVRTC_TYPES_H

#include <stddef.h>

#include "tokens.h"

enum { MAX_TYPEDEFS = 64, MAX_CONSTANTS = 64 };

struct types {
    struct {
        struct token name;
        size_t bytes, align;
    } typedefs[MAX_TYPEDEFS];
    size_t num_typedefs;
    struct {
        struct token name;
        size_t value;
    } constants[MAX_CONSTANTS]; // enums' constants, where the value is written down
    size_t num_constants;
};

// Bytes of a type, or of a declaration with its name; 0: not understood.
size_t types_bytes(const struct types *types, const struct token *words, size_t num_words);

// Reads what follows the word typedef, up to its semicolon. What is not understood is left out.
void types_read_typedef(struct types *types, struct tokens *tokens);

// What follows the word enum: the constants in its braces, as far as `NAME = number` goes.
void types_read_enum(struct types *types, struct tokens *tokens);

// Between types.c and structs.c.
bool types_is_qualifier(struct token word);
size_t types_word_bytes(const struct types *types, struct token word, size_t *out_align);
void types_add(struct types *types, struct token name, size_t bytes, size_t align);
bool token_equals(struct token a, struct token b);

// A struct from its opening brace, which was read, to the name that a typedef gives it.
void types_read_struct(struct types *types, struct tokens *tokens);

#endif
