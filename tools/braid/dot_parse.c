// SPDX-License-Identifier: Apache-2.0
// The grammar of DOT: tells a build the statements of a text.
#include "dot_build.h"

#include <string.h>

#include "progress.h"

// What came last in the statement of a level.
enum { NOTHING, A_STATEMENT, AN_END, AN_ARROW, A_COMMA };

static void refuse(struct dot_build *build, struct dot_token token)
{
    const struct dot_text *text = &build->file->text;
    if (build->status != EXIT_DONE)
        return;
    if (token.kind == DOT_TOKEN_END) {
        build->status = fail_in_file(text->path, dot_text_line(text, text->length - 1),
                                     "the file ends inside the graph: is a '}' missing?");
        return;
    }
    enum { MOST_SHOWN = 80 };
    const uint32_t length = token.end - token.start;
    build->status =
        fail_in_file(text->path, dot_text_line(text, token.start), "syntax error near '%.*s'",
                     (int)(length < MOST_SHOWN ? length : MOST_SHOWN), text->data + token.start);
}

// The next token, which must be of that kind.
static struct dot_token expect(struct dot_build *build, int kind)
{
    const struct dot_token token = dot_token_next(&build->scanner);
    if (token.kind != kind)
        refuse(build, token);
    return token;
}

// "a=1", of which the first name is there.
static void take_setting(struct dot_build *build, struct dot_token name)
{
    expect(build, '=');
    const struct dot_token value = expect(build, DOT_TOKEN_NAME);
    if (build->status == EXIT_DONE)
        dot_build_name(build, name);
    if (build->status == EXIT_DONE)
        dot_build_setting(build, value.start);
}

// "a=1, b=2]", behind the '['.
static void take_settings(struct dot_build *build)
{
    struct dot_token token;
    while ((token = dot_token_next(&build->scanner)).kind == DOT_TOKEN_NAME &&
           build->status == EXIT_DONE) {
        take_setting(build, token);
        const char next = dot_token_peek(&build->scanner);
        build->scanner.position += next == ',' || next == ';';
    }
    if (token.kind != ']')
        refuse(build, token);
}

static void take_more_settings(struct dot_build *build)
{
    while (dot_token_peek(&build->scanner) == '[' && build->status == EXIT_DONE) {
        dot_token_next(&build->scanner);
        take_settings(build);
    }
}

// Up to two ports, which order nothing.
static void skip_ports(struct dot_build *build)
{
    for (int i = 0; i < 2 && dot_token_peek(&build->scanner) == ':'; i++) {
        dot_token_next(&build->scanner);
        expect(build, DOT_TOKEN_NAME);
    }
}

static void take_name(struct dot_build *build, struct dot_token token)
{
    struct dot_level *level = dot_build_level(build);
    if (level->state <= A_STATEMENT && dot_token_peek(&build->scanner) == '=') {
        take_setting(build, token);
        dot_build_defaults(build, DOT_OF_GRAPHS);
        level->state = A_STATEMENT;
        return;
    }
    const bool is_new_end = level->state != A_COMMA;
    level->state = AN_END;
    skip_ports(build);
    dot_build_name(build, token);
    if (build->status == EXIT_DONE)
        dot_build_node(build, is_new_end, token.start);
}

// "subgraph NAME {", or without the name, or the '{' alone.
static void take_subgraph(struct dot_build *build, struct dot_token token)
{
    bool has_name = false;
    if (token.kind == DOT_TOKEN_SUBGRAPH)
        token = dot_token_next(&build->scanner);
    if (token.kind == DOT_TOKEN_NAME) {
        has_name = true;
        dot_build_name(build, token);
        token = dot_token_next(&build->scanner);
    }
    if (token.kind != '{')
        refuse(build, token);
    if (build->status != EXIT_DONE)
        return;
    dot_build_level(build)->state = AN_END;
    dot_build_open(build, has_name);
}

static void take_defaults(struct dot_build *build, int kind)
{
    expect(build, '[');
    if (build->status == EXIT_DONE)
        take_settings(build);
    take_more_settings(build);
    dot_build_defaults(build, kind == DOT_TOKEN_NODE   ? DOT_OF_NODES
                              : kind == DOT_TOKEN_EDGE ? DOT_OF_EDGES
                                                       : DOT_OF_GRAPHS);
    dot_build_level(build)->state = A_STATEMENT;
}

// What may follow an end of an edge.
static void take_behind_end(struct dot_build *build, struct dot_token token)
{
    struct dot_level *level = dot_build_level(build);
    if (token.kind == DOT_TOKEN_ARROW) {
        level->state = AN_ARROW;
    } else if (token.kind == ',' && build->ends[build->num_ends - 1].subgraph == DOT_NONE) {
        level->state = A_COMMA;
    } else if (token.kind == '[') {
        take_settings(build);
        take_more_settings(build);
        dot_build_statement(build);
        level->state = A_STATEMENT;
    } else {
        refuse(build, token);
    }
}

static bool begins_statement(int kind)
{
    return kind == DOT_TOKEN_NAME || kind == DOT_TOKEN_SUBGRAPH || kind == '{' ||
           kind == DOT_TOKEN_NODE || kind == DOT_TOKEN_EDGE || kind == DOT_TOKEN_GRAPH;
}

static void take(struct dot_build *build, struct dot_token token)
{
    struct dot_level *level = dot_build_level(build);
    const bool begins = begins_statement(token.kind);
    if (level->state == AN_END && (begins || token.kind == ';' || token.kind == '}')) {
        dot_build_statement(build);
        level->state = A_STATEMENT;
    }
    if (level->state == AN_END)
        take_behind_end(build, token);
    else if (token.kind == DOT_TOKEN_NAME)
        take_name(build, token);
    else if (begins && level->state == A_COMMA)
        refuse(build, token);
    else if (token.kind == '{' || token.kind == DOT_TOKEN_SUBGRAPH)
        take_subgraph(build, token);
    else if (begins && level->state != AN_ARROW)
        take_defaults(build, token.kind);
    else if (token.kind == ';' && level->state == A_STATEMENT)
        level->state = NOTHING;
    else if (token.kind == '}' && level->state <= A_STATEMENT)
        dot_build_close(build);
    else
        refuse(build, token);
}

// Braid's drawing of a schedule, known by its name and its first lane. It has arrows between
// neighbours on a lane and no costs, so it would be planned, and wrongly.
static void refuse_schedule(struct dot_build *build)
{
    build->status = fail_in_file(build->file->text.path, 1,
                                 "the drawing of a plan: its arrows are not the graph's, so give "
                                 "the graph that was planned");
}

// "strict digraph NAME {". Returns whether the name is that of a drawn schedule.
static bool take_head(struct dot_build *build)
{
    struct dot_token token = dot_token_next(&build->scanner);
    bool is_schedule = false;
    if (token.kind == DOT_TOKEN_END) {
        build->status = fail_in_file(build->file->text.path, 1,
                                     "no graph: a file holds 'digraph { a -> b; }' or the like");
        return false;
    }
    build->is_strict = token.kind == DOT_TOKEN_STRICT;
    if (build->is_strict)
        token = dot_token_next(&build->scanner);
    if (token.kind == DOT_TOKEN_GRAPH)
        build->status = fail_in_file(build->file->text.path, 1,
                                     "the graph has no directions: write 'digraph' and '->'");
    else if (token.kind != DOT_TOKEN_DIGRAPH)
        refuse(build, token);
    if (build->status == EXIT_DONE && dot_token_peek(&build->scanner) != '{') {
        dot_build_name(build, expect(build, DOT_TOKEN_NAME));
        is_schedule = build->status == EXIT_DONE && strcmp(build->name.data, "schedule") == 0;
    }
    if (build->status == EXIT_DONE)
        expect(build, '{');
    return is_schedule;
}

enum exit_status dot_parse(struct dot_build *build)
{
    const struct dot_text *text = &build->file->text;
    build->scanner.text = text;
    const bool is_schedule = take_head(build);
    if (build->status == EXIT_DONE)
        dot_build_open(build, false);
    for (uint32_t i = 0; build->num_levels > 0 && build->status == EXIT_DONE; i++) {
        take(build, dot_token_next(&build->scanner));
        if (i % 1024 == 0)
            progress_show("parsing", build->scanner.position, text->length);
    }
    if (build->status == EXIT_DONE && dot_token_peek(&build->scanner))
        build->status = fail_in_file(text->path, dot_text_line(text, build->scanner.position),
                                     "something follows the graph: a file holds one graph");
    if (build->status == EXIT_DONE && is_schedule && build->has_lane)
        refuse_schedule(build);
    return build->status;
}
