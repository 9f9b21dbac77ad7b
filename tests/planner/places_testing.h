// SPDX-License-Identifier: Apache-2.0
// What tests of plans for several devices share: kernels that are given addresses of buffers.
#ifndef BRAID_TESTS_PLACES_TESTING_H
#define BRAID_TESTS_PLACES_TESTING_H

#include "planner/plan_testing.h"

enum { MOST_BUFFERS = 4 };

// A kernel that accesses buffers by addresses that it is given.
struct user {
    const char *name;
    uint64_t cost_ns;
    uint32_t place; // from 1; 0: none
    braid_resource resources[MOST_BUFFERS];
    braid_access_mode modes[MOST_BUFFERS];
    uint32_t num;
    bool by_pointer; // it has a pointer of its own
    uint32_t lane_hint;
    braid_node prelude_of;
    braid_node after;
};

braid_node add_user(braid_graph *graph, const struct user *user);

// A buffer with an address of its own, which nobody looks at, on a device.
braid_resource add_home(braid_graph *graph, const char *name, uint64_t bytes, uint32_t place);
braid_resource add_transient(braid_graph *graph, const char *name, uint64_t bytes);

// Plans for so many equal devices and proves the plan. A copy takes 100 ns and 1 ns a byte, an edge
// between devices 50 ns; so many nodes run at once on each.
braid_schedule *plan_on_devices(const braid_graph *graph, uint32_t num_places, uint32_t at_once);

// Where a node of a plan stands in the order in which nodes touch memory, and putting it elsewhere.
struct placed;
size_t find_in_sequence(const struct placed *placed, uint32_t node);
void put_in_sequence(struct placed *placed, uint32_t node, size_t where);

#endif
