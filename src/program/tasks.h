// SPDX-License-Identifier: Apache-2.0
// A graph's nodes as tasks of a backend: loaded kernels, and values that are bytes or bindings.
#ifndef BRAID_PROGRAM_TASKS_H
#define BRAID_PROGRAM_TASKS_H

#include "backends/backend.h"
#include "device/places.h"
#include "graph/graph.h"

// The memory that a frame has for its values; see frame.h.
enum task_slot {
    TASK_SLOT_ARGUMENTS, // of kernels, as in the graph; then as set for later launches
    TASK_SLOT_WORKS,     // of other nodes, likewise: one union work each
    TASK_SLOT_CONTROLS,  // of all nodes, by index: one struct task_control each
    TASK_NUM_SLOTS,
};

struct task_control {
    braid_dim3 grid; // of a kernel; with a 0 in it the task is disabled
    uint32_t enabled;
};

// Bytes of a slot that are the address of a transient buffer: each frame writes its own.
struct task_address {
    uint32_t node;
    uint8_t slot;    // enum task_slot
    uint64_t offset; // in the slot
    uint32_t resource;
    uint32_t place;        // whose arena the buffer lies in
    uint64_t arena_offset; // and where
};

// Bytes of a slot that are the address of a version: another one in each frame.
struct task_version {
    uint32_t node;
    uint8_t slot; // enum task_slot
    uint64_t offset;
    uint32_t first, num; // of version_memory
    uint32_t frames_before;
    uint64_t memory_offset; // of a part of a replica
};

// A kernel that was loaded, and for which place.
struct task_kernel {
    struct backend_kernel *kernel;
    uint32_t place;
};

struct tasks {
    struct backend *backend;     // of place 0
    const struct places *places; // NULL: there is no other
    struct backend_task *items;  // one a node, by node index; arguments and works: in frames only
    uint32_t num;
    uint64_t *offsets; // by node: of its arguments or its work in their slot
    struct task_address *addresses;
    uint32_t num_addresses;
    struct task_version *versions; // by node
    uint32_t num_versions;
    void **version_memory; // as in the graph; the exec puts in what is NULL there
    size_t num_version_memory;
    uint32_t *arg_sizes;                       // of all arguments, node by node
    unsigned char *slot_bytes[TASK_NUM_SLOTS]; // what a frame's slots begin with
    size_t num_slot_bytes[TASK_NUM_SLOTS];
    uint32_t num_args, max_args; // of all nodes together, and of any
    struct task_kernel *kernels; // loaded, each once for each place
    size_t num_kernels;
    struct rank_operation *operations; // of posts, in the graph's order
    uint32_t num_operations;
    braid_communicator **communicators; // that the graph declares
    uint32_t num_communicators;
};

// Loads the kernels of all nodes and copies their arguments. Names live in the schedule. `places`
// outlive the tasks, and are those of a graph that was placed; NULL: there is one place.
// Errors: BRAID_UNSUPPORTED (a kernel has no code for the device), BRAID_INVALID_ARGUMENT (its
// code takes other arguments), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_tasks_create(struct backend *backend, const struct places *places,
                                const braid_graph *graph, struct tasks *out_tasks);

void braid_tasks_finish(struct tasks *tasks);

// Where argument `index` of a kernel node begins in its slot.
uint64_t braid_tasks_arg_offset(const struct tasks *tasks, uint32_t node, uint32_t index);

// Notes where in a frame's arena the transient buffers lie: `offsets` has that of each resource.
void braid_tasks_place(struct tasks *tasks, const braid_graph *graph, const uint64_t *offsets);

// Gives each task the name and lane it has in the schedule, for messages.
void braid_tasks_name(struct tasks *tasks, const braid_schedule *schedule);

#endif
