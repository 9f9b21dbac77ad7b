// SPDX-License-Identifier: Apache-2.0
// The graph's door to the accesses that kernels' code makes. Without the add-on `accesses` nothing
// is derived, and nothing is compared.
#ifndef BRAID_GRAPH_CODE_H
#define BRAID_GRAPH_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/graph.h>

#include "base/array.h"
#include "base/kernel_text.h"

// The known code of a graph's kernels. Graphs and their clones share it.
struct graph_code;

enum code_argument_kind {
    ARGUMENT_VALUE,    // bytes, which may be addresses
    ARGUMENT_RESOURCE, // the address of a resource
    ARGUMENT_NOTHING,  // compared with nothing: a trap, scratch, or an unchecked pointer
};

struct code_argument {
    enum code_argument_kind kind;
    uint32_t resource; // the kind has it: ARGUMENT_RESOURCE
    uint32_t bytes;
    const void *data; // the kind has them: ARGUMENT_VALUE
};

// A kernel, and the arguments that the program gives it.
struct code_launch {
    const char *name; // the node's, for messages; NULL: it is in the graph
    const braid_kernel *kernel;
    const struct code_argument *args;
    uint32_t num_args;
    struct code_argument grid; // the address of its grid, which the launch itself reads; the kind
                               // ARGUMENT_NOTHING: it is given
};

// Bytes of an argument that the code uses as an address.
struct code_word {
    uint32_t node, argument, offset, bytes;
};

struct derived_accesses {
    struct array accesses; // braid_access: one for each resource
    struct array words;    // struct code_word, without the node
    bool adds_resource;    // the graph's last one, for variables of the module
};

// About the code of a node: accesses that it declares and its code never makes, or why nobody
// compared them.
struct code_remark {
    uint32_t node;
    uint32_t resource; // GRAPH_NONE: nobody did
    bool never_reads, never_writes;
    size_t why; // where it begins in `texts`
};

struct code_remarks {
    struct array items; // struct code_remark, by node
    struct array texts; // char
};

struct code_text; // a text with kernels

// It uses 8 bytes of a parameter as an address, at an offset, or at each multiple of `step` in
// `bytes`. Or of memory by address `through`, from 1, or below it. Acts may be below an address. It
// touches so many bytes, `from` so many behind the address; 0: nobody knows which.
struct code_address {
    uint32_t parameter, offset, bytes, step, through, from, touched;
    bool reads, writes, reads_below, writes_below, is_above, is_loaded_below;
};

struct code_facts {
    bool has_entry, calls_out, is_lost;     // or perhaps, in a text that nobody can read
    struct array parameters;                // uint32_t: their bytes
    struct array addresses;                 // struct code_address, by parameter
    bool reads_variables, writes_variables; // its module has them
    struct array variables; // char: if so, the names of all of these, each NUL-terminated
    char why[160]; // nobody knows what it does; "", or is_lost: who knows all its pointers does
    uint32_t line; // that is why, or where it uses the first pointer from memory
};

struct graph_code_doors {
    // A graph without code gets some. Errors: BRAID_NO_MEMORY.
    braid_status (*create)(struct graph_code **out_code);
    void (*share)(struct graph_code *code);
    void (*finish)(struct graph_code *code);

    // The accesses of a node that is about to be added. If its code uses variables of its module,
    // the graph gets a resource for these. Errors: BRAID_NO_MEMORY, BRAID_UNSUPPORTED (no compiler
    // is here), BRAID_DEVICE_ERROR (it refuses the source), BRAID_INVALID_ARGUMENT:
    // - The kernel is not proven, or its parameters are unlike the arguments.
    // - The code uses an address in no declared buffer.
    braid_status (*derive)(braid_graph *graph, const struct code_launch *launch,
                           struct derived_accesses *out_accesses);
    // The node cannot be added: removes the resource that was added last.
    void (*take_back)(braid_graph *graph);

    // Compares the accesses of kernel nodes with those of their code, once for each version of the
    // graph. Without a compiler only texts of the program are read. Errors: BRAID_NO_MEMORY,
    // BRAID_INVALID_ARGUMENT:
    // - A node declares to read a buffer, and its code writes it.
    // - Its code touches a buffer to which the node declares no access.
    braid_status (*check)(const braid_graph *graph, const struct text_finder *finder);

    // Copies the remarks of the latest check into zeros. Errors: BRAID_NO_MEMORY.
    braid_status (*list)(const braid_graph *graph, struct code_remarks *out_remarks);

    // Reads PTX, which outlives the text. Errors: BRAID_NO_MEMORY.
    braid_status (*open_text)(const char *ptx, struct code_text **out_text);
    void (*close_text)(struct code_text *text);
    // Errors: BRAID_NO_MEMORY.
    braid_status (*read_entry)(struct code_text *text, const char *entry,
                               struct code_facts *out_facts);
};

// NULL: this Braid was built without.
extern const struct graph_code_doors *const braid_graph_code;

// Does nothing without the doors. Errors: as `check`.
static inline braid_status graph_check_code(const braid_graph *graph,
                                            const struct text_finder *finder)
{
    return braid_graph_code ? braid_graph_code->check(graph, finder) : BRAID_OK;
}

// Finds the words of a node in a list by node.
const struct code_word *braid_graph_words_of(const struct array *words, uint32_t node,
                                             size_t *out_num);

void braid_code_facts_finish(struct code_facts *facts);
void braid_derived_accesses_finish(struct derived_accesses *derived);

// A reason for some remarks. False: memory ran out.
bool braid_code_remarks_add_text(struct code_remarks *remarks, const char *text, size_t *out_at);
void braid_code_remarks_finish(struct code_remarks *remarks);

#endif
