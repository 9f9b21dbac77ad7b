// SPDX-License-Identifier: Apache-2.0
// The expected time of a frame of a plan, with the time of starting its nodes one after another.
#ifndef BRAID_PLAN_EXPECT_H
#define BRAID_PLAN_EXPECT_H

#include <stdint.h>

#include <braid/schedule.h>

// The time of starting so many nodes and waits one after another.
uint64_t braid_plan_issue_ns(const braid_cost_model *model, uint64_t num_nodes, uint64_t num_waits);

// The expected time of a frame of so many nodes and waits that are started one after another: at
// least its makespan.
uint64_t braid_plan_expected_ns(const braid_cost_model *model, uint64_t makespan_ns,
                                uint64_t num_nodes, uint64_t num_waits);

#endif
