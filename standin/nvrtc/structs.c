// SPDX-License-Identifier: Apache-2.0
// How many bytes a struct takes: members of known types, pointers, and arrays whose length is a
// number or a constant of an enum, each at its natural alignment.
#include "types.h"

#include <stdlib.h>

enum { MAX_WORDS = 64 };

struct layout {
    size_t bytes, align; // align 0: not understood
};

static size_t number_of(const struct types *types, struct token word)
{
    for (size_t i = 0; i < types->num_constants; i++)
        if (token_equals(types->constants[i].name, word))
            return types->constants[i].value;
    return token_is_word(word) ? 0 : strtoul(word.start, NULL, 0);
}

void types_read_enum(struct types *types, struct tokens *tokens)
{
    struct token name = { 0 }, token;
    while ((token = tokens_next(tokens)).start && !token_is(token, ";") && !token_is(token, "}")) {
        if (token_is(token, "=") && types->num_constants < MAX_CONSTANTS) {
            types->constants[types->num_constants].name = name;
            types->constants[types->num_constants++].value = number_of(types, tokens_next(tokens));
        }
        name = token;
    }
}

static void place(struct layout *layout, size_t bytes, size_t align, size_t count)
{
    if (bytes == 0 || count == 0)
        layout->align = 0;
    if (layout->align == 0)
        return;
    layout->bytes = (layout->bytes + align - 1) / align * align + bytes * count;
    if (layout->align < align)
        layout->align = align;
}

// `const float *a, b[3]`: the type's words, then the declarators.
static void place_members(const struct types *types, const struct token *words, size_t num_words,
                          struct layout *layout)
{
    size_t num_type = 0, align = 1;
    while (num_type < num_words && (types_is_qualifier(words[num_type]) ||
                                    types_word_bytes(types, words[num_type], &align)))
        num_type++;
    size_t bytes = types_bytes(types, words, num_type), count = 1;
    if (align != bytes && num_type > 1)
        align = bytes; // several words are numbers
    bool pointer = false;
    for (size_t i = num_type; i <= num_words; i++) {
        if (i == num_words || token_is(words[i], ",")) {
            place(layout, pointer ? 8 : bytes, pointer ? 8 : align, count);
            pointer = false;
            count = 1;
        } else if (token_is(words[i], "*")) {
            pointer = true;
        } else if (token_is(words[i], "[") && i + 1 < num_words) {
            count *= number_of(types, words[i + 1]);
        }
    }
}

void types_read_struct(struct types *types, struct tokens *tokens)
{
    struct layout layout = { .align = 1 };
    struct token words[MAX_WORDS], token;
    size_t num_words = 0;
    while ((token = tokens_next(tokens)).start && !token_is(token, "}")) {
        if (token_is(token, ";")) {
            place_members(types, words, num_words, &layout);
            num_words = 0;
        } else if (num_words < MAX_WORDS) {
            words[num_words++] = token;
        }
    }
    struct token name = tokens_next(tokens);
    if (layout.align == 0 || !token_is_word(name))
        return;
    types_add(types, name, (layout.bytes + layout.align - 1) / layout.align * layout.align,
              layout.align);
}
