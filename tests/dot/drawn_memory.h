// SPDX-License-Identifier: Apache-2.0
// Random graphs whose nodes use memory that the plan or frames choose.
#ifndef BRAID_TESTS_DRAWN_MEMORY_H
#define BRAID_TESTS_DRAWN_MEMORY_H

#include <stdint.h>

#include <braid/graph.h>

// Scratch, transient buffers and versions, copies, fills and calls between them, calls that block,
// and accesses that accumulate.
braid_graph *make_graph_with_memory(uint64_t seed);

// That frames of both take as much, of transient buffers and scratch.
void assert_same_memory(const braid_graph *one, const braid_graph *two);

// What nodes of graphs call that are only drawn: nothing is done.
braid_cpu_function drawn_kernel;
braid_host_function drawn_host_call;
braid_queue_function drawn_queue_call;

#endif
