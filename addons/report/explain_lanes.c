// SPDX-License-Identifier: Apache-2.0
// Explains an order that the plan alone makes: one lane, or a path through lanes and waits.
#include "base/array.h"
#include "report/explain.h"

#define NOT_REACHED UINT32_MAX
#define REACHED_AT_ONCE (UINT32_MAX - 1) // on the lane of the first node itself

// One wait on the path from the first node.
struct hop {
    uint32_t node;     // waited for
    uint32_t previous; // hop, or REACHED_AT_ONCE
};

struct path {
    const struct braid_schedule *schedule;
    uint32_t *lane_hop; // per lane: by which hop what runs there next comes after the first node
    uint32_t *position_hop; // per position: likewise when it is recorded
    struct array hops;      // struct hop
};

static bool init_path(struct path *path)
{
    const braid_schedule_info *info = &path->schedule->info;
    path->lane_hop = malloc(((size_t)info->num_lanes + 1) * sizeof(uint32_t));
    path->position_hop = malloc(((size_t)info->num_records + 1) * sizeof(uint32_t));
    if (!path->lane_hop || !path->position_hop)
        return false;
    for (uint32_t i = 0; i < info->num_lanes; i++)
        path->lane_hop[i] = NOT_REACHED;
    for (uint32_t i = 0; i < info->num_records; i++)
        path->position_hop[i] = NOT_REACHED;
    return true;
}

// Walks the steps from the first node to the second; the first hop found to a lane is kept.
static bool find_path(struct path *path, uint32_t first, uint32_t second, uint32_t *out_hop)
{
    for (size_t i = 0; i < path->schedule->program.num_ops; i++) {
        const braid_step *step = &path->schedule->program.ops[i];
        uint32_t *lane_hop = &path->lane_hop[step->lane];
        if (step->kind == BRAID_STEP_RUN && step->node == second) {
            *out_hop = *lane_hop;
            return true;
        }
        if (step->kind == BRAID_STEP_RUN && step->node == first)
            *lane_hop = REACHED_AT_ONCE;
        if (step->kind == BRAID_STEP_RECORD)
            path->position_hop[step->position] = *lane_hop;
        if (step->kind != BRAID_STEP_WAIT || *lane_hop != NOT_REACHED ||
            path->position_hop[step->position] == NOT_REACHED)
            continue;
        struct hop *hop = braid_array_append(&path->hops, 1, sizeof(*hop));
        if (!hop)
            return false;
        *hop = (struct hop){ step->node, path->position_hop[step->position] };
        *lane_hop = (uint32_t)path->hops.num - 1;
    }
    *out_hop = NOT_REACHED;
    return true;
}

static void add_hops(struct plan_text *text, const struct path *path, uint32_t hop)
{
    const struct hop *hops = path->hops.items;
    if (hops[hop].previous != REACHED_AT_ONCE) {
        add_hops(text, path, hops[hop].previous);
        plan_text_add(text, ",");
    }
    plan_text_add(text, " %s (lane %u)", braid_schedule_node_name(path->schedule, hops[hop].node),
                  path->schedule->lane_of[hops[hop].node]);
}

// Why the second node's unit waited for the unit just before it on its lane, if it is the first's.
static const char *why_delayed(const struct braid_schedule *schedule, uint32_t first,
                               uint32_t second)
{
    static const char *const texts[] = {
        [BRAID_SERIALISED_BY_LANES] = ": no lane was idle",
        [BRAID_SERIALISED_BY_WAIT_COST] = ": on another it would wait and start no earlier",
        [BRAID_SERIALISED_BY_MAX_CONCURRENT] = ": as many nodes ran as may run at once",
    };
    uint32_t unit = plan_unit_of(schedule->graph, second);
    for (uint32_t i = 0; i < schedule->info.num_serialisations; i++) {
        const braid_serialisation *pair = &schedule->serialisations[i];
        if (!schedule_is_delay(pair) || plan_unit_of(schedule->graph, pair->second) != unit)
            continue;
        bool same =
            plan_unit_of(schedule->graph, pair->first) == plan_unit_of(schedule->graph, first);
        return same ? texts[pair->cause] : "";
    }
    return "";
}

bool braid_explain_lanes(struct plan_text *text, const struct braid_schedule *schedule,
                         uint32_t first, uint32_t second)
{
    uint32_t lane = schedule->lane_of[second];
    if (schedule->lane_of[first] == lane) {
        plan_text_add(text, "share lane %u%s", lane, why_delayed(schedule, first, second));
        return true;
    }
    struct path path = { .schedule = schedule };
    uint32_t hop;
    bool done = init_path(&path) && find_path(&path, first, second, &hop);
    if (done && hop == NOT_REACHED) {
        plan_text_add(text, "free");
    } else if (done) {
        plan_text_add(text, "ordered by the plan alone, through");
        add_hops(text, &path, hop);
    }
    free(path.lane_hop);
    free(path.position_hop);
    braid_array_finish(&path.hops);
    return done;
}
