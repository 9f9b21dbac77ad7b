// SPDX-License-Identifier: Apache-2.0
// A kernel as a name expression names it: "scale<float, 4>".
#include "expression.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 16 };

// From behind its last namespace to its arguments.
struct token expression_base(const char *expression)
{
    struct tokens tokens = { .at = expression, .line = 1 };
    struct token base = { 0 }, token;
    while ((token = tokens_next(&tokens)).start && !token_is(token, "<")) {
        if (token_is_word(token))
            base = token;
    }
    return base;
}

bool expression_names(const char *expression, struct token function)
{
    return expression != NULL && token_equals(expression_base(expression), function);
}

void expression_read_template(struct tokens *tokens, struct tokens *out_parameters)
{
    int depth = 0;
    *out_parameters = *tokens;
    do {
        struct token token = tokens_next(tokens);
        if (token.start == NULL)
            return;
        depth += token_is(token, "<") - token_is(token, ">");
    } while (depth > 0);
}

// The words of a parameter or argument, to its comma or the last bracket; false: there is none.
static bool next_words(struct tokens *tokens, struct token *words, size_t *out_num)
{
    struct token token;
    *out_num = 0;
    while ((token = tokens_next(tokens)).start && !token_is(token, ",") && !token_is(token, ">")) {
        if (*out_num < MAX_WORDS)
            words[(*out_num)++] = token;
    }
    return *out_num > 0;
}

void expression_bind(const char *expression, struct tokens parameters, struct types *types)
{
    struct token words[MAX_WORDS], given[MAX_WORDS];
    size_t num = 0, num_given = 0;
    const char *bracket = strchr(expression, '<');
    struct tokens arguments = { .at = bracket ? bracket + 1 : "", .line = 1 };
    tokens_next(&parameters); // the bracket
    while (next_words(&parameters, words, &num) && next_words(&arguments, given, &num_given)) {
        struct token name = words[num - 1];
        size_t bytes = types_bytes(types, given, num_given);
        if (token_is(words[0], "class") || token_is(words[0], "typename")) {
            if (bytes != 0)
                types_add(types, name, bytes, bytes);
        } else if (types->num_constants < MAX_CONSTANTS) {
            types->constants[types->num_constants].name = name;
            types->constants[types->num_constants++].value = strtoul(given[0].start, NULL, 0);
        }
    }
}
