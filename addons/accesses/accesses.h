// SPDX-License-Identifier: Apache-2.0
// The accesses of kernel nodes, from the code of their kernels: derived in place of declared ones,
// or compared with those.
//
// Through a word of an argument the code touches the resource whose address stands there.
// Pointers that the program does not want checked, traps, and a node's own scratch count for
// nothing.
#ifndef BRAID_ACCESSES_ACCESSES_H
#define BRAID_ACCESSES_ACCESSES_H

#include <braid/status.h>

#include "accesses/kernel_accesses.h"
#include "graph/changes.h"
#include "graph/code.h"
#include "graph/extents.h"

// A kernel's code, read once for all nodes that launch it.
struct accesses_kernel {
    const char *text; // PTX, which outlives this
    struct kernel_accesses found;
    struct ptx_reason reason; // why the text cannot be read, or has no such kernel; "": it has one
};

// A text that is not understood makes a kernel that is not proven. Errors: BRAID_NO_MEMORY.
braid_status braid_accesses_read(const char *text, const char *entry,
                                 struct accesses_kernel *out_kernel);
void braid_accesses_finish(struct accesses_kernel *kernel);

// The graph as the planner has it.
struct accesses_view {
    const braid_graph *graph;
    const struct extents *extents;
    const struct graph_changes *changes;
};

enum word_kind {
    WORD_OF_NOTHING,  // a number, or what counts for nothing
    WORD_OF_RESOURCE, // its address
    WORD_ELSEWHERE,   // an address in no declared buffer
    WORD_CHANGES,     // from frame to frame
};

struct word {
    enum word_kind kind;
    uint32_t resource; // the kind has it: WORD_OF_RESOURCE
    uint32_t before;   // the buffer whose end is the address where the resource begins; GRAPH_NONE
};

// The meaning of the eight bytes at an offset of an argument, which no parameter changes.
struct word braid_accesses_find_word(const struct accesses_view *view,
                                     const struct code_argument *argument, uint32_t offset);

struct derived_access {
    uint32_t resource; // a buffer, or the resource that the argument names
    uint32_t mode;     // enum braid_access_mode: nobody proves that a whole buffer is written, so a
                       // write is an update
    unsigned acts;     // ACCESSES_READS and so on
    uint32_t argument; // that of the first word
    const char *at;    // in the text: the first write, else the first read
};

// Derives the accesses of a launch: an array of struct derived_access, one each resource. Errors:
// BRAID_NO_MEMORY; BRAID_INVALID_ARGUMENT, where they are not known:
// - The kernel is not proven, or its parameters are unlike the arguments.
// - The code uses an address in no declared buffer.
braid_status braid_accesses_derive(const struct accesses_view *view,
                                   const struct code_launch *launch,
                                   const struct accesses_kernel *kernel,
                                   struct array *out_accesses);

// Acts that a node declares, and its code never does.
struct access_remark {
    uint32_t resource; // as declared
    unsigned acts;
};

// Compares nodes, one after another. Zero-initialised is ready.
struct accesses_checker {
    struct array remarks; // struct access_remark: of the latest node
    struct array made;    // struct derived_access: its accesses, by buffer
    bool is_whole;        // no word of it changes from frame to frame
    bool is_derived;      // its accesses are those of its code, so each is known
};

// Compares the accesses that a kernel node declares with those of its code. An unproven kernel
// passes, unless its accesses were derived. Errors: BRAID_NO_MEMORY; BRAID_INVALID_ARGUMENT:
// - The node declares to read a buffer, and its code writes it.
// - The code touches a buffer to which the node declares no access.
braid_status braid_accesses_check(struct accesses_checker *checker,
                                  const struct accesses_view *view, uint32_t node,
                                  const struct accesses_kernel *kernel);
void braid_accesses_checker_finish(struct accesses_checker *checker);

#endif
