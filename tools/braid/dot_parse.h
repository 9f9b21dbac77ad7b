// SPDX-License-Identifier: Apache-2.0
// Graphviz' own parser, cgraph, over a text in memory, with calls for what it finds as it finds it.
#ifndef BRAID_TOOL_DOT_PARSE_H
#define BRAID_TOOL_DOT_PARSE_H

#include <stdbool.h>

#include <graphviz/cgraph.h>

#include "dot_text.h"

// Called in the order of the text. Each may be NULL.
struct dot_events {
    void (*node)(void *user, Agnode_t *node);
    void (*edge)(void *user, Agedge_t *edge);
    void (*attribute)(void *user, Agnode_t *node, const char *name);
    void *user;
};

struct dot_parser {
    const struct dot_text *text;
    struct dot_events events;
    bool by_byte;    // hand the text over byte by byte: slow, but `position` is then at most one
                     // token and one byte ahead of what an event is about
    size_t position; // how much of the text has been handed over
    int num_graphs;
};

// Parses the one directed graph of parser->text; anything else is reported. The caller closes
// out_graph with agclose.
enum exit_status dot_parse(struct dot_parser *parser, Agraph_t **out_graph);

#endif
