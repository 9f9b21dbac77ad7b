// SPDX-License-Identifier: Apache-2.0
// Counts the nodes and edges that a DOT text stands for, before Graphviz makes them.
//
// "{a b c} -> {d e}" are six edges: each node of one end has an edge to each node of the next. The
// ends of a statement are kept until it is complete, as a subgraph may grow until then.
#include "dot_size.h"

#include <stdbool.h>
#include <stdlib.h>

#include "dot_attributes.h"
#include "dot_seen.h"
#include "dot_token.h"

// One end of an edge: a list of so many nodes, or a subgraph.
struct end {
    uint32_t num_nodes, subgraph; // DOT_NONE: a list
};

// A subgraph, or the graph itself, whose '}' is still to come, and its statement so far.
struct level {
    uint32_t subgraph;
    uint32_t first_end; // of the statement
    bool is_edge;       // an arrow came last
    bool is_list;       // a comma came last
};

struct counting {
    struct dot_scanner scanner;
    const struct dot_limits *limits;
    struct dot_seen seen;
    struct level *levels;
    struct end *ends;
    uint32_t *num_nodes; // of each subgraph; number 0 is the graph
    uint32_t num_levels, level_room, num_ends, end_room, num_subgraphs, subgraph_room;
    uint64_t counts[DOT_NUM_LIMITS];
    enum exit_status status;
};

// What a key in `seen` is of, beside the number of a subgraph.
enum { SEEN_NODE, SEEN_SUBGRAPH, SEEN_ATTRIBUTE };

static void stop_without_memory(struct counting *counting)
{
    counting->status =
        fail(EXIT_FAILED, "out of memory for reading %s", counting->scanner.text->path);
}

static void add_count(struct counting *counting, enum dot_limit kind, uint64_t more)
{
    uint64_t *count = &counting->counts[kind];
    if (__builtin_add_overflow(*count, more, count))
        *count = UINT64_MAX;
    if (counting->status == EXIT_DONE && !dot_limits_allow(counting->limits, kind, *count)) {
        const struct dot_text *text = counting->scanner.text;
        const uint64_t line = dot_text_line(text, counting->scanner.position - 1);
        counting->status = dot_limits_refuse(counting->limits, text->path, line, kind, *count);
    }
}

// Finds or adds what has this name in a subgraph. Returns NULL without memory.
static const struct dot_seen_key *see(struct counting *counting, uint64_t kind, uint32_t subgraph,
                                      uint64_t name, uint32_t number, bool *out_is_new)
{
    const struct dot_seen_key *found =
        dot_seen_add(&counting->seen, kind << 32 | subgraph, name, number, out_is_new);
    if (!found)
        stop_without_memory(counting);
    return found;
}

static struct level *last_level(struct counting *counting)
{
    return &counting->levels[counting->num_levels - 1];
}

static void add_end(struct counting *counting, struct end end)
{
    void *ends = counting->ends;
    if (!dot_make_room(&ends, counting->num_ends, &counting->end_room, sizeof(end))) {
        stop_without_memory(counting);
        return;
    }
    counting->ends = ends;
    counting->ends[counting->num_ends++] = end;
}

static uint64_t size_of(const struct counting *counting, const struct end *end)
{
    return end->subgraph == DOT_NONE ? end->num_nodes : counting->num_nodes[end->subgraph];
}

// Counts the edges of a complete statement, which each subgraph around it has as well.
static void end_statement(struct counting *counting)
{
    struct level *level = last_level(counting);
    for (uint32_t i = level->first_end; i + 1 < counting->num_ends; i++) {
        const uint64_t num =
            size_of(counting, &counting->ends[i]) * size_of(counting, &counting->ends[i + 1]);
        uint64_t members = 0;
        add_count(counting, DOT_EDGES, num);
        if (__builtin_mul_overflow(num, counting->num_levels - 1, &members))
            members = UINT64_MAX;
        add_count(counting, DOT_MEMBERS, members);
    }
    counting->num_ends = level->first_end;
    level->is_edge = level->is_list = false;
}

// A node of a subgraph is one of all around it. Those around a subgraph that has it have it too.
static void add_node(struct counting *counting, uint64_t name)
{
    bool is_new = true;
    for (uint32_t i = counting->num_levels; is_new && i-- > 0;) {
        const uint32_t subgraph = counting->levels[i].subgraph;
        if (!see(counting, SEEN_NODE, subgraph, name, 0, &is_new))
            return;
        counting->num_nodes[subgraph] += is_new;
        add_count(counting, i ? DOT_MEMBERS : DOT_NODES, is_new);
    }
}

static void take_attribute(struct counting *counting, uint64_t name)
{
    bool is_new = false;
    if (see(counting, SEEN_ATTRIBUTE, 0, name, 0, &is_new))
        add_count(counting, DOT_ATTRIBUTES, is_new);
}

static void take_name(struct counting *counting, uint64_t name)
{
    if (dot_token_peek(&counting->scanner) == '=') {
        end_statement(counting);
        dot_token_next(&counting->scanner);
        dot_token_next(&counting->scanner);
        take_attribute(counting, name);
        return;
    }
    struct level *level = last_level(counting);
    const bool is_list = level->is_list && counting->num_ends > level->first_end;
    if (!level->is_edge && !is_list)
        end_statement(counting);
    if (is_list)
        counting->ends[counting->num_ends - 1].num_nodes++;
    else
        add_end(counting, (struct end){ 1, DOT_NONE });
    level->is_edge = level->is_list = false;
    add_node(counting, name);
}

// A subgraph of the one that is open; one with a name may have been there before.
static uint32_t find_subgraph(struct counting *counting, bool has_name, uint64_t name)
{
    void *sizes = counting->num_nodes;
    bool is_new = true;
    const uint32_t number = counting->num_subgraphs;
    if (!dot_make_room(&sizes, number, &counting->subgraph_room, sizeof(*counting->num_nodes))) {
        stop_without_memory(counting);
        return 0;
    }
    counting->num_nodes = sizes;
    if (has_name) {
        const uint32_t parent = last_level(counting)->subgraph;
        const struct dot_seen_key *found =
            see(counting, SEEN_SUBGRAPH, parent, name, number, &is_new);
        if (!found || !is_new)
            return found ? found->number : 0;
    }
    counting->num_nodes[counting->num_subgraphs++] = 0;
    add_count(counting, DOT_SUBGRAPHS, counting->num_levels > 0);
    return number;
}

static void open_level(struct counting *counting, uint32_t subgraph)
{
    void *levels = counting->levels;
    if (!dot_make_room(&levels, counting->num_levels, &counting->level_room,
                       sizeof(*counting->levels))) {
        stop_without_memory(counting);
        return;
    }
    counting->levels = levels;
    counting->levels[counting->num_levels++] =
        (struct level){ .subgraph = subgraph, .first_end = counting->num_ends };
}

// Behind "subgraph" with its name, if it has one, or at a '{' without them.
static void open_subgraph(struct counting *counting, bool has_name, uint64_t name)
{
    struct level *level = last_level(counting);
    if (!level->is_edge)
        end_statement(counting);
    level->is_edge = level->is_list = false;
    const uint32_t subgraph = find_subgraph(counting, has_name, name);
    add_end(counting, (struct end){ 0, subgraph });
    if (counting->status == EXIT_DONE)
        open_level(counting, subgraph);
}

static void take_subgraph(struct counting *counting)
{
    const bool has_name = dot_token_peek(&counting->scanner) != '{';
    const uint64_t name = has_name ? dot_token_next(&counting->scanner).hash : 0;
    if (dot_token_peek(&counting->scanner) != '{')
        return; // Graphviz refuses it
    dot_token_next(&counting->scanner);
    open_subgraph(counting, has_name, name);
}

// Up to the ']' behind "a=1, b=2".
static void take_attributes(struct counting *counting)
{
    struct dot_token token;
    do {
        token = dot_token_next(&counting->scanner);
        if (token.kind == '=')
            dot_token_next(&counting->scanner);
        else if (token.kind >= DOT_TOKEN_NAME)
            take_attribute(counting, token.hash);
    } while (token.kind != ']' && token.kind != DOT_TOKEN_END && counting->status == EXIT_DONE);
}

static void take(struct counting *counting, struct dot_token token)
{
    switch (token.kind) {
    case DOT_TOKEN_NAME:
        take_name(counting, token.hash);
        return;
    case DOT_TOKEN_SUBGRAPH:
        take_subgraph(counting);
        return;
    case '{':
        open_subgraph(counting, false, 0);
        return;
    case '}':
        end_statement(counting);
        counting->num_levels--;
        return;
    case DOT_TOKEN_ARROW:
        last_level(counting)->is_edge = true;
        return;
    case ',':
        last_level(counting)->is_list = true;
        return;
    case ':': // a port
        dot_token_next(&counting->scanner);
        return;
    case '[':
        take_attributes(counting);
        return;
    case ';':
    case DOT_TOKEN_DEFAULTS:
        end_statement(counting);
        return;
    default:
        return;
    }
}

// From the '{' of the graph to its '}'.
static void count(struct counting *counting)
{
    struct dot_token token;
    do {
        token = dot_token_next(&counting->scanner);
    } while (token.kind != '{' && token.kind != DOT_TOKEN_END);
    const uint32_t whole = find_subgraph(counting, false, 0);
    if (counting->status == EXIT_DONE)
        open_level(counting, whole);
    while (counting->num_levels > 0 && token.kind != DOT_TOKEN_END &&
           counting->status == EXIT_DONE) {
        token = dot_token_next(&counting->scanner);
        take(counting, token);
    }
}

enum exit_status dot_size_check(const struct dot_text *text, const struct dot_limits *limits)
{
    struct counting counting = { .scanner.text = text, .limits = limits };
    count(&counting);
    free(counting.seen.keys);
    free(counting.levels);
    free(counting.ends);
    free(counting.num_nodes);
    return counting.status;
}
