// SPDX-License-Identifier: Apache-2.0
// Nodes of the test kernels, added in one line each. A failure ends the test.
#ifndef BRAID_TESTS_NODES_H
#define BRAID_TESTS_NODES_H

#include "contract/contract.h"

// Fields of braid_node_options: (braid_node_options){ AFTER(a, b), USES({ list, BRAID_READ }) }.
#define AFTER(...)                                                                                 \
    .after = (const braid_node[]){ __VA_ARGS__ },                                                  \
    .num_after = sizeof((const braid_node[]){ __VA_ARGS__ }) / sizeof(braid_node)
#define USES(...)                                                                                  \
    .accesses = (const braid_access[]){ __VA_ARGS__ },                                             \
    .num_accesses = sizeof((const braid_access[]){ __VA_ARGS__ }) / sizeof(braid_access)

braid_node add_empty(braid_graph *graph, braid_node_options options);
// Four blocks of 32 threads, so that a launch is more than one piece of work.
braid_node add_axpy(braid_graph *graph, braid_node_options options, uint32_t *to,
                    const uint32_t *from, uint32_t factor, uint32_t addend, uint32_t num);
// The same from buffer to buffer.
void add_axpy_of(braid_graph *graph, braid_resource to, braid_resource from, uint32_t factor,
                 uint32_t addend, uint32_t num);
braid_node add_add(braid_graph *graph, braid_node_options options, uint32_t *to, const uint32_t *a,
                   const uint32_t *b, uint32_t num);
braid_node add_busy(braid_graph *graph, braid_node_options options, uint64_t *interval,
                    uint64_t ns);
// Its blocks have 32 threads.
braid_node add_count_blocks(braid_graph *graph, braid_node_options options, uint32_t *counts,
                            uint32_t *seen, braid_dim3 grid);
// Its code is unused again when the last exec with it is gone.
braid_node add_alone(braid_graph *graph, braid_node_options options, uint32_t *to, uint32_t addend);
// One of two kernels that wait for each other; `me` is 0 or 1.
braid_node add_handshake(braid_graph *graph, braid_node_options options, uint32_t *flags,
                         uint32_t *met, uint32_t me);
// All its blocks, of 256 threads, wait for each other: see test_meet.
braid_node add_meet(braid_graph *graph, braid_node_options options, uint32_t *arrived,
                    uint32_t num_blocks);
braid_node add_gate(braid_graph *graph, braid_node_options options, struct gate gate);
braid_node add_stamp(braid_graph *graph, braid_node_options options, uint32_t *counter,
                     uint32_t *stamps, uint32_t index, uint64_t delay_ns);
braid_node add_copy(braid_graph *graph, braid_node_options options, void *to, const void *from,
                    uint64_t bytes);
braid_node add_fill(braid_graph *graph, braid_node_options options, uint32_t *to, uint32_t value,
                    uint64_t num);
braid_node add_host(braid_graph *graph, braid_node_options options, braid_host_function *call,
                    void *user);
braid_node add_blocking(braid_graph *graph, braid_node_options options, braid_host_function *call,
                        void *user);
braid_node add_queue_call(braid_graph *graph, braid_node_options options,
                          braid_queue_function *call, void *user);
// A node of every test kernel, which does next to nothing in zeroed memory.
void add_every_kernel(braid_graph *graph, void *memory);
braid_resource add_resource(braid_graph *graph, const char *name);

#endif
