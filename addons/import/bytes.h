// SPDX-License-Identifier: Apache-2.0
// Bytes of buffers that nodes touch by themselves.
#ifndef BRAID_IMPORT_BYTES_H
#define BRAID_IMPORT_BYTES_H

#include "import/uses.h"

// Where code tells which bytes of a buffer it touches, these become buffers of their own. Accesses
// and cells then name all parts that they touch, and have no ranges. Errors: BRAID_NO_MEMORY.
braid_status braid_import_split_bytes(struct import_memory *memory, struct import_uses *uses);

#endif
