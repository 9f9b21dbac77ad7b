// SPDX-License-Identifier: Apache-2.0
// What tests of loops count: a word that goes down to 0, and a sum.
#ifndef BRAID_TESTS_COUNTING_H
#define BRAID_TESTS_COUNTING_H

#include <string.h>

#include "contract/nodes.h"

enum { num_frames = 5 };

// `left` counts down, and `sum` gets 1 in each iteration, from 0 in each frame.
struct counting {
    braid_graph *graph;
    uint32_t *numbers; // left, then sum
    braid_resource left, sum;
};

static inline braid_resource add_word(braid_graph *graph, const char *name, uint32_t *word)
{
    braid_resource resource;
    check_ok(braid_graph_add_buffer(graph, name, word, sizeof(*word), &resource));
    return resource;
}

static inline void add_step(braid_graph *graph, const char *name, braid_resource resource,
                            uint32_t *word, uint32_t addend)
{
    add_axpy(graph, (braid_node_options){ .name = name, USES({ resource, BRAID_READ_WRITE }) },
             word, word, 1, addend, 1);
}

static inline void add_start(braid_graph *graph, const char *name, braid_resource resource,
                             uint32_t *word, uint32_t value)
{
    add_fill(graph, (braid_node_options){ .name = name, USES({ resource, BRAID_WRITE }) }, word,
             value, 1);
}

static inline struct counting begin_counting(struct contract *contract, uint32_t left)
{
    struct counting counting = { .graph = contract_graph(contract),
                                 .numbers = contract_numbers(contract, 2) };
    counting.left = add_word(counting.graph, "left", counting.numbers);
    counting.sum = add_word(counting.graph, "sum", counting.numbers + 1);
    add_start(counting.graph, "start left", counting.left, counting.numbers, left);
    add_start(counting.graph, "start sum", counting.sum, counting.numbers + 1, 0);
    return counting;
}

static inline braid_node begin_loop(braid_graph *graph, braid_loop loop)
{
    braid_node node;
    check_ok(braid_graph_begin_loop(graph, &loop, &node));
    return node;
}

static inline braid_node begin_branch(braid_graph *graph, braid_resource condition)
{
    braid_node node;
    check_ok(braid_graph_begin_if(graph, &(braid_if){ .condition = condition }, &node));
    return node;
}

// The two are on lanes of their own where the plan has two.
static inline void add_body(const struct counting *counting)
{
    add_step(counting->graph, "less", counting->left, counting->numbers, UINT32_MAX);
    add_step(counting->graph, "more", counting->sum, counting->numbers + 1, 1);
}

static inline bool plays_loops(const struct contract *contract)
{
    return strcmp(contract->backend, "skeleton") != 0;
}

// HIP's graphs have no loops: the host drives all.
static inline bool drives_all_loops(const struct contract *contract)
{
    return strcmp(contract->backend, "hip") == 0;
}

// In island mode those of loops and branches that can be, each with all inside it; elsewhere none.
static inline braid_islands islands_of_loops(const struct contract *contract)
{
    if (contract->mode != BRAID_MODE_GRAPH || contract->group)
        return BRAID_ISLANDS_AUTO;
    return contract_islands() == BRAID_ISLANDS_WHOLE ? BRAID_ISLANDS_ALWAYS : BRAID_ISLANDS_NEVER;
}

static inline braid_exec *make_exec(struct contract *contract, const braid_graph *graph)
{
    const braid_exec_options options = { .mode = contract->mode,
                                         .islands = islands_of_loops(contract),
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true,
                                         .frames_in_flight = contract_frames() };
    braid_exec *exec;
    braid_status status = contract_create_exec(contract, graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED && !plays_loops(contract))
        skip_because(braid_error_get_message());
    check_ok(status);
    contract_own_exec(contract, exec);
    return exec;
}

static inline void run_frames(braid_exec *exec)
{
    for (int i = 0; i < num_frames; i++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
}

static inline void check_iterations(braid_exec *exec, braid_node loop, uint64_t expected)
{
    uint64_t num = UINT64_MAX;
    check_ok(braid_exec_get_iterations(exec, loop, &num));
    assert_int_equal(num, expected);
}

#endif
