// SPDX-License-Identifier: Apache-2.0
// What tests of schedules share: short ways to build graphs and to read plans.
#ifndef BRAID_TESTS_PLAN_TESTING_H
#define BRAID_TESTS_PLAN_TESTING_H

#include <stdbool.h>

#include <braid/schedule.h>

#include "plan/memory/memory_plan.h"
#include "support/check.h"
#include "support/owner.h"
#include "support/random_choice.h"
#include "support/wide_plan.h"

braid_graph *new_graph(void);
braid_resource new_resource(braid_graph *graph, const char *name);

// A node of cost `cost_ns` after up to two others; { 0 } is none.
braid_node new_node(braid_graph *graph, const char *name, uint64_t cost_ns, braid_node after,
                    braid_node also_after);

// A node that touches up to two resources; mode 0 is none.
braid_node new_user(braid_graph *graph, const char *name, braid_resource resource,
                    braid_access_mode mode, braid_resource other, braid_access_mode other_mode);

// A node with a lane hint, after another; { 0 } is none.
braid_node new_hinted(braid_graph *graph, uint32_t hint, uint64_t cost_ns, braid_node after);

// The same as a prelude or epilogue of `main`.
braid_node new_prelude(braid_graph *graph, braid_node main, const char *name,
                       braid_resource resource, braid_access_mode mode);
braid_node new_epilogue(braid_graph *graph, braid_node main, const char *name,
                        braid_resource resource, braid_access_mode mode);

void new_edge(braid_graph *graph, braid_node from, braid_node to);

// `width` independent chains of `length` nodes.
braid_graph *chains(uint32_t width, uint32_t length, uint64_t cost_ns);

#define NO_NODE ((braid_node){ 0 })
#define NO_RESOURCE ((braid_resource){ 0 })

// Plans and proves the plan. Without options waits are free, as in plan_on, which plans exactly
// that many lanes if there is work for them.
braid_schedule *plan_on(const braid_graph *graph, uint32_t lanes);
braid_schedule *plan_with(const braid_graph *graph, const braid_schedule_options *options);

// Returns the info of a plan made with these options.
braid_schedule_info plan_info(const braid_graph *graph, braid_schedule_options options);
braid_schedule_info info_of(const braid_schedule *schedule);
braid_placement placement_of(const braid_schedule *schedule, braid_node node);

// Place of a node's run in the steps, from 0.
size_t issue_of(const braid_schedule *schedule, braid_node node);

// Fails unless the explanation of the pair is that text.
void check_explains(const braid_schedule *schedule, braid_node a, braid_node b, const char *text);

// How many serialisations of that cause and resource (NULL: any) name the pair, in this order.
uint32_t num_serialised(const braid_schedule *schedule, braid_node first, braid_node second,
                        braid_serialisation_cause cause, const char *resource);

// A random graph of up to `most` nodes, edges from earlier nodes to later, with random costs; its
// edges are written to from and to, which have room for most * 4.
braid_graph *random_graph(struct random *random, uint32_t most, uint32_t *out_num_nodes,
                          uint32_t *from, uint32_t *to, size_t *out_num_edges);

braid_resource transient(braid_graph *graph, const char *name, uint64_t bytes);
// Packed and verified.
struct memory_plan memory_of(const braid_schedule *schedule, const braid_graph *graph);
braid_status verify_memory(const struct memory_plan *plan, const braid_schedule *schedule,
                           const braid_graph *graph);

#endif
