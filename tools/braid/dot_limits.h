// SPDX-License-Identifier: Apache-2.0
// Limits on the size of a graph that the tool reads: a few bytes of DOT can stand for millions of
// edges.
#ifndef BRAID_TOOL_DOT_LIMITS_H
#define BRAID_TOOL_DOT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "arguments.h"

enum dot_limit {
    DOT_NODES,
    DOT_EDGES,
    DOT_SUBGRAPHS,
    DOT_MEMBERS,    // nodes and edges of subgraphs, in each that holds them
    DOT_ATTRIBUTES, // different names: each node and edge has room for all
    DOT_ACCESSES,
    DOT_ARGUMENTS, // kernels' arguments, and uses of parameters
    DOT_BLOCKS,    // transient buffers, and scratch once for each node that uses it
    // Bytes of the attributes of all nodes, defaults counted for each node, and of what statements
    // say of their edges. Before they are read, each attribute of each node counts as one.
    DOT_TEXT,
    DOT_NUM_LIMITS
};

struct dot_limits {
    uint64_t most[DOT_NUM_LIMITS]; // 0: the default
};

// The text of the option for --help.
#define DOT_LIMITS_HELP                                                                            \
    "  --most KIND=N     read a graph of up to N nodes, edges, accesses or blocks; 'braid help\n"  \
    "                    files' has all kinds and their defaults\n"

// Reads its value, into struct dot_limits.
enum exit_status dot_limits_read(char *value, void *limits);
#define DOT_LIMITS_ARGUMENT(type, member) ARGUMENT_READ("most", type, member, dot_limits_read)

bool dot_limits_allow(const struct dot_limits *limits, enum dot_limit kind, uint64_t count);

// Reports a count that is not allowed, on the line where reading stopped.
enum exit_status dot_limits_refuse(const struct dot_limits *limits, const char *path, uint64_t line,
                                   enum dot_limit kind, uint64_t count);

#endif
