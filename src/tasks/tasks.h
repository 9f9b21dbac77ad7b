// SPDX-License-Identifier: Apache-2.0
// A graph's nodes as tasks of a backend: loaded kernels, and values that are bytes or bindings.
#ifndef BRAID_TASKS_TASKS_H
#define BRAID_TASKS_TASKS_H

#include "base/store.h"
#include "device/backend.h"
#include "device/places.h"
#include "graph/graph.h"
#include "plan/plan_early.h"

// Where values of tasks stand in the master copy.
enum task_slot {
    TASK_SLOT_ARGUMENTS, // kernels' values, as in the graph; then as set for later launches
    TASK_SLOT_WORKS,     // other nodes' values in the same way: one union work each
    TASK_SLOT_CONTROLS,  // all nodes' states, by index: one struct task_control each
    TASK_NUM_SLOTS,
};

struct task_control {
    braid_dim3 grid; // a kernel's; with a 0 in it the task is disabled
    uint32_t enabled;
    uint32_t rests; // nothing needs it in frames with these values
};

// Whether a node is a kernel without a block.
static inline bool task_is_empty(enum work_kind kind, const struct task_control *control)
{
    return kind == WORK_KERNEL && work_grid_is_empty(control->grid);
}

// A row of the value table: an address in a task. Each frame finds it for itself, until the program
// sets something else there. All other bytes are constants in the master copy.
struct task_address {
    uint32_t node;
    uint8_t slot;           // enum task_slot
    bool is_set;            // the program has put a constant in its place
    uint64_t offset;        // in the slot
    uint64_t memory_offset; // where in the memory; a version's memory is a whole buffer's
    uint32_t num_versions;  // 0: the address of a transient buffer or of scratch
    // An address in an arena has these:
    uint32_t resource;
    uint32_t place; // whose arena the buffer lies in
    uint64_t arena_offset;
    // A version has these:
    uint32_t first; // its index in version_memory
    uint32_t frames_before;
    // A trap, which counts as a version, too, has this:
    uint32_t trap; // its number, from 1; 0: it is none
};

// Where a node notes that it runs, and that it has ended: a row of notes.
struct task_note {
    uint32_t row;
    bool ends; // for a row of a lane: see backend_task.notes_end
};

// A kernel that was loaded, and for which place.
struct task_kernel {
    struct backend_kernel *kernel;
    uint32_t place;
};

struct tasks {
    struct backend *backend;     // at place 0
    const struct places *places; // NULL: there is no other
    int32_t priority;            // kernels whose nodes have none get it
    struct backend_task *items;  // one a node, by node index; arguments and works: in frames only
    uint32_t num;
    uint64_t *offsets;              // by node: of its arguments or its work in their slot
    struct task_address *addresses; // by node
    uint32_t num_addresses, num_traps;
    uint32_t *first_address; // num + 1: those of a node are first_address[node] .. [node + 1]
    void **version_memory;   // as in the graph; the exec puts in what is NULL there
    size_t num_version_memory;
    uint32_t *arg_sizes;                       // all arguments', node by node
    unsigned char *slot_bytes[TASK_NUM_SLOTS]; // the master copy, which setters write
    size_t num_slot_bytes[TASK_NUM_SLOTS];
    uint32_t num_args, max_args;            // all nodes' together, and any one's
    uint32_t num_regions;                   // the graph's
    const struct plan_prefetch *prefetches; // by node, the schedule's; NULL: nobody fetches
    struct task_note *notes;                // by node; NULL: there is no black box
    bool waits;                             // kernels get the wait that early starts need
    struct task_kernel *kernels;            // loaded, each once for each place
    size_t num_kernels;
    struct store store; // holds the arrays
};

// Loads the kernels of all nodes and copies their arguments. Names live in the schedule. `places`
// outlive the tasks, and are those of a graph that was placed; NULL: there is one place. `notes`:
// there is a black box; each node has a row of its own then. `waits`: kernels get the wait of
// KERNEL_WAITS_FIRST where they can.
// Errors: BRAID_UNSUPPORTED (a kernel has no code for the device), BRAID_INVALID_ARGUMENT (its
// code takes other arguments), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_tasks_create(struct backend *backend, const struct places *places,
                                const braid_graph *graph, bool notes, bool waits, int32_t priority,
                                struct tasks *out_tasks);

void braid_tasks_finish(struct tasks *tasks);

// Where argument `index` of a kernel node begins in its slot.
uint64_t braid_tasks_arg_offset(const struct tasks *tasks, uint32_t node, uint32_t index);

// How many bytes all arguments of a kernel node take in their slot.
uint64_t braid_tasks_arg_bytes(const struct tasks *tasks, uint32_t node);

// Whether bytes of a slot, from `offset` on, are an address that frames find for themselves.
bool braid_tasks_is_address(const struct tasks *tasks, uint32_t node, uint32_t slot,
                            uint64_t offset);

// Notes where in a frame's arena the transient buffers lie: `offsets` has that of each resource.
void braid_tasks_set_offsets(struct tasks *tasks, const braid_graph *graph,
                             const uint64_t *offsets);

static inline struct task_control *tasks_control(const struct tasks *tasks, uint32_t node)
{
    return (struct task_control *)(void *)tasks->slot_bytes[TASK_SLOT_CONTROLS] + node;
}

// A loop or branch keeps its number: the values behind it may change meanwhile.
static inline uint32_t tasks_loop_number(const struct tasks *tasks, uint32_t node)
{
    const unsigned char *works = tasks->slot_bytes[TASK_SLOT_WORKS];
    return ((const union work *)(const void *)(works + tasks->offsets[node]))->loop.number;
}

// Gives each task the name and lane it has in the schedule, for messages.
void braid_tasks_name(struct tasks *tasks, const braid_schedule *schedule);

#endif
