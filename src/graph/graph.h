// SPDX-License-Identifier: Apache-2.0
// The graph as the planner reads it: flat arrays, in the order of adding.
#ifndef BRAID_GRAPH_GRAPH_H
#define BRAID_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <braid/graph.h>
#include <braid/rank.h>

#include "base/array.h"
#include "base/pointer_map.h"
#include "base/work.h"
#include "graph/names.h"

#define GRAPH_NONE UINT32_MAX
#define GRAPH_EVERYWHERE UINT32_MAX // as a home
#define GRAPH_MOST_PLACES 64
#define GRAPH_MAX_ITEMS (UINT32_MAX - 1) // nodes, resources or accesses

// A place has an index from 0 in this library, and a number from 1 in the program and in texts.
static inline uint32_t graph_place_number(uint32_t index)
{
    return index + 1;
}

static inline uint32_t graph_place_index(uint32_t number)
{
    return number - 1;
}

enum graph_role {
    GRAPH_MAIN, // every node that is not the next two
    GRAPH_PRELUDE,
    GRAPH_EPILOGUE,
};

// 40 bytes: a graph of ten million nodes must fit.
struct graph_node {
    uint64_t cost_ns; // 0: not known
    uint32_t name;    // handle in names, or NAMES_NONE for the derived name
    uint32_t lane_hint;
    uint32_t payload; // index into kernels or works; empty nodes have none
    uint32_t main;    // the bundle's main node; the node itself for a main node
    uint32_t first_access, num_accesses;
    uint8_t kind;         // enum work_kind
    uint8_t role;         // enum graph_role
    uint8_t place;        // its number; 0: not named. Of a main node
    uint8_t own_kind;     // its kind before cull.h left it out
    bool may_rest : 1;    // a parameter may disable it, or it has no block at first
    bool must_run : 1;    // on several places, or in a graph that cull.h made: it writes where what
                          // was there before is not
    bool is_left_out : 1; // in a graph that cull.h made: it is empty, and was of `own_kind`
    bool may_idle : 1;    // in such a graph: parameters may disable all nodes that need it
    uint8_t code_use : 2; // a kernel's: enum braid_code_use
};

struct graph_edge {
    uint32_t from, to;
};

struct graph_access {
    uint32_t resource;
    uint32_t mode; // enum braid_access_mode
};

struct graph_resource {
    uint32_t name;   // handle in names
    uint32_t buffer; // the buffer a range is of; otherwise the resource itself
    const void *address;
    uint64_t offset, bytes; // bytes is 0 for named resources
    uint64_t alignment;     // for transient buffers and their ranges, and for scratch; otherwise 0
    // Scratch is declared once, and then there is a transient buffer for each node that uses it,
    // to which that node has an exclusive access.
    bool is_scratch;       // as declared; nobody has an access to it
    uint32_t scratch;      // a node's own has it: which scratch it is; otherwise GRAPH_NONE
    uint32_t scratch_node; // and whose
    // A versioned buffer has these, and so has each name for an earlier frame's memory of it.
    uint32_t num_versions;  // otherwise 0
    uint32_t first_version; // in `versions`
    uint32_t versioned;     // the buffer
    uint32_t frames_before; // how much earlier that frame was
    uint32_t next_earlier;  // the next name for an earlier frame's memory of it; 0: none
    uint32_t home;          // GRAPH_EVERYWHERE, or a place's index. In a placed graph (placed.h)
                            // buffers whose memory the plan or frames choose have one, too
    // Slots are named resources in a row. The program knows the first, which has these.
    uint32_t num_slots, next_slot;    // how many there are, and which of them the next user holds
    braid_communicator *communicator; // the graph is a user of it; otherwise NULL
    uint32_t owner; // for it and its ranges: which of the graph's owners, from 1; 0: none
};

enum { GRAPH_MOST_ARGS_INSIDE = 1024 }; // a kernel with more is no call inside an island

struct graph_kernel {
    const braid_kernel *kernel;
    uint64_t arg_offset; // where the first argument's bytes are in arg_bytes; each is aligned to 16
    uint32_t first_arg, num_args;
    braid_dim3 grid, block; // no zeros
    uint8_t cluster[3];     // all zero: none
    bool grid_from;         // the last of its arguments, which the program did not give as one, is
                            // the address that its grid is read from
    bool cooperative;       // all its blocks run at once
    uint8_t empty;          // which sizes of the grid are 0, where `grid` has 1: a bit each
    int32_t priority;
    uint32_t shared_bytes;
};

// With a 0 where it has no block.
static inline braid_dim3 graph_kernel_grid(const struct graph_kernel *kernel)
{
    return (braid_dim3){ kernel->empty & 1 ? 0 : kernel->grid.x,
                         kernel->empty & 2 ? 0 : kernel->grid.y,
                         kernel->empty & 4 ? 0 : kernel->grid.z };
}

// Source, or an image that begins as text does: machine code begins with other bytes. Such an image
// may do the work of the program's own function.
static inline bool graph_kernel_has_text(const struct graph_kernel *kernel)
{
    const char *image = kernel->kernel->cuda.data;
    return kernel->kernel->source || (image && *image && strchr("./ \t\r\n", *image));
}

struct graph_parameter {
    uint32_t name;  // handle in names
    uint32_t bytes; // its value has so many
};

// Bytes of a parameter that go to a node.
struct graph_parameter_use {
    uint32_t parameter, node;
    uint32_t target;                    // enum braid_target
    uint32_t argument, argument_offset; // where that is an argument; otherwise 0
    uint32_t offset, bytes;             // a part of the parameter
};

// The address of a resource in a node; of a transient buffer frames know it.
struct graph_address {
    uint32_t node, resource;
    uint32_t operand; // which argument of a kernel; otherwise where in the node's work, in bytes
    uint32_t offset;  // where in that argument, in bytes; otherwise 0
    uint64_t addend;  // how far behind the resource's begin
};

// An argument of a kernel node that is the address of a trap.
struct graph_trap {
    uint32_t node, argument;
};

struct graph_code;
struct graph_ranks;

struct braid_graph {
    uint32_t id;                    // distinct in this process, never 0
    uint64_t version;               // grows with every change, so that a schedule knows its graph
    struct array nodes;             // struct graph_node
    struct array edges;             // struct graph_edge, explicit ones
    struct array accesses;          // struct graph_access, node by node
    struct array resources;         // struct graph_resource
    struct array versions;          // void *: the memory of each version; NULL: the exec's
    struct array kernels;           // struct graph_kernel
    struct array works;             // union work, of nodes that are neither kernels nor empty
    struct array arg_sizes;         // uint32_t
    struct array arg_bytes;         // unsigned char
    struct pointer_map first_nodes; // by kernel, the first node that launches it
    struct array parameters;        // struct graph_parameter
    struct array uses;              // struct graph_parameter_use
    struct array outputs;           // uint32_t: resources, in order; see cull.h
    uint32_t num_left_out;          // nodes that cull.h left out
    bool is_culled;                 // it is such a graph
    uint32_t imported_places;       // an import is for so many; its edges are its whole order
    struct array addresses;         // struct graph_address, by node
    struct array given;        // struct graph_address of buffers with addresses: the bytes hold
                               // them already
    struct array known;        // struct extent: memory of an import's named resources. A node with
                               // the bytes from 0 to 0 may touch any
    struct array traps;        // struct graph_trap, by node
    struct array unchecked;    // uint32_t: arguments, as in arg_sizes, that the program says to be
                               // no pointers, or to be ordered by nothing
    struct array sequence;     // uint32_t: main nodes in the order in which accesses count;
                               // empty: that of adding
    struct array words;        // struct code_word (code.h), by node: addresses of derived accesses
    struct graph_code *code;   // code.h; NULL: there is none
    struct graph_ranks *ranks; // graph_ranks.h; NULL: the graph has no communicator
    struct names names;
    uint32_t num_bundled;             // nodes that are preludes or epilogues
    const struct place_model *places; // NULL: nodes have none yet; see placed.h
    struct array regions;             // struct graph_region, inner ones first; see regions.h
    struct array open;                // struct graph_region, not ended yet; outer ones first
    struct array measured;            // struct graph_measured, by node; perhaps of fewer nodes
};

// The times of a node beside its cost. 0: it was not measured so, or its cost was set since.
struct graph_measured {
    uint64_t outside_ns; // outside of islands
    uint64_t inside_ns;  // as a call inside an island, all of its blocks one after another
};

static inline struct graph_measured graph_measured_of(const braid_graph *graph, uint32_t node)
{
    return node < graph->measured.num ? ((struct graph_measured *)graph->measured.items)[node]
                                      : (struct graph_measured){ 0 };
}

static inline void graph_keep_measured(braid_graph *graph, uint32_t node,
                                       struct graph_measured measured)
{
    ((struct graph_measured *)graph->measured.items)[node] = measured;
}

static inline uint32_t graph_num_nodes(const braid_graph *graph)
{
    return (uint32_t)graph->nodes.num;
}

static inline const struct graph_node *graph_nodes(const braid_graph *graph)
{
    return graph->nodes.items;
}

static inline const struct graph_resource *graph_resource_at(const braid_graph *graph, size_t index)
{
    return &((const struct graph_resource *)graph->resources.items)[index];
}

// The access with a number among those of a node of the graph.
static inline const struct graph_access *graph_access_of(const braid_graph *graph,
                                                         const struct graph_node *node, uint32_t i)
{
    return &((const struct graph_access *)graph->accesses.items)[node->first_access + i];
}

// Sets a cost that was measured.
void braid_graph_set_measured(braid_graph *graph, uint32_t node, uint64_t cost_ns);
// Makes room for those of all nodes, without which none can be kept. False: there is no memory.
bool braid_graph_reserve_measured(braid_graph *graph);

// The kernel that a node launches.
static inline const struct graph_kernel *graph_kernel_of(const braid_graph *graph, uint32_t node)
{
    return &((const struct graph_kernel *)graph->kernels.items)[graph_nodes(graph)[node].payload];
}

// The work of a node that is neither a kernel nor empty.
static inline const union work *graph_work_of(const braid_graph *graph, uint32_t node)
{
    return &((const union work *)graph->works.items)[graph_nodes(graph)[node].payload];
}

// Whether the access needs the bytes from before it. A write needs them if its node may be left
// out. A transient buffer has any bytes then. A loop may have no iteration, and a branch runs one
// arm: their writes may all be left out.
static inline bool graph_needs_data(const braid_graph *graph, uint32_t node,
                                    const struct graph_access *access)
{
    const struct graph_node *of = &graph_nodes(graph)[node];
    return access->mode != BRAID_WRITE || work_has_body((enum work_kind)of->kind) ||
           (of->may_rest && !graph_resource_at(graph, access->resource)->alignment);
}

static inline const struct graph_edge *graph_edges(const braid_graph *graph)
{
    return graph->edges.items;
}

// Whether units are other than the nodes in the order of adding.
static inline bool graph_has_units(const braid_graph *graph)
{
    return graph->num_bundled || graph->sequence.num;
}

static inline bool graph_owns_node(const braid_graph *graph, braid_node node)
{
    return graph && node.graph == graph->id && node.index < graph->nodes.num;
}

// Whether the handle is a node that this rank adds and another rank runs.
static inline bool graph_is_elsewhere(const braid_graph *graph, braid_node node)
{
    return graph && node.graph == graph->id && node.index == BRAID_ELSEWHERE;
}

// Whether it is a host call that sleeps, or an operation between ranks.
static inline bool graph_node_blocks(const braid_graph *graph, uint32_t node)
{
    uint8_t kind = graph_nodes(graph)[node].kind;
    return kind == WORK_AWAIT ||
           (kind == WORK_HOST && graph_work_of(graph, node)->host.is_blocking);
}

// Bytes that an argument takes in arg_bytes: any type is aligned there.
static inline uint64_t graph_arg_stride(uint32_t bytes)
{
    return ((uint64_t)bytes + 15) / 16 * 16;
}

// The node's name by index, as braid_graph_get_node_name.
const char *braid_graph_name(const braid_graph *graph, uint32_t node);

// A resource's name; a range is named like its buffer with "[offset, end)" behind it, in `buffer`.
const char *braid_graph_resource_name(const braid_graph *graph, uint32_t resource, char *buffer,
                                      size_t size);

// The name of a parameter's target (braid_target).
const char *braid_graph_target_name(uint32_t target);
// Whether there is such a target of such nodes; how many bytes it has, unless it is an argument or
// several values.
bool braid_graph_target_fits(uint32_t target, enum work_kind kind);
uint32_t braid_graph_target_bytes(uint32_t target);

// The bytes of argument `index` of a kernel, and its size.
const void *braid_graph_arg(const braid_graph *graph, const struct graph_kernel *kernel,
                            uint32_t index, uint32_t *out_bytes);

#endif
