// SPDX-License-Identifier: Apache-2.0
// Copies and fills within the device as kernels that an island can call.
#ifndef BRAID_ISLANDS_GPU_ISLAND_MOVE_H
#define BRAID_ISLANDS_GPU_ISLAND_MOVE_H

#include "backends/gpu/gpu_backend.h"

// The launch of a copy or fill, and the arguments that it points to.
struct island_move {
    struct backend_launch launch;
    void *args[4];
};

// Finds why a copy or fill cannot be inside: a constant, or NULL. Of an end that is NULL yet
// nothing is asked. Errors: BRAID_DEVICE_ERROR.
braid_status braid_island_move_refuse(struct gpu_backend *gpu, const struct backend_task *task,
                                      const char **out_reason);

// The launch of a call: a kernel's own, or that of a kernel of Braid's for a copy or fill, which is
// written to `move`. It points into the task. A block of Braid's has so many threads.
enum { ISLAND_LEAST_GROUP = 32 };
const struct backend_launch *braid_island_launch_of(const struct backend_task *task,
                                                    uint32_t threads, struct island_move *move);
// How many warps a copy or fill would keep busy.
uint64_t braid_island_move_warps(const struct backend_task *task);

#endif
