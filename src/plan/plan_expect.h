// SPDX-License-Identifier: Apache-2.0
// What a frame of a plan takes, with what starting its nodes one after another takes.
#ifndef BRAID_PLAN_EXPECT_H
#define BRAID_PLAN_EXPECT_H

#include <stdint.h>

#include <braid/schedule.h>

// What starting so many nodes and waits one after another takes.
uint64_t braid_plan_issue_ns(const braid_cost_model *model, uint64_t num_nodes, uint64_t num_waits);

// What a frame is expected to take of so many nodes and waits that are started one after another:
// at least its makespan.
uint64_t braid_plan_expected_ns(const braid_cost_model *model, uint64_t makespan_ns,
                                uint64_t num_nodes, uint64_t num_waits);

#endif
