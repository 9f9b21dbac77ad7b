// SPDX-License-Identifier: Apache-2.0
// The gain of a plan on some number of lanes, and whether it is worth the lanes.
#include "plan/plan_lane_gain.h"

#include "plan/plan_expect.h"

// A gain must be worth the waits that more lanes bring.
#define GAIN_OVER_ONE_LANE 50                    // one part in
#define GAIN_OVER_ONE_LANE_WHERE_ISSUE_LIMITS 20 // one part in; measured on a GPU (docs/measured)
#define GAIN_OVER_FEWER_LANES 256                // one part in
#define GAIN_WHERE_ISSUE_LIMITS 60 // one part in, where the model says what issuing costs
// One part in, where no two of the largest kernels fit the device. Such kernels leave it partly
// idle at both their ends. So a second lane gains twice as much as the model sees (docs/measured).
#define GAIN_WHERE_KERNELS_ARE_LARGE 60

uint64_t braid_plan_lower_bound(const struct plan_costs *costs, uint32_t num_lanes)
{
    uint32_t most = costs->model.max_concurrent;
    uint64_t share = costs->work_ns / num_lanes;
    uint64_t awake = (costs->work_ns - costs->blocking_ns) / (most < num_lanes ? most : num_lanes);
    uint64_t bound = share > costs->critical_ns ? share : costs->critical_ns;
    bound = bound > awake ? bound : awake;
    return bound > costs->area_ns ? bound : costs->area_ns;
}

uint64_t braid_plan_without_waits(const struct plan_tries *tries, uint64_t makespan_ns)
{
    return braid_plan_expected_ns(&tries->costs->model, makespan_ns, tries->plan->num_nodes, 0);
}

// The least expected time of a plan on that many lanes.
uint64_t braid_plan_bound_of(const struct plan_tries *tries, uint32_t num_lanes)
{
    return braid_plan_without_waits(tries, braid_plan_lower_bound(tries->costs, num_lanes));
}

// One part in how many must be gained over a plan of so many lanes.
uint64_t braid_plan_part_over(const struct plan_costs *costs, uint32_t num_lanes)
{
    if (num_lanes > 1)
        return costs->model.issue_ns ? GAIN_WHERE_ISSUE_LIMITS : GAIN_OVER_FEWER_LANES;
    if (costs->most_share * 2 > PLAN_WHOLE_DEVICE && !costs->model.host_issues)
        return GAIN_WHERE_KERNELS_ARE_LARGE;
    return costs->model.issue_ns ? GAIN_OVER_ONE_LANE_WHERE_ISSUE_LIMITS : GAIN_OVER_ONE_LANE;
}

bool braid_plan_is_worth(const struct plan_costs *costs, uint64_t expected, uint32_t lanes,
                         uint64_t ns)
{
    return expected < ns - ns / braid_plan_part_over(costs, lanes);
}
