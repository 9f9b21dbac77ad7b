// SPDX-License-Identifier: Apache-2.0
// The check of an access by a kernel that tells of its accesses.
//
// The module has a function that looks into the table. A text in front of the access calls it.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_CHECK_H
#define BRAID_BACKENDS_GPU_GPU_PTX_CHECK_H

#include "backends/gpu/gpu_ptx_access.h"

enum {
    PTX_CHECK_CACHES = 8, // of a function: each takes registers
    PTX_CHECK_BYTES = 2048,
};

// A variable for the address of the table, and the function that looks into the table.
extern const char braid_ptx_checker[];

// Writes the text to PTX_CHECK_BYTES. The registers %braid_low and %braid_span of that number tell
// where such accesses are allowed. The first has an address, the second how far behind it an access
// may begin. PTX_CHECK_CACHES: there are none. False: the statement is too long.
bool braid_ptx_write_check(const struct ptx_statement *statement, const struct ptx_access *access,
                           uint32_t cache, char *text);

#endif
