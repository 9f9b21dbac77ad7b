// SPDX-License-Identifier: Apache-2.0
// The accesses of each captured node, and whether they are proven.
#ifndef BRAID_IMPORT_USES_H
#define BRAID_IMPORT_USES_H

#include "import/memory.h"
#include "import/orders.h"
#include "import/texts.h"

// Numbers in struct import_access of things that are no buffers. A buffer has its index and
// USE_FIRST_BUFFER.
enum { USE_HOST, USE_VARIABLES, USE_MAPPED, USE_CONDITIONS, USE_FIRST_BUFFER };

// Eight bytes of an argument that point into an allocation of the graph.
struct import_patch {
    uint32_t node, argument, offset, buffer;
    uint64_t addend; // where in the allocation
};

// Why a node keeps all its captured orders.
struct import_reason {
    uint32_t node, line; // the text of its kernel has the line; 0: none does
    char text[200];
};

struct import_uses {
    bool *is_work, *proven; // by node
    bool *blind;            // by node: it is not proven, and may touch any memory
    uint32_t *region;       // by node
    struct array accesses;  // struct import_access, by node
    struct array holds;     // the same: unproven nodes that may use an allocation of the graph
    struct array patches;   // struct import_patch, by node, argument and offset
    struct array words;     // struct code_word, by captured node: what setters leave as it is
    struct array reasons;   // struct import_reason, by node
    struct array cells;     // struct import_access: what kernels load pointers from, by node
    uint32_t num_stated;    // kernels that are proven by a statement alone
    uint32_t num_pointers;  // words of memory that were read as pointers
};

// The device is current. Errors: BRAID_NO_MEMORY, BRAID_INVALID_ARGUMENT (names a node that uses an
// allocation too early or too late), BRAID_UNSUPPORTED (names one that may hide an address in it).
braid_status braid_import_find_uses(struct import_memory *memory, const struct import_code *code,
                                    struct import_uses *out_uses);
void braid_import_uses_finish(struct import_uses *uses);

#endif
