// SPDX-License-Identifier: Apache-2.0
// The expected time of a frame of a plan, with the time of starting its nodes one after another.
#include "plan/plan_expect.h"

uint64_t braid_plan_issue_ns(const braid_cost_model *model, uint64_t num_nodes, uint64_t num_waits)
{
    return model->issue_ns * num_nodes + model->issue_wait_ns * num_waits;
}

// Both its makespan and the time that issuing its nodes and waits takes are lower bounds. Where the
// host issues, measured frames took little more than the larger of the two. The smaller one counts
// a little, since a frame with room to spare on both sides is safer. Where the device issues, and
// the two are near each other, lanes wait for their turn. Then the cube root of the sum of the
// cubes fits measured frames (docs/measured). In integers it is the larger one and up to a quarter
// of it.
uint64_t braid_plan_expected_ns(const braid_cost_model *model, uint64_t makespan_ns,
                                uint64_t num_nodes, uint64_t num_waits)
{
    const uint64_t one = 1024; // in fixed point
    uint64_t issue_ns = braid_plan_issue_ns(model, num_nodes, num_waits);
    uint64_t more = makespan_ns > issue_ns ? makespan_ns : issue_ns;
    uint64_t less = makespan_ns > issue_ns ? issue_ns : makespan_ns;
    if (less == 0)
        return more;
    if (model->host_issues)
        return more + less / 16;
    uint64_t ratio = more >= one ? less / (more / one) : less * one / more;
    ratio = ratio < one ? ratio : one;
    return more + more / (4 * one) * (ratio * ratio * ratio / (one * one));
}
