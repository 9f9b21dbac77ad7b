// SPDX-License-Identifier: Apache-2.0
// Stretches of lanes that are one kernel node of the driver's graph.
#ifndef BRAID_ISLANDS_DRIVER_GRAPH_ISLANDS_H
#define BRAID_ISLANDS_DRIVER_GRAPH_ISLANDS_H

#include "backends/driver_graph/driver_graph_loops.h"
#include "backends/driver_graph/driver_graph_times.h"
#include "exec/tasks/player.h"
#include "islands/gpu_island.h"

struct graph_island {
    struct gpu_island *island; // NULL: it could not be made, and its tasks are nodes of their own
    gpu_node node;
    struct backend_task task; // its launch, for messages under the name of its first task
    uint32_t scope_kind;      // ISLAND_SCOPE_INSIDE or 0
    bool changed;             // it has arguments that the executable's node has not
};

struct graph_islands {
    struct graph_island *items;    // as in the program, and loops behind them
    uint32_t num, num_stretches;   // those of the program
    uint32_t num_loops;            // that there are so far
    struct graph_loops *loops;     // that the islands of loops count for
    uint32_t *island_of, *call_of; // by task; island_of is UINT32_MAX outside
    uint32_t *notes;               // one of each stretch, in host memory; NULL: they take none
    bool changed;                  // some item is
};

// Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_driver_graph_islands_create(struct gpu_backend *gpu,
                                               const struct program *program,
                                               struct graph_loops *loops,
                                               struct graph_islands *out_islands);
// No launch is in flight. The device need not be current.
void braid_driver_graph_islands_finish(struct gpu_backend *gpu, struct graph_islands *islands);

// Compiles and loads one. If that is impossible, or memory runs out, the item stays without. If the
// stage must have it, the status is then BRAID_UNSUPPORTED or BRAID_NO_MEMORY. Its calls write
// their times to `times`, unless that is NULL. Errors: BRAID_DEVICE_ERROR.
braid_status braid_driver_graph_islands_make(struct graph_islands *islands, struct gpu_backend *gpu,
                                             const struct stage *stage, uint32_t index,
                                             struct graph_times *times);

// The same of a loop or branch, which `body` is the first one of; `is_inside` a loop. *out_item is
// NULL if it stays without.
braid_status braid_driver_graph_islands_make_loop(struct graph_islands *islands,
                                                  struct gpu_backend *gpu,
                                                  const struct stage *stage,
                                                  const struct program *body, bool is_inside,
                                                  struct graph_times *times,
                                                  struct graph_island **out_item);

bool braid_driver_graph_islands_have(const struct graph_islands *islands, uint32_t task);

// Whether a task that is in one can have the grid that it has, as far as the island knows.
braid_status braid_driver_graph_islands_check(const struct graph_islands *islands,
                                              const struct backend_task *task);
// Takes the present values of a task in an island, for later launches. If the island's grids did
// not vary, it is made again before the first that does. Errors: as for braid_gpu_island_create.
braid_status braid_driver_graph_islands_set(struct graph_islands *islands, struct gpu_backend *gpu,
                                            const struct backend_task *task);

// Behind those: hands the changes to the executable's nodes.
braid_status braid_driver_graph_islands_apply(struct graph_islands *islands,
                                              const struct gpu_backend *gpu,
                                              gpu_executable executable);

// After the device failed: adds the nodes inside that were running, by the plan's islands.
void braid_driver_graph_islands_find_running(const struct graph_islands *islands,
                                             struct running *running);

#endif
