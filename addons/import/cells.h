// SPDX-License-Identifier: Apache-2.0
// Pointer cells: words of memory from which kernels load pointers. While nobody writes it, such a
// word is a constant, and its value is an address as those in arguments are.
#ifndef BRAID_IMPORT_CELLS_H
#define BRAID_IMPORT_CELLS_H

#include "graph/code.h"
#include "import/memory.h"

struct import_cell {
    uint32_t buffer;
    uint64_t from, to; // bytes of it; 0, 0: all
};

// The pointers that a kernel node may load for one of its addresses.
struct import_pointers {
    struct array values; // uint64_t, each once
    struct array cells;  // struct import_cell: the memory that they were read from, each once
    uint32_t num_words;  // that were read
    bool is_closed;      // some stand in closed buffers, and may be any that lead into these
    const char *why;     // nobody knows them; NULL: these are all
};

// Reads the cells behind address `index` of a kernel's code, which is of memory. The device is
// current. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_import_read_cells(struct import_memory *memory, uint32_t node,
                                     const struct array *addresses, uint32_t index,
                                     struct import_pointers *out_pointers);
void braid_import_pointers_finish(struct import_pointers *pointers);

#endif
