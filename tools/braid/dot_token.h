// SPDX-License-Identifier: Apache-2.0
// The tokens of a DOT file, as Graphviz' scanner takes a text apart that has no comments.
#ifndef BRAID_TOOL_DOT_TOKEN_H
#define BRAID_TOOL_DOT_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "dot_text.h"

// Any other token is one byte, and its kind is that byte.
enum {
    DOT_TOKEN_END,
    DOT_TOKEN_NAME = 256,
    DOT_TOKEN_ARROW,
    DOT_TOKEN_SUBGRAPH,
    DOT_TOKEN_NODE,
    DOT_TOKEN_EDGE,
    DOT_TOKEN_GRAPH,
    DOT_TOKEN_DIGRAPH,
    DOT_TOKEN_STRICT,
};

struct dot_token {
    int kind;
    uint32_t start, end; // in the text
};

struct dot_scanner {
    const struct dot_text *text;
    size_t position;
};

struct dot_token dot_token_next(struct dot_scanner *scanner);

// The byte that the next token starts with; 0 at the end.
char dot_token_peek(struct dot_scanner *scanner);

// What a name means: without quotes, joined by '+', and without the escapes that Graphviz takes
// out.
struct dot_string {
    char *data; // NUL-terminated
    size_t length, room;
    bool is_html;
};

// Reads the name that a token is, or the one that starts at `position`. False: no memory.
bool dot_string_take(const struct dot_text *text, struct dot_token token,
                     struct dot_string *out_string);
bool dot_string_read(const struct dot_text *text, size_t position, struct dot_string *out_string);

#endif
