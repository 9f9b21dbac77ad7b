// SPDX-License-Identifier: Apache-2.0
// The proof that kernels fetch only bytes that stay as they are.
#ifndef BRAID_VERIFY_VERIFY_PREFETCH_H
#define BRAID_VERIFY_VERIFY_PREFETCH_H

#include "tasks/tasks.h"

// Proves of each kernel that fetches, from the declared accesses alone:
// - The kernel for which it fetches declares that it reads all these bytes. They are the program's,
//   so no frame has them elsewhere.
// - No node of the graph writes any of them. So no frame in flight does, and no iteration of a
// loop.
// - If the next kernel gets another address, or is disabled, the one that fetches is told.
//
// Errors: BRAID_INTERNAL (names both kernels, the resource, and the node that writes),
// BRAID_NO_MEMORY.
braid_status braid_verify_prefetch(const struct tasks *tasks, const braid_graph *graph);

#endif
