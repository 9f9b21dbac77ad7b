// SPDX-License-Identifier: Apache-2.0
// The parts of the target "graphs": a graph built by operations, its plans, and its frames.
#ifndef BRAID_TESTS_FUZZ_GRAPHS_H
#define BRAID_TESTS_FUZZ_GRAPHS_H

#include <braid/braid.h>

#include "fuzz/fuzz.h"
#include "fuzz/order.h"

#include <stdatomic.h>

struct subject;

// What memory of a frame's own a kernel is given, and what it does with it.
enum subject_memory {
    MEMORY_NONE,
    MEMORY_SCRATCH, // fills it and finds it so
    MEMORY_WRITES,  // leaves the frame's number in a transient buffer,
    MEMORY_READS,   // where another node finds it
    MEMORY_COUNTS,  // counts on from the version of the frame before
};

// What a node's work needs, and what it leaves behind. `done` and `seen` are plain on purpose:
// a thread sanitizer sees nodes that nothing orders.
struct subject_work {
    struct subject *subject;
    uint32_t node;
    uint32_t num_blocks;
    uint32_t blocks_done; // a kernel's, atomic
    uint32_t done;        // the last frame that ran it
    uint32_t token;       // a kernel's second argument
    uint32_t seen;        // as its call got it
    enum subject_memory memory;
    _Atomic uint64_t blocks_begun, blocks_ended; // frames' in flight
};

// A graph, and what the test knows of it.
struct subject {
    struct order_graph model;
    struct order order; // the model's, as last found
    braid_graph *graph, *other;
    braid_node handles[order_max_nodes], foreign;
    braid_resource resources[order_max_resources], foreign_resource;
    struct subject_work work[order_max_nodes];
    uint32_t frame;
    uint32_t failing;              // the node whose queue call fails; num_nodes: none
    braid_parameter token, number; // kernels' second and third arguments
    uint64_t token_users;          // a bit a node
    bool in_flight;                // several frames at once: `done` and `seen` say nothing
};

// Turns the next bytes into one operation on the graph, right or wrong, and checks its answer.
void subject_change(struct subject *subject, struct random *input);

// graphs_memory.c: parameters, and kernels with memory of a frame's own.
void subject_open_parameters(struct subject *subject);
void subject_use_parameter(struct subject *subject, uint32_t node, braid_node handle);
void subject_set_token(struct subject *subject, struct random *input, braid_exec *exec);
void subject_add_memory(struct subject *subject, struct random *input);
// What the kernel does with its memory; `count`: how often the node has begun.
void subject_use_memory(const struct subject_work *work, void *const *args, uint64_t count);

// graphs_flight.c: what a node checks where several frames are in flight.
uint64_t subject_begin_in_flight(struct subject_work *work, uint64_t num_blocks);
void subject_end_in_flight(struct subject_work *work, uint64_t num_blocks);
// Launches frames without waiting between them.
void subject_fly(struct subject *subject, struct random *input, braid_device *device,
                 braid_stream *stream);

// Plans as the next bytes say, and compares the plan with the order. NULL where planning must fail.
braid_schedule *subject_plan(struct subject *subject, struct random *input);

// Runs some frames on the CPU, each node looking whether all that it stands behind has run.
void subject_run(struct subject *subject, struct random *input, const braid_schedule *schedule);

// Whether a node writes the frame's number: an empty one leaves nothing, and a fill the same value
// in every frame.
static inline bool leaves_frame(enum order_kind kind)
{
    return kind != ORDER_EMPTY && kind != ORDER_FILL;
}

// The node's kernel and calls.
extern const braid_kernel subject_kernel, subject_memory_kernel; // they take two and five arguments
void subject_host_call(void *user);
braid_status subject_queue_call(braid_device *device, braid_stream *stream, void *user);

#endif
