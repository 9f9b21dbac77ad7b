// SPDX-License-Identifier: Apache-2.0
// Whether threads of a kernel end while others of its block still meet.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_LEAVE_H
#define BRAID_BACKENDS_GPU_GPU_PTX_LEAVE_H

#include "backends/gpu/gpu_ptx_read.h"

enum ptx_leaving { PTX_STAYS, PTX_LEAVES, PTX_LEAVING_NO_MEMORY };

// Threads meet where a statement has one of the facts. It may say that they leave where they do
// not: it takes branches for ones that part threads if their conditions come from what threads have
// of their own (gpu_ptx_part.h).
enum ptx_leaving braid_ptx_find_leaving(const struct ptx_statement *statements, size_t num,
                                        unsigned facts);

#endif
