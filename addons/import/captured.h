// SPDX-License-Identifier: Apache-2.0
// A CUDA graph of the program as the driver describes it. The nodes of child graphs stand among
// those of the graph itself, and the nodes of bodies right behind their conditional node.
#ifndef BRAID_IMPORT_CAPTURED_H
#define BRAID_IMPORT_CAPTURED_H

#include <braid/import.h>
#include <braid/record.h>

#include "backends/cuda/cuda_layouts.h"
#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_layouts.h"
#include "base/store.h"
#include "import/members.h"
#include "import/orders.h"

// A function that kernel nodes launch.
struct captured_function {
    gpu_function function;
    uint32_t member; // has it
    const char *name;
    uint32_t first_param, num_params; // in `params`
    const char *text;                 // a record has it: the PTX of its module; NULL: there is none
    const char *why; // a record has it: nobody knows its parameters; NULL: they are known
};

struct captured_param {
    uint32_t offset, bytes; // as in the kernel's buffer of parameters
};

struct captured_kernel {
    uint32_t function; // in `functions`
    uint32_t grid[3], block[3], cluster[3], shared_bytes;
    int priority, cooperative;
    size_t first_byte; // in `bytes`: its parameters, each aligned to 16 bytes
};

struct captured_conditional {
    const braid_import_conditional *told; // by the program, for the time of the import
    uint32_t regions[2];                  // by body; 0: it lacks that one
    bool is_loop;
    bool runs_first; // its first iteration runs whatever the word is
    uint64_t word;   // its address
    uint32_t setter; // a record has it: a kernel that reads the word
    const char *why; // a record has it: it cannot run again; NULL: it can
};

struct captured_node {
    int type;        // GPU_NODE_EMPTY also stands for the begin and the end of a child graph, for
                     // copies and fills of no bytes, for setters, and for second nodes of branches
    char place[40];  // for messages: "3"; in a child graph or a body "3.1", in a second body "3e.1"
    uint32_t region; // in `regions`: the innermost
    uint32_t member; // it runs there; MEMBER_NONE: anywhere
    bool is_setter;  // `kernel` sets conditions
    // A record's setter whose code is understood: the handle, and the word, which has an address.
    bool is_understood;
    uint64_t set_handle, set_word;
    // The kinds of memory that a copy takes from, and that a copy or fill writes. The driver knows
    // two numbers of each; 0: it does not know the address.
    uint64_t kinds[2];
    const void *handle;                           // the driver's node, for the time of the import
    const braid_import_conditional *is_otherwise; // NULL: it is no second node of a branch
    const braid_record_work *recorded;            // NULL: it is of no record
    uint32_t operation;                           // that made it, of a record
    union {
        struct captured_kernel kernel;
        struct cuda_copy_parameters copy;
        struct cuda_fill_parameters fill;
        struct gpu_host_parameters host;
        struct {
            uint64_t address, bytes; // a free has no bytes
        } memory;
        gpu_event event;
        struct cuda_operation_parameters batch; // its operations are in `store`
        struct {
            struct cuda_semaphore_parameters told; // its arrays are there, too
            struct captured_node *other;           // update.c: its twin; NULL: it has none
        } semaphores;
        struct captured_conditional conditional;
    };
};

struct captured_graph {
    struct import_members members;
    struct array nodes;     // struct captured_node; each edge leads to a later one
    struct array edges;     // struct import_edge, by `from`
    struct array regions;   // struct import_region: the graph, then bodies
    struct array functions; // struct captured_function
    struct array params;    // struct captured_param
    struct array bytes;     // unsigned char
    struct store store;     // holds names
};

static inline const struct captured_node *captured_nodes(const struct captured_graph *graph)
{
    return graph->nodes.items;
}

static inline const struct import_region *captured_regions(const struct captured_graph *graph)
{
    return graph->regions.items;
}

static inline const struct captured_function *
captured_function_of(const struct captured_graph *graph, const struct captured_node *node)
{
    return (const struct captured_function *)graph->functions.items + node->kernel.function;
}

// NULL: no function has any.
static inline const struct captured_param *
captured_params_of(const struct captured_graph *graph, const struct captured_function *function)
{
    const struct captured_param *params = graph->params.items;
    return params ? params + function->first_param : NULL;
}

static inline void captured_set(uint64_t *bits, uint32_t node)
{
    bits[node / 64] |= UINT64_C(1) << node % 64;
}

static inline bool captured_has(const uint64_t *bits, uint32_t node)
{
    return bits[node / 64] >> node % 64 & 1;
}

// Sets the bits of all nodes that captured edges lead to from one, also where those stand in bodies
// of these.
void braid_captured_mark_behind(const struct captured_graph *captured, uint32_t from,
                                uint64_t *bits);
// Sets the bits of all nodes in its region from which captured edges lead to one.
void braid_captured_mark_before(const struct captured_graph *captured, uint32_t to, uint64_t *bits);

// Whether some node outside of bodies stands neither before the node nor behind it. `near` is room,
// by node.
bool braid_captured_runs_beside(const struct captured_graph *captured, uint32_t node, bool *near);

// The bytes of a kernel's parameter.
const unsigned char *braid_captured_argument(const struct captured_graph *captured,
                                             const struct captured_node *node, uint32_t index);

// Where a side of a copy begins.
uint64_t braid_import_side_begin(const struct cuda_copy_side *side);

// The bytes from the first that a copy touches on a side to behind the last.
uint64_t braid_import_copy_span(const struct cuda_copy_parameters *copy,
                                const struct cuda_copy_side *side);

// Whether the bytes of a copy or fill stand one behind another, on each side, and how many they
// are.
bool braid_import_is_flat(const struct captured_node *node, uint64_t *out_bytes);

// Whether a node waits for a value, which others have to give.
bool braid_import_awaits(const struct captured_node *node);

// The name of a kind of node, for messages.
const char *braid_captured_kind(int type);

// Finds the members that nodes of a group run on. Errors: BRAID_NO_MEMORY, BRAID_UNSUPPORTED (names
// a node that may be of another device).
braid_status braid_captured_place(struct captured_graph *captured);

// Reads a graph, which stays as it is. The first member is current. Errors: BRAID_NO_MEMORY,
// BRAID_DEVICE_ERROR, BRAID_INVALID_ARGUMENT (an entry of the options' lists makes no sense).
// BRAID_UNSUPPORTED: the driver is too old, or a node that is named is none of Braid's.
braid_status braid_captured_read(const struct import_members *members, gpu_graph graph,
                                 const braid_import_options *options,
                                 struct captured_graph *out_captured);
void braid_captured_finish(struct captured_graph *captured);

#endif
