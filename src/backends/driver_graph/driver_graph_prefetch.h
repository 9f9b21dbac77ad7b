// SPDX-License-Identifier: Apache-2.0
// Kernels of a driver's graph that fetch inputs of the next kernel: gpu_ptx_prefetch.h.
#ifndef BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_PREFETCH_H
#define BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_PREFETCH_H

#include "backends/gpu/gpu_backend.h"
#include "tasks/player.h"

struct graph_prefetches;

// *out_prefetches is NULL if no kernel of the stage's program fetches anything.
// Errors: BRAID_NO_MEMORY.
braid_status braid_driver_graph_prefetches_create(const struct stage *stage,
                                                  struct graph_prefetches **out_prefetches);
// NULL is destroyed to no effect.
void braid_driver_graph_prefetches_destroy(struct graph_prefetches *prefetches);

// Has the launch of a task, a kernel, fetch the bytes that the task names. The kernel may be one
// that writes its times (braid_driver_graph_times_launch). The launch's args are valid until the
// next call. The launch stays as it is if it fetches nothing, or its kernel cannot. The device is
// current. Errors: as loading kernels.
braid_status braid_driver_graph_prefetch(struct graph_prefetches *prefetches,
                                         const struct backend_task *task,
                                         struct backend_launch *launch);

uint32_t braid_driver_graph_prefetches_count(const struct graph_prefetches *prefetches);

#endif
