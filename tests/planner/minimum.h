// SPDX-License-Identifier: Apache-2.0
// The fewest waits of a plan, by brute force: the cross-lane edges of the transitive reduction of
// the graph and the lane orders together.
#ifndef BRAID_TESTS_MINIMUM_H
#define BRAID_TESTS_MINIMUM_H

#include <stddef.h>
#include <stdint.h>

#include <braid/schedule.h>

// Edges between the nodes of one bundle may be left out: their lane has them. Takes n * n * (n / 64
// + 1) steps and n * n / 8 bytes.
uint64_t minimum_waits(const braid_schedule *schedule, uint32_t num_nodes, const uint32_t *from,
                       const uint32_t *to, size_t num_edges);

#endif
