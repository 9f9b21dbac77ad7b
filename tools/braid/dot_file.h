// SPDX-License-Identifier: Apache-2.0
// Task graphs read from Graphviz DOT files.
#ifndef BRAID_TOOL_DOT_FILE_H
#define BRAID_TOOL_DOT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/graph.h>

#include "dot_given.h"
#include "dot_limits.h"
#include "dot_names.h"
#include "dot_text.h"
#include "file_limit.h"
#include "message.h"

// In units of the file, exactly.
struct dot_cost {
    uint64_t whole;
    uint32_t billionths;
    bool is_given; // else it is 1
};

enum { DOT_MOST_ARGS = 1024, DOT_MOST_PLACES = 64, DOT_MOST_RANKS = 1 << 20 };
enum { DOT_MOST_ARG_BYTES = 1 << 16 }; // all arguments' of a node
#define DOT_NONE UINT32_MAX

enum dot_kind {
    DOT_KERNEL,
    DOT_COPY,
    DOT_FILL,
    DOT_HOST,
    DOT_QUEUE,
    DOT_EMPTY,
    DOT_LOOP,
    DOT_BRANCH,
};
enum dot_role { DOT_MAIN, DOT_PRELUDE, DOT_EPILOGUE };

// Answers of yes and no stand together: a node is an eighth smaller so.
struct dot_node {
    const char *id; // as in the file
    char *label;    // what a reader would see in a drawing; NULL: the id
    char *changes;  // what parameters change of it, as in the file; NULL: not given
    struct dot_cost cost;
    enum dot_kind kind;
    enum dot_role role;
    uint32_t main;  // the node it is a prelude or epilogue of; it comes before this one
    uint32_t place; // its number in the order of first appearance
    uint32_t lane_hint;
    uint32_t rank;  // that it runs on, of several
    uint64_t bytes; // that other ranks are sent of it
    uint32_t on;    // the place that it names, from 1; 0: none
    uint32_t first_access, num_accesses;
    braid_dim3 grid, block; // a kernel's
    uint32_t num_args;
    uint32_t first_arg;                 // for a kernel with args, which are num_args
    uint32_t grid_from, to, from, user; // resources, or DOT_NONE
    uint32_t value_bytes;               // a fill's; 0: not given
    bool blocking;                      // a host call's
    bool is_undeclared;                 // a kernel that may touch any memory
    bool may_be_inside;                 // an island, with num_args arguments
    // Where the file says what the node is given the addresses of, and so many bytes of what else:
    bool has_values, has_args;
    bool reads_grid;
    // Loops and branches, whose bodies follow them, and the nodes inside have these:
    bool is_else; // that is a second arm
    bool tests_first;
    uint32_t around;         // whose body it is directly in, or DOT_NONE
    uint32_t condition;      // a resource, or DOT_NONE
    uint64_t most, expected; // iterations; 0: not given
    uint32_t first_use, num_uses;
};

struct dot_arg {
    uint32_t bytes;
    uint32_t resource; // whose address it is, or DOT_NONE
};

struct dot_parameter {
    char *name;
    uint32_t bytes;
};

struct dot_use {
    uint32_t parameter;
    braid_target target;
    uint32_t argument, argument_offset, offset, bytes; // as in braid_parameter_use
};

// Whether an edge is the graph's own, or a drawing has it only to show what follows from bundles
// and accesses, of the same frame or a later one.
enum dot_implied { DOT_OWN, DOT_IMPLIED, DOT_LATER_FRAME };

#define DOT_MOST_POSITION ((uint32_t)FILE_MOST_MIB * 1024 * 1024 - 1)

struct dot_edge {
    uint32_t from, to;      // indices of nodes
    uint32_t position : 30; // in the text, while the file is read
    uint32_t implied : 2;   // enum dot_implied
};

struct dot_access {
    uint32_t resource;
    braid_access_mode mode;
    bool by_pointer; // the node is not given the address, and stays where the buffer is
};

struct dot_resource {
    char *name;             // NULL for a range and for an earlier version
    uint32_t buffer;        // a range's: the resource it is a part of
    uint64_t offset, bytes; // bytes is 0 for what is not a buffer
    uint32_t alignment;     // if the plan chooses the memory; 0: as usual
    uint32_t num_versions;  // 0: it has none
    uint32_t frames_before; // an earlier version's, in the resource `buffer`; otherwise 0
    uint32_t home;          // a place, from 1, or BRAID_EVERYWHERE; 0: the first
    bool is_transient;      // the plan chooses its memory, wherever that is
    bool is_scratch;        // and each node has its own
    bool is_output;
};

struct dot_file {
    struct dot_text text;   // while the file is read; its path stays
    struct dot_given given; // while the file is read
    struct dot_names ids;   // nodes' ids, by their places
    struct dot_limits limits;
    char *cost_unit;        // NULL: not given
    uint64_t unit_ns;       // how long a unit of cost is planned
    bool has_fractions;     // some cost is not whole, or was measured
    uint32_t num_fleeting;  // nodes that take next to nothing, planned as 1 ns
    struct dot_node *nodes; // in the order of their first appearance, but that main nodes are moved
                            // before their preludes and epilogues, and bodies behind their nodes
    struct dot_edge *edges; // the graph's own in the order of the file, then those that only show
                            // what follows from bundles and accesses
    uint32_t num_nodes, num_edges, num_implied_edges;
    struct dot_resource *resources;
    struct dot_access *accesses; // node by node
    struct dot_parameter *parameters;
    struct dot_arg *args; // node by node, and so are uses
    struct dot_use *uses;
    uint32_t num_resources, num_accesses, num_parameters, num_args, num_uses;
    uint64_t counts[DOT_NUM_LIMITS]; // how many things attributes stand for
    uint32_t without_cost;           // nodes to which none is given
};

// Reads the one directed graph in a file ("-": standard input), which has no cycle. A file that
// cannot be read or used is reported with its line, and nothing is written to out_file. A graph
// that is over a limit is reported before it takes memory. docs/drawings.md has the attributes.
enum exit_status dot_file_read(const char *path, const struct dot_limits *limits,
                               struct dot_file *out_file);

// Behind the last node of a node's bodies, which follow it; behind the node if it has none.
static inline uint32_t dot_bodies_end(const struct dot_file *file, uint32_t node)
{
    uint32_t end = node + 1;
    while (end < file->num_nodes && file->nodes[end].around != DOT_NONE &&
           file->nodes[end].around >= node)
        end++;
    return end;
}

// Whether frames or the plan choose the memory of the buffer that a resource is, or is a part of.
static inline bool dot_is_chosen(const struct dot_file *file, uint32_t resource)
{
    const struct dot_resource *whole = &file->resources[resource];
    if (!whole->name)
        whole = &file->resources[whole->buffer];
    return whole->is_transient || whole->num_versions;
}

// The same of a text, which then belongs to the file, or is freed.
enum exit_status dot_file_read_text(struct dot_text text, const struct dot_limits *limits,
                                    struct dot_file *out_file);

void dot_file_finish(struct dot_file *file);

#endif
