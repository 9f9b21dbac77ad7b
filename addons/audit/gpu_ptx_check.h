// SPDX-License-Identifier: Apache-2.0
// The check of an access by a kernel that tells of its accesses.
//
// The module has a function that looks into the table. A text in front of the access calls it.
#ifndef BRAID_AUDIT_GPU_PTX_CHECK_H
#define BRAID_AUDIT_GPU_PTX_CHECK_H

#include <stdio.h>

#include "audit/audit_kernel_table.h"

enum { PTX_CHECK_CACHES = AUDIT_NUM_KNOWN }; // a function's: each takes registers

// A variable for the address of the table, and the function that looks into the table.
extern const char braid_gpu_ptx_check_ptx[];

// Where accesses of one kind are allowed, in the registers %braid_low and %braid_span of a number.
// The first has an address, the second how far behind it an access may begin.
struct ptx_cache {
    uint32_t number; // PTX_CHECK_CACHES: there are no registers
    bool is_shared;  // through the table, which knows it by its number
};

// The line is that of the source.
void braid_ptx_write_check(FILE *file, const struct ptx_statement *statement,
                           const struct ptx_access *access, struct ptx_cache cache, uint32_t line);

// Writes how a thread begins with a cache. If it is shared, it begins as another thread left it.
void braid_ptx_write_cache(FILE *file, struct ptx_cache cache, uint32_t bytes);

#endif
