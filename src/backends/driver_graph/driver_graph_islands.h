// SPDX-License-Identifier: Apache-2.0
// The graph player's door to islands: stretches of lanes, loops and branches that are one kernel
// node each.
#ifndef BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_ISLANDS_H
#define BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_ISLANDS_H

#include "backends/gpu/gpu_backend.h"
#include "tasks/player.h"

struct gpu_island;
struct graph_loops;
struct graph_times;

// How a program is one kernel: program.is_island.
enum { ISLAND_CLOSE = 1, ISLAND_SPREAD = 2 };

// A loop or branch in a launch, as the kernel of an island reads it.
enum {
    ISLAND_SCOPE_TESTS_FIRST = 1, // the condition is read before the first iteration, too
    ISLAND_SCOPE_INSIDE = 2,      // the island is in another loop, so that iterations add up
};
struct island_scope {
    const uint32_t *condition; // on the device; NULL: `most` alone ends the loop
    uint64_t most;             // iterations
    uint64_t *total;           // on the device: iterations of the frame, or runs of the first arm
    uint64_t *counter;         // in host memory: the same, and those since the entry
    uint32_t kind;             // ISLAND_SCOPE_*
    uint32_t unused[3];
    uint64_t left, sum; // the kernel's own, 0
};
_Static_assert(sizeof(struct island_scope) == 64, "the kernel reads it so");

struct graph_island {
    struct gpu_island *island; // NULL: it could not be made, and its tasks are nodes of their own
    struct backend_task task;  // a kernel, in the place and by the name of the first task inside
    uint32_t scope_kind;       // ISLAND_SCOPE_INSIDE or 0
    bool changed;              // it has arguments that the executable's node has not
};

struct graph_islands {
    struct graph_island *items;    // as in the program, and loops behind them; NULL: there are none
    uint32_t num, num_stretches;   // how many the program has
    uint32_t num_loops;            // that there are so far
    uint32_t num_made, num_nodes;  // islands, and nodes in them
    struct graph_loops *loops;     // that the islands of loops count for
    struct graph_times *times;     // that their calls write to; NULL: nobody asked for times
    uint32_t *island_of, *call_of; // by task; island_of is GRAPH_OUTSIDE outside
    uint32_t *notes;               // one of each stretch, in host memory; NULL: they take none
    bool changed;                  // some item is
    bool is_whole; // all of the program is the first item, and `changed` since the last frame
    // The stage's program with one kernel in the place of each island. Operations and bodies are
    // the stage's. The tasks are its own, until they are nodes of the graph.
    struct program program;
    struct frame frame;
    // The whole program's.
    braid_step op;
    struct program_lane lane;
    uint32_t lane_op;
};

#define GRAPH_OUTSIDE UINT32_MAX

static inline bool graph_islands_have(const struct graph_islands *islands, uint32_t task)
{
    return islands->items && islands->island_of[task] != GRAPH_OUTSIDE;
}

// A provider of tasks. A program has islands only where there is a table. All but `create` are
// called with items.
struct graph_islands_ops {
    // Compiles and loads those of the stage's program, and writes the program anew with them. If
    // one cannot be made, or has no memory, its tasks stay as they are. If the stage must have it,
    // the status is then BRAID_UNSUPPORTED or BRAID_NO_MEMORY. Errors: BRAID_DEVICE_ERROR,
    // BRAID_NO_MEMORY.
    braid_status (*create)(struct gpu_backend *gpu, const struct stage *stage,
                           struct graph_loops *loops, struct graph_times *times,
                           struct graph_islands *out_islands);
    // No launch is in flight. The device need not be current.
    void (*finish)(struct gpu_backend *gpu, struct graph_islands *islands);
    // Whether a task that is in one can have the grid that it has, as far as the island knows.
    braid_status (*check)(const struct graph_islands *islands, const struct backend_task *task);
    // Takes the present values of a task in an island, whose own task is then changed. If the
    // island's grids did not vary, it is made again before the first that does. Errors:
    // BRAID_UNSUPPORTED, BRAID_DEVICE_ERROR, BRAID_NO_MEMORY.
    braid_status (*set)(struct graph_islands *islands, struct gpu_backend *gpu,
                        const struct backend_task *task);
    // Only for a whole program: prepares the launch of its task for several frames, and perhaps
    // queues a copy before. Times are kept from frame `first` on.
    gpu_result (*begin)(struct graph_islands *islands, const struct gpu_backend *gpu,
                        gpu_stream stream, uint32_t num_frames, uint32_t first, bool *out_queued);
    // See player.most_frames.
    uint32_t (*most_frames)(const struct graph_islands *islands, bool in_rows);
    // Frames of the next launch before `frame` have the present values, unless they had others. 0:
    // none has values of its own.
    void (*keep_rows)(struct graph_islands *islands, uint32_t frame);
    // After the device failed: adds the nodes inside that were running, by the plan's islands.
    void (*find_running)(const struct graph_islands *islands, struct running *running);
};

// NULL: this Braid was built without islands.
extern const struct graph_islands_ops *const braid_graph_islands;

#endif
