// SPDX-License-Identifier: Apache-2.0
// The largest lower bound that a frame comes near; else the cause that keeps most nodes apart.
#include "plan/plan_limit.h"

#include <inttypes.h>

#include "plan/plan_expect.h"

// A frame this near to a bound, one part in, is limited by that.
#define NEAR_CRITICAL_PATH 50
#define NEAR_LANES 20

struct counts {
    uint64_t by_resource, by_lanes, by_waits;
};

static struct counts count_pairs(const struct braid_schedule *schedule)
{
    struct counts counts = { 0 };
    for (uint32_t i = 0; i < schedule->info.num_serialisations; i++) {
        braid_serialisation_cause cause = schedule->serialisations[i].cause;
        counts.by_resource += cause == BRAID_SERIALISED_BY_RESOURCE;
        counts.by_lanes += cause == BRAID_SERIALISED_BY_LANES;
        counts.by_waits += cause == BRAID_SERIALISED_BY_WAIT_COST;
    }
    return counts;
}

// All work shared out evenly.
static uint64_t share_ns(const struct braid_schedule *schedule)
{
    const braid_schedule_info *info = &schedule->info;
    uint32_t num = schedule->options.costs.max_concurrent;
    num = num && num < info->num_lanes ? num : info->num_lanes;
    return num ? info->work_ns / num : 0;
}

static braid_limit limit_of(const struct braid_schedule *schedule)
{
    const braid_schedule_info *info = &schedule->info;
    uint64_t share = share_ns(schedule);
    if (info->num_nodes == info->num_left_out)
        return BRAID_LIMITED_BY_NOTHING;
    if (info->issue_ns > info->makespan_ns)
        return BRAID_LIMITED_BY_LAUNCH_COST;
    if (info->makespan_ns <= info->critical_path_ns + info->critical_path_ns / NEAR_CRITICAL_PATH)
        return BRAID_LIMITED_BY_CRITICAL_PATH;
    if (info->makespan_ns <= share + share / NEAR_LANES)
        return BRAID_LIMITED_BY_LANES;
    const struct counts counts = count_pairs(schedule);
    if (counts.by_resource > counts.by_lanes && counts.by_resource >= counts.by_waits)
        return BRAID_LIMITED_BY_RESOURCES;
    return counts.by_waits > counts.by_lanes ? BRAID_LIMITED_BY_WAIT_COST
                                             : BRAID_LIMITED_BY_PATH_AND_LANES;
}

void braid_plan_find_limit(struct braid_schedule *schedule)
{
    braid_schedule_info *info = &schedule->info;
    const braid_cost_model *model = &schedule->options.costs;
    uint64_t num_launched = schedule_num_launched(info);
    info->issue_ns = braid_plan_issue_ns(model, num_launched, info->num_waits);
    info->expected_ns =
        braid_plan_expected_ns(model, info->makespan_ns, num_launched, info->num_waits);
    info->limit = limit_of(schedule);
}

// In double: to be read, not to be compared.
static double percent(uint64_t part_ns, uint64_t whole_ns)
{
    return whole_ns ? 100 * (double)part_ns / (double)whole_ns : 0;
}

void braid_explain_limit(struct plan_text *text, const struct braid_schedule *schedule)
{
    const braid_schedule_info *info = &schedule->info;
    const struct counts counts = count_pairs(schedule);
    double path = percent(info->critical_path_ns, info->makespan_ns);
    double busy = percent(share_ns(schedule), info->makespan_ns);
    const uint32_t num_starts = schedule_num_launched(info);
    switch (info->limit) {
    case BRAID_LIMITED_BY_NOTHING:
        plan_text_add(text, "limited by nothing: there are no nodes");
        break;
    case BRAID_LIMITED_BY_LAUNCH_COST:
        plan_text_add(text,
                      "limited by launch cost: starting %" PRIu32 " node%s and %" PRIu64
                      " wait%s one after another takes %s times as long as running them",
                      num_starts, num_starts == 1 ? "" : "s", info->num_waits,
                      info->num_waits == 1 ? "" : "s",
                      braid_text_decimal(percent(info->issue_ns, info->makespan_ns) / 100, 2).text);
        break;
    case BRAID_LIMITED_BY_CRITICAL_PATH:
        path = path > 100 ? 100 : path;
        if (schedule->num_critical == 1)
            plan_text_add(text,
                          "limited by the critical path: its one node takes %s %% of the frame",
                          braid_text_decimal(path, 1).text);
        else
            plan_text_add(text,
                          "limited by the critical path: its %zu nodes, one after another, take "
                          "%s %% of the frame",
                          schedule->num_critical, braid_text_decimal(path, 1).text);
        break;
    case BRAID_LIMITED_BY_LANES:
        plan_text_add(text, "limited by %" PRIu32 " lane%s: busy %s %% of the frame",
                      info->num_lanes, info->num_lanes == 1 ? "" : "s",
                      braid_text_decimal(busy, 1).text);
        break;
    case BRAID_LIMITED_BY_RESOURCES:
        plan_text_add(text,
                      "limited by resources: %" PRIu64
                      " pair%s of nodes run%s one after the other for "
                      "what they access, though no data flows between them",
                      counts.by_resource, counts.by_resource == 1 ? "" : "s",
                      counts.by_resource == 1 ? "s" : "");
        break;
    case BRAID_LIMITED_BY_WAIT_COST:
        plan_text_add(text,
                      "limited by what waits cost: %" PRIu64 " node%s behind another of their "
                      "lane, since waiting on an idle lane would take as long",
                      counts.by_waits, counts.by_waits == 1 ? " runs" : "s run");
        break;
    case BRAID_LIMITED_BY_PATH_AND_LANES:
        plan_text_add(text,
                      "limited by critical path (%s %% of the frame) and lanes (busy %s %% of "
                      "it) together",
                      braid_text_decimal(path, 1).text, braid_text_decimal(busy, 1).text);
        break;
    }
}
