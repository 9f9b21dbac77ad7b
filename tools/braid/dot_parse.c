// SPDX-License-Identifier: Apache-2.0
// Graphviz' own parser, cgraph, over a text in memory, with calls for what it finds as it finds it.
#include "dot_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"

// cgraph has no closures for complaints and for new graphs: one parser at a time.
static struct dot_parser *current;
static char complaint[512];

static int keep_complaint(char *text)
{
    size_t used = strlen(complaint);
    snprintf(complaint + used, sizeof(complaint) - used, "%s", text);
    return 0;
}

// Hands over the text up to the end of its line.
static int read_piece(void *channel, char *buffer, int size)
{
    struct dot_parser *parser = channel;
    const struct dot_text *text = parser->text;
    const char *start = text->data + parser->position;
    size_t length = text->length - parser->position;
    if (length == 0)
        return 0;
    if (length > (size_t)size)
        length = (size_t)size;
    const char *newline = memchr(start, '\n', length);
    if (newline)
        length = (size_t)(newline - start) + 1;
    if (parser->by_byte)
        length = 1;
    memcpy(buffer, start, length);
    parser->position += length;
    progress_show("parsing", parser->position, text->length);
    return (int)length;
}

static void on_insert(Agraph_t *graph, Agobj_t *object, void *closure)
{
    struct dot_parser *parser = closure;
    (void)graph;
    if (AGTYPE(object) == AGNODE) {
        if (parser->events.node)
            parser->events.node(parser->events.user, (Agnode_t *)object);
    } else if (AGTYPE(object) != AGRAPH && parser->events.edge) {
        parser->events.edge(parser->events.user, (Agedge_t *)object);
    }
}

static void on_change(Agraph_t *graph, Agobj_t *object, void *closure, Agsym_t *attribute)
{
    struct dot_parser *parser = closure;
    (void)graph;
    if (AGTYPE(object) == AGNODE && parser->events.attribute)
        parser->events.attribute(parser->events.user, (Agnode_t *)object, attribute->name);
}

static void on_delete(Agraph_t *graph, Agobj_t *object, void *closure)
{
    (void)graph;
    (void)object;
    (void)closure;
}

static Agcbdisc_t callbacks = { .graph = { on_insert, on_change, on_delete },
                                .node = { on_insert, on_change, on_delete },
                                .edge = { on_insert, on_change, on_delete } };

// cgraph calls this for each new graph, before anything is in it: the moment to ask for events.
static void *on_open(Agraph_t *graph, Agdisc_t *disciplines)
{
    if (current->num_graphs++ == 0)
        agpushdisc(graph, &callbacks, current);
    return AgIdDisc.open(graph, disciplines);
}

// cgraph says "...syntax error in line 7 near 'x'"; the line goes to the front, as compilers do.
static enum exit_status report_complaint(const struct dot_text *text)
{
    char *reason = strstr(complaint, "syntax error");
    // The memory is that of the parser's stack, which Graphviz keeps short.
    bool is_deep = !reason && strstr(complaint, "memory exhausted");
    if (!reason)
        reason = complaint;
    reason[strcspn(reason, "\n")] = '\0';
    uint64_t line = dot_text_line(text, text->length > 0 ? text->length - 1 : 0);
    char *place = strstr(reason, " in line ");
    if (!place)
        return fail_in_file(text->path, line, "%s", reason);
    char *rest;
    unsigned long number = strtoul(place + strlen(" in line "), &rest, 10);
    if (!*rest)
        return fail_in_file(text->path, line, "the file ends inside the graph: is a '}' missing?");
    if (is_deep)
        return fail_in_file(text->path, number,
                            "a statement too long or too deep for Graphviz: break it up,%s", rest);
    return fail_in_file(text->path, number, "%.*s%s", (int)(place - reason), reason, rest);
}

static enum exit_status check_graph(const struct dot_parser *parser, Agraph_t *graph)
{
    if (*complaint)
        return report_complaint(parser->text);
    if (!graph)
        return fail_in_file(parser->text->path, 1,
                            "no graph: a file holds 'digraph { a -> b; }' or the like");
    if (!agisdirected(graph))
        return fail_in_file(parser->text->path, 1,
                            "the graph has no directions: write 'digraph' and '->'");
    return EXIT_DONE;
}

// What follows the graph must be nothing.
static enum exit_status check_rest(struct dot_parser *parser, Agdisc_t *disciplines)
{
    Agraph_t *more = agread(parser, disciplines);
    bool is_more = more != NULL || *complaint;
    if (more)
        agclose(more);
    if (is_more)
        return fail_in_file(parser->text->path, dot_text_line(parser->text, parser->position - 1),
                            "something follows the graph: a file holds one graph");
    return EXIT_DONE;
}

enum exit_status dot_parse(struct dot_parser *parser, Agraph_t **out_graph)
{
    // Static, because graphs keep pointers to the first two until they are closed.
    static Agiodisc_t input;
    static Agiddisc_t names;
    Agdisc_t disciplines = AgDefaultDisc;
    input = AgIoDisc;
    names = AgIdDisc;
    input.afread = read_piece;
    names.open = on_open;
    disciplines.io = &input;
    disciplines.id = &names;
    current = parser;
    complaint[0] = '\0';
    agseterr(AGERR);
    agseterrf(keep_complaint);
    agreadline(1);
    Agraph_t *graph = agread(parser, &disciplines);
    enum exit_status status = check_graph(parser, graph);
    if (status == EXIT_DONE)
        status = check_rest(parser, &disciplines);
    if (status != EXIT_DONE) {
        if (graph)
            agclose(graph);
        return status;
    }
    agpopdisc(graph, &callbacks);
    *out_graph = graph;
    return EXIT_DONE;
}
