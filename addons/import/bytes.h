// SPDX-License-Identifier: Apache-2.0
// Bytes of buffers that nodes touch by themselves.
#ifndef BRAID_IMPORT_BYTES_H
#define BRAID_IMPORT_BYTES_H

#include "import/memory.h"
#include "import/orders.h"

// Where code tells which bytes of a buffer it touches, these become buffers of their own. Accesses
// and cells then name all parts that they touch, and have no ranges. `first` is the number that
// accesses have for the first buffer. Errors: BRAID_NO_MEMORY.
braid_status braid_import_split_bytes(struct import_memory *memory, uint32_t first,
                                      struct array *accesses, struct array *cells);

#endif
