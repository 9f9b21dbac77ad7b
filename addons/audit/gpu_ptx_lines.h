// SPDX-License-Identifier: Apache-2.0
// Lines of source in PTX.
#ifndef BRAID_AUDIT_GPU_PTX_LINES_H
#define BRAID_AUDIT_GPU_PTX_LINES_H

#include "audit/audit_kernel_table.h"
#include "backends/gpu/gpu_ptx_read.h"

// The line of the statements behind a .loc; AUDIT_NO_LINE: it is 0, as of code
// that a compiler made, or its numbers are too large.
uint32_t braid_ptx_read_line(const struct ptx_statement *loc);

// The name of a file of that number, without quotation marks; length 0: there is none.
struct ptx_word braid_ptx_find_file(const char *text, uint32_t file);

#endif
