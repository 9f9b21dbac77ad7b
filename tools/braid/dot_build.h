// SPDX-License-Identifier: Apache-2.0
// Makes nodes and edges of a file from the statements of its text, as Graphviz does, within limits.
//
// "{a b c} -> {d e}" are six edges: each node of one end has an edge to each node of the next. The
// ends of a statement are kept until it is complete, as a subgraph may grow until then.
#ifndef BRAID_TOOL_DOT_BUILD_H
#define BRAID_TOOL_DOT_BUILD_H

#include "dot_file.h"
#include "dot_seen.h"

// One end of an edge: a list of nodes, or a subgraph.
struct dot_end {
    uint32_t first_node, num_nodes; // the list's
    uint32_t subgraph;              // DOT_NONE: a list
    uint32_t position;              // in the text, of its first token
};

// A subgraph, or the graph itself, whose '}' is still to come, and its statement so far.
struct dot_level {
    uint32_t subgraph;
    uint32_t first_end, first_node; // the statement's
    int state;                      // the parser's
};

struct dot_subgraph {
    uint32_t parent; // DOT_NONE: it is the whole graph, number 0
    uint32_t num_nodes;
    uint32_t last_member;  // a list that goes backwards; the graph has none
    uint32_t last_default; // a list that goes backwards
};

// An attribute of the statement at hand.
struct dot_setting {
    uint32_t attribute, value;
};

enum dot_defaults { DOT_OF_NODES, DOT_OF_EDGES, DOT_OF_GRAPHS };

// A default for the nodes or edges that a subgraph makes.
struct dot_default {
    enum dot_defaults kind;
    struct dot_setting setting;
    uint32_t before; // in the list of the subgraph
};

struct dot_member {
    uint32_t node, before;
};

struct dot_build {
    struct dot_file *file;
    struct dot_scanner scanner; // the statement ends there
    struct dot_string name;     // read last
    struct dot_seen seen;
    struct dot_names subgraph_names, keys;
    struct dot_level *levels;
    struct dot_end *ends;
    uint32_t *nodes; // in ends that are lists
    struct dot_subgraph *subgraphs;
    struct dot_member *members;
    struct dot_default *defaults;
    struct dot_setting *settings;
    uint32_t *tails, *heads; // the edges' at hand
    uint32_t num_levels, num_ends, num_nodes, num_subgraphs, num_members, num_defaults,
        num_settings;
    uint32_t level_room, end_room, node_room, subgraph_room, member_room, default_room,
        setting_room, edge_room, file_node_room, tail_room, head_room;
    uint64_t counts[DOT_NUM_LIMITS];
    bool is_strict, has_lane;
    enum exit_status status; // nothing is done after the first failure
};

// Reads the name of a token.
void dot_build_name(struct dot_build *build, struct dot_token token);

// Opens a subgraph of the one that is open, as an end of its statement. `has_name`: it is that read
// last, and a subgraph of that name may have been there before.
void dot_build_open(struct dot_build *build, bool has_name);
void dot_build_close(struct dot_build *build);

// Adds the node of the name read last to the statement: to its last end, or as another end.
void dot_build_node(struct dot_build *build, bool is_new_end, uint32_t position);

// Adds an attribute, of the name read last, to the statement.
void dot_build_setting(struct dot_build *build, uint32_t value);

// Each completes a statement.
void dot_build_statement(struct dot_build *build);
void dot_build_defaults(struct dot_build *build, enum dot_defaults kind);

void dot_build_finish(struct dot_build *build);

static inline struct dot_level *dot_build_level(struct dot_build *build)
{
    return &build->levels[build->num_levels - 1];
}

// dot_parse.c: parses the one directed graph of build->file->text; anything else is reported.
enum exit_status dot_parse(struct dot_build *build);

#endif
