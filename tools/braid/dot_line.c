// SPDX-License-Identifier: Apache-2.0
// On which line of a file an edge or an attribute stands: for error messages only, as it parses
// again.
//
// cgraph keeps no line numbers. It calls back when a statement is complete, which it may know only
// from the token after it, and that may stand on a later line if the file does without semicolons.
// So the text is handed over byte by byte: the parser is then one token ahead at most, and if that
// token is all there is on its line, the statement ended on a line before.
#include "dot_line.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "dot_parse.h"

struct search {
    struct dot_parser parser;
    const char *attribute; // search for this one of node number `index`; NULL: for edge `index`
    uint32_t index, num_edges, num_nodes;
    Agnode_t *node; // node number `index`
    uint64_t line;
};

static bool is_word(unsigned char c)
{
    return isalnum(c) || c == '_' || c == '.' || c == '-' || c >= 0x80;
}

// Whether bytes hold one token and nothing else; a byte that ended it may follow.
static bool is_one_token(const char *bytes, size_t length)
{
    if (length == 0)
        return true;
    if (bytes[0] == '"') {
        const char *quote = memchr(bytes + 1, '"', length - 1);
        return !quote || quote - bytes >= (ptrdiff_t)length - 2;
    }
    if (!is_word((unsigned char)bytes[0]))
        return length <= 2;
    for (size_t i = 0; i + 1 < length; i++) {
        if (!is_word((unsigned char)bytes[i]))
            return false;
    }
    return true;
}

// The line of the statement that was completed by the bytes handed over so far.
static uint64_t find_line(const struct dot_parser *parser)
{
    const struct dot_text *text = parser->text;
    size_t end = parser->position;
    bool is_ahead = true;
    while (end > 0) {
        size_t start = end;
        while (start > 0 && text->data[start - 1] != '\n')
            start--;
        size_t first = start;
        while (first < end && isspace((unsigned char)text->data[first]))
            first++;
        const char *bytes = text->data + first;
        size_t length = end - first;
        bool is_empty = length == 0;
        if (!is_empty && !(is_ahead && is_one_token(bytes, length)))
            return dot_text_line(text, first);
        is_ahead = is_ahead && is_empty;
        end = start > 0 ? start - 1 : 0;
    }
    return 1;
}

static void see_node(void *user, Agnode_t *node)
{
    struct search *search = user;
    if (search->num_nodes++ == search->index)
        search->node = node;
}

static void see_edge(void *user, Agedge_t *edge)
{
    struct search *search = user;
    (void)edge;
    if (!search->attribute && search->num_edges++ == search->index)
        search->line = find_line(&search->parser);
}

static void see_attribute(void *user, Agnode_t *node, const char *name)
{
    struct search *search = user;
    if (search->attribute && node == search->node && strcmp(name, search->attribute) == 0)
        search->line = find_line(&search->parser);
}

static uint64_t find(const struct dot_text *text, const char *attribute, uint32_t index)
{
    struct search search = { .attribute = attribute, .index = index, .line = 1 };
    search.parser = (struct dot_parser){ .text = text,
                                         .events = { see_node, see_edge, see_attribute, &search },
                                         .by_byte = true };
    Agraph_t *graph;
    if (dot_parse(&search.parser, &graph) == EXIT_DONE)
        agclose(graph);
    return search.line;
}

uint64_t dot_line_of_edge(const struct dot_text *text, uint32_t edge)
{
    return find(text, NULL, edge);
}

uint64_t dot_line_of_attribute(const struct dot_text *text, uint32_t node, const char *name)
{
    return find(text, name, node);
}
