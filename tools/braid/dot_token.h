// SPDX-License-Identifier: Apache-2.0
// The tokens of a DOT file, as Graphviz' scanner takes a text apart that has no comments.
#ifndef BRAID_TOOL_DOT_TOKEN_H
#define BRAID_TOOL_DOT_TOKEN_H

#include <stdint.h>

#include "dot_text.h"

// Any other token is one byte, and its kind is that byte.
enum {
    DOT_TOKEN_END,
    DOT_TOKEN_NAME = 256,
    DOT_TOKEN_ARROW,
    DOT_TOKEN_SUBGRAPH,
    DOT_TOKEN_DEFAULTS
};

struct dot_token {
    int kind;
    uint64_t hash; // of a name: equal names have equal ones
};

struct dot_scanner {
    const struct dot_text *text;
    size_t position;
};

struct dot_token dot_token_next(struct dot_scanner *scanner);

// The byte that the next token starts with; 0 at the end.
char dot_token_peek(struct dot_scanner *scanner);

#endif
