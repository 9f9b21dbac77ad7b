// SPDX-License-Identifier: Apache-2.0
// How many bytes a kernel's parameter takes, from the words of its declaration.
#include "types.h"

#include <string.h>

static const struct {
    const char *word;
    size_t bytes;
} known[] = {
    { "double", 8 },    { "long", 8 },    { "size_t", 8 },   { "ptrdiff_t", 8 }, { "intptr_t", 8 },
    { "uintptr_t", 8 }, { "int64_t", 8 }, { "uint64_t", 8 }, { "char", 1 },      { "bool", 1 },
    { "int8_t", 1 },    { "uint8_t", 1 }, { "short", 2 },    { "int16_t", 2 },   { "uint16_t", 2 },
    { "int", 4 },       { "float", 4 },   { "unsigned", 4 }, { "signed", 4 },    { "int32_t", 4 },
    { "uint32_t", 4 },
};

bool token_equals(struct token a, struct token b)
{
    return a.length == b.length && memcmp(a.start, b.start, a.length) == 0;
}

size_t types_word_bytes(const struct types *types, struct token word, size_t *out_align)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (token_is(word, known[i].word))
            return *out_align = known[i].bytes;
    for (size_t i = 0; i < types->num_typedefs; i++)
        if (token_equals(types->typedefs[i].name, word)) {
            *out_align = types->typedefs[i].align;
            return types->typedefs[i].bytes;
        }
    return 0;
}

bool types_is_qualifier(struct token word)
{
    return token_is(word, "const") || token_is(word, "volatile") ||
           token_is(word, "__restrict__") || token_is(word, "__grid_constant__");
}

void types_add(struct types *types, struct token name, size_t bytes, size_t align)
{
    if (types->num_typedefs == MAX_TYPEDEFS)
        return;
    types->typedefs[types->num_typedefs].name = name;
    types->typedefs[types->num_typedefs].align = align;
    types->typedefs[types->num_typedefs++].bytes = bytes;
}

// `unsigned long long n`: the widest of long, short and char decides, int and unsigned do not.
size_t types_bytes(const struct types *types, const struct token *words, size_t num_words)
{
    size_t bytes = 0;
    bool weak = true; // decided by unsigned, signed or int only
    for (size_t i = 0; i < num_words; i++)
        if (token_is(words[i], "*") || token_is(words[i], "["))
            return 8;
    for (size_t i = 0; i < num_words; i++) {
        if (types_is_qualifier(words[i]))
            continue;
        size_t align, more = types_word_bytes(types, words[i], &align);
        if (more == 0 && bytes == 0)
            return 0; // a type that is not known; after a type it would be the name
        if (more != 0 && weak) {
            weak = token_is(words[i], "unsigned") || token_is(words[i], "signed") ||
                   token_is(words[i], "int");
            bytes = more;
        }
    }
    return bytes;
}

void types_read_typedef(struct types *types, struct tokens *tokens)
{
    enum { MAX_WORDS = 32 };
    struct token words[MAX_WORDS], token;
    size_t num_words = 0;
    int depth = 0;
    for (;;) {
        token = tokens_next(tokens);
        if (token_is(token, "{") && num_words > 0 && token_is(words[0], "struct")) {
            types_read_struct(types, tokens);
            return;
        }
        depth += token_is(token, "{") - token_is(token, "}");
        if (token.start == NULL || (depth == 0 && token_is(token, ";")))
            break;
        if (num_words < MAX_WORDS)
            words[num_words++] = token;
    }
    if (num_words < 2 || num_words == MAX_WORDS)
        return;
    size_t bytes = types_bytes(types, words, num_words - 1);
    if (bytes == 0 || !token_is_word(words[num_words - 1]))
        return;
    size_t align = bytes;
    if (num_words == 2)
        types_word_bytes(types, words[0], &align);
    types_add(types, words[num_words - 1], bytes, align);
}
