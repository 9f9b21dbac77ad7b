// SPDX-License-Identifier: Apache-2.0
// A capture as read from its file (addons/capture/capture_file.h). Nothing in the file is trusted.
#ifndef BRAID_TOOL_CAPTURE_FILE_H
#define BRAID_TOOL_CAPTURE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/graph.h>

#include "base/array.h"
#include "message.h"

enum { CAPTURE_VERSION = 1, CAPTURE_MOST_NESTING = 64 };

#define CAPTURE_NONE UINT32_MAX

enum capture_resource_kind { CAPTURE_NAME, CAPTURE_BUFFER, CAPTURE_TRANSIENT, CAPTURE_RANGE };

struct capture_resource {
    const char *name;
    enum capture_resource_kind kind;
    uint32_t buffer; // the buffer that a range is in; a buffer itself, or the one right before it
    uint32_t next;   // the one right behind a buffer; CAPTURE_NONE: there is none
    bool is_reached; // from a buffer that stands behind none
    bool is_glued;   // a node uses bytes of the one before and this one together
    uint64_t offset, bytes;
    uint32_t alignment;
    const unsigned char *contents; // a buffer's
};

enum capture_node_kind {
    CAPTURE_KERNEL,
    CAPTURE_COPY,
    CAPTURE_FILL,
    CAPTURE_HOST,
    CAPTURE_EMPTY = 5,
    CAPTURE_LOOP = 8,
    CAPTURE_BRANCH = 9,
};

// Eight bytes of a value: an address in a resource, or the node's trap.
struct capture_word {
    uint64_t place; // in `values`
    uint64_t offset;
    uint32_t resource;
    bool is_trap;
};

// A kernel's argument, or a pointer of another node.
struct capture_argument {
    uint64_t place; // in `values`
    uint32_t bytes;
    bool is_unchecked;
    uint32_t first_word, num_words;
};

struct capture_node {
    const char *name;
    enum capture_node_kind kind;
    uint32_t role, main; // 1: a prelude of that node, 2: an epilogue
    bool is_enabled;
    uint64_t cost_ns;
    uint32_t lane_hint;
    uint32_t first_access, num_accesses, first_argument, num_arguments;
    uint32_t kernel;
    braid_dim3 grid, block, cluster;
    uint32_t shared_bytes;
    int32_t priority;
    bool has_grid_from; // the last argument
    bool is_cooperative;
    uint64_t num;                // a copy's bytes, a fill's values
    uint32_t value, value_bytes; // a fill's
    // A loop or branch has these. Its body or first arm begins behind it, the second arm behind
    // that.
    uint32_t condition; // a resource; CAPTURE_NONE: there is none
    uint64_t most, expected;
    bool tests_first;
    uint32_t num_nodes, num_else;
    uint32_t around; // the loop or branch that it is directly in; CAPTURE_NONE: there is none
};

struct capture_access {
    uint32_t resource, mode;
};

struct capture_edge {
    uint32_t from, to;
};

struct capture_file {
    const char *path;
    unsigned char *bytes; // the file, in which texts, code and contents stay
    size_t num_bytes;
    const char *backend;
    uint32_t num_lanes;
    uint64_t frame;
    struct capture_resource *resources;
    braid_kernel *kernels;
    struct capture_node *nodes;
    struct capture_edge *edges;
    uint32_t *order; // nodes, one after another; bodies come right behind their node
    uint32_t num_resources, num_kernels, num_nodes, num_edges;
    struct array accesses, arguments, words; // struct capture_access and so on, by node
    struct array values;                     // unsigned char; each begins at a multiple of 8
};

// Reads a file, "-" for standard input. It is to be finished, also if this fails.
enum exit_status capture_file_read(const char *path, struct capture_file *out_file);
// The same of bytes from malloc, which become the file's.
enum exit_status capture_file_read_bytes(const char *path, unsigned char *bytes, size_t num,
                                         struct capture_file *out_file);
void capture_file_finish(struct capture_file *file);

// The buffer that a resource is or is a part of, and where in it.
uint32_t capture_buffer_of(const struct capture_file *file, uint32_t resource,
                           uint64_t *out_offset);

static inline bool capture_is_region(const struct capture_node *node)
{
    return node->kind == CAPTURE_LOOP || node->kind == CAPTURE_BRANCH;
}

// How many nodes come with a node: itself, and those of its bodies.
static inline uint32_t capture_num_with(const struct capture_node *node)
{
    return 1 + node->num_nodes + node->num_else;
}

#endif
