// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that a kernel becomes a block of code inside of another kernel.
//
// The block stands in place of a marker:
//     braid_call_N index, here, barrier, shared, args;
// All operands have 32 bits. `index` is that of the thread in its lane. `barrier` is the number of
// the lane's first barrier. The others are addresses in shared memory. At `here` stand blockIdx,
// gridDim and blockDim, three words each; the arguments lie as island_arg_offset says. Small
// arguments are operands themselves, instead of the last: one, two or four.
//
// The block differs from the kernel so:
// - it reads special registers at `here`, and parameters from shared memory;
// - its barriers are those of the lane, for the threads of the lane;
// - its static shared memory begins at `shared`, and the dynamic one lies behind it;
// - ret and exit go to the end of the block. Threads that do so early wait there for the others, as
//   far as these meet;
// - no load passes the order of the caches (ld.global.nc): another call may have written the data.
#ifndef BRAID_ISLANDS_GPU_PTX_CALLABLE_H
#define BRAID_ISLANDS_GPU_PTX_CALLABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "islands/gpu_ptx_meet.h"
#include "islands/gpu_ptx_symbols.h"

// Reads the needs of a kernel of the module. False: it cannot be a block, for the reason.
bool braid_ptx_read_callable(const struct ptx_symbols *symbols, const char *entry,
                             struct ptx_callable *out_callable, struct ptx_reason *out_reason);

// Writes the text between the braces of the block, behind the declaration of the operands:
// %braid_index, %braid_here, %braid_barrier, %braid_shared, and %braid_args or %braid_w0 to _w3.
// The kernel was read before, with these needs. False: memory ran out.
bool braid_ptx_write_callable(const struct ptx_symbols *symbols, const char *entry,
                              const struct ptx_callable *needs, const struct ptx_site *site,
                              FILE *to);

// Writes the module's variables and functions that are needed, with other names.
void braid_ptx_write_needed(const struct ptx_symbols *symbols, const char *prefix, FILE *to);

#endif
