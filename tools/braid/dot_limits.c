// SPDX-License-Identifier: Apache-2.0
// Limits on the size of a graph that the tool reads: a few bytes of DOT can stand for millions of
// edges.
#include "dot_limits.h"

#include <inttypes.h>
#include <string.h>

#include "arguments.h"

// Indices have 32 bits.
#define LARGEST_LIMIT ((uint64_t)UINT32_MAX - 1)

static const struct {
    const char *name, *things;
    uint64_t most;
} kinds[DOT_NUM_LIMITS] = {
    [DOT_NODES] = { "nodes", "nodes", 1000000 },
    [DOT_EDGES] = { "edges", "edges", 4000000 },
    [DOT_SUBGRAPHS] = { "subgraphs", "subgraphs", 100000 },
    [DOT_MEMBERS] = { "members", "members of subgraphs", 8000000 },
    [DOT_ATTRIBUTES] = { "attributes", "names of attributes", 256 },
    [DOT_ACCESSES] = { "accesses", "accesses", 16000000 },
    [DOT_ARGUMENTS] = { "arguments", "arguments and uses of parameters", 16000000 },
    [DOT_BLOCKS] = { "blocks", "blocks of transient memory and scratch", 100000 },
    [DOT_TEXT] = { "text", "bytes of attributes", 256 << 20 },
};

static uint64_t find_most(const struct dot_limits *limits, enum dot_limit kind)
{
    return limits->most[kind] ? limits->most[kind] : kinds[kind].most;
}

enum exit_status dot_limits_read(char *value, void *into)
{
    struct dot_limits *limits = into;
    const size_t length = strcspn(value, "=");
    for (int i = 0; i < DOT_NUM_LIMITS && value[length]; i++) {
        if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, value, length) == 0)
            return argument_read_number("--most", value + length + 1, 1, LARGEST_LIMIT,
                                        &limits->most[i]);
    }
    return fail(EXIT_BAD_FILE,
                "--most takes KIND=N, not '%s': the kinds are nodes, edges, subgraphs, members, "
                "attributes, accesses, arguments, blocks and text",
                value);
}

bool dot_limits_allow(const struct dot_limits *limits, enum dot_limit kind, uint64_t count)
{
    return count <= find_most(limits, kind);
}

enum exit_status dot_limits_refuse(const struct dot_limits *limits, const char *path, uint64_t line,
                                   enum dot_limit kind, uint64_t count)
{
    return fail_in_file(path, line,
                        "the graph has at least %" PRIu64 " %s, more than the limit of %" PRIu64
                        ": '--most %s=N' raises the limit",
                        count, kinds[kind].things, find_most(limits, kind), kinds[kind].name);
}
