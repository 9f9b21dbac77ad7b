// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels tell of their accesses to memory (audit/audit_kernel_table.h).
//
// Each entry gets a parameter behind its own: the address of a table. In front of each access to
// global memory stands a check of its address. It calls a function, unless the access lies where
// one of its kind was allowed. Accesses are of one kind if they do the same to as many bytes, and
// their addresses come from one register. An entry writes the segments that it
// finds into the table, and its later threads begin with these. The function finds the segments of
// the access in the table. Memory of other spaces has other addresses, so generic accesses are
// checked alike.
#ifndef BRAID_AUDIT_GPU_PTX_AUDIT_H
#define BRAID_AUDIT_GPU_PTX_AUDIT_H

#include <stdint.h>

#include "ptx/ptx_read.h"

enum { GPU_AUDIT_PARAMETERS = 1 };

// The same text so changed, for the caller to free. NULL: it stays as it is. Then *out_reason says
// why, or is empty when memory ran out. It stays where an instruction accesses memory in a way that
// has no address, such as a texture, or where it launches kernels. Entries without a limit of their
// threads are given one, since a check takes registers; 0: none.
char *braid_gpu_ptx_with_audit(const char *text, uint32_t most_threads,
                               struct ptx_reason *out_reason);

// The name of a file of that number, without quotation marks; length 0: there is none.
struct ptx_word braid_ptx_find_file(const char *text, uint32_t file);

#endif
