// SPDX-License-Identifier: Apache-2.0
// Issues units one after another, finds the waits that each node needs, and finds the times.
#include "plan/plan_issue.h"

#include <string.h>

#include "base/big_memory.h"
#include "base/error.h"
#include "plan/plan_bundle_starts.h"
#include "plan/plan_waits.h"
#include "plan/schedule.h"

static bool allocate(const struct plan_graph *plan, struct plan_placement *out)
{
    out->lane_of = plan_allocate(plan->num_nodes, sizeof(*out->lane_of));
    out->start_ns = plan_allocate(plan->num_nodes, sizeof(*out->start_ns));
    out->issued = plan_allocate(plan->num_nodes, sizeof(*out->issued));
    out->wait_first = plan_allocate(plan->num_nodes, sizeof(*out->wait_first));
    return out->lane_of && out->start_ns && out->issued && out->wait_first;
}

static bool issue_unit(const struct plan_pass *pass, uint32_t unit, struct plan_waits *waits,
                       struct plan_placement *out)
{
    bool done = true;
    for (uint32_t i = 0; i < plan_unit_size(pass->plan, unit) && done; i++) {
        uint32_t node = plan_unit_member(pass->plan, unit, i);
        out->lane_of[node] = pass->lane_of[unit];
        out->wait_first[waits->num_issued] = (uint32_t)out->waits.num;
        braid_plan_waits_ask(waits, node, UINT32_MAX);
        done = braid_plan_waits_issue(waits, node, pass->lane_of[unit], &out->waits);
    }
    return done;
}

static bool issue_all(const struct plan_pass *pass, struct plan_placement *out)
{
    const struct plan_graph *plan = pass->plan;
    struct plan_waits waits;
    bool done = braid_plan_waits_init(&waits, plan, pass->num_lanes, out->issued);
    for (uint32_t i = 0; i < plan->num_units && done; i++)
        done = issue_unit(pass, pass->sequence[i], &waits, out);
    out->wait_first[plan->num_nodes] = (uint32_t)out->waits.num;
    braid_plan_waits_finish(&waits);
    return done;
}

// When a unit could have started on a lane of its own where no wait takes time.
static uint64_t ready_ns(const struct plan_pass *pass, const struct plan_placement *out,
                         uint32_t unit)
{
    const struct plan_graph *plan = pass->plan;
    uint64_t latest = 0;
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        uint64_t offset = pass->costs->offset_ns ? pass->costs->offset_ns[node] : 0;
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            uint32_t pred = plan->pred_nodes[e];
            uint64_t end = out->start_ns[pred] + pass->costs->node_ns[pred];
            end = end > offset ? end - offset : 0;
            latest = end > latest ? end : latest;
        }
    }
    return latest;
}

// A unit that was ready before the one in front of it on its lane had ended is delayed. The cause
// is a hint, the cost of a wait on another lane, or the number of lanes.
static bool note_delay(const struct plan_pass *pass, uint32_t unit, uint32_t before,
                       struct plan_placement *out)
{
    const struct plan_graph *plan = pass->plan;
    uint32_t tail = plan_last_member(plan, before);
    uint64_t ready = ready_ns(pass, out, unit);
    uint64_t free = out->start_ns[tail] + pass->costs->node_ns[tail];
    if (ready >= free)
        return true;
    braid_serialisation_cause cause = BRAID_SERIALISED_BY_LANES;
    if (plan->hint_before && plan->hint_before[unit] != PLAN_NONE)
        cause = BRAID_SERIALISED_BY_HINT;
    else if (free + pass->costs->model.node_ns <= ready + pass->costs->model.wait_ns)
        cause = BRAID_SERIALISED_BY_WAIT_COST;
    struct plan_delay *delay = braid_array_append(&out->delays, 1, sizeof(*delay));
    if (delay)
        *delay = (struct plan_delay){ tail, plan_first_member(plan, unit), cause };
    return delay;
}

static bool note_delays(const struct plan_pass *pass, struct plan_placement *out)
{
    uint32_t *last = plan_allocate(pass->num_lanes, sizeof(*last));
    bool done = last;
    if (done)
        memset(last, 0xff, pass->num_lanes * sizeof(*last));
    for (uint32_t i = 0; i < pass->plan->num_units && done; i++) {
        uint32_t unit = pass->sequence[i], lane = pass->lane_of[unit];
        if (last[lane] != PLAN_NONE)
            done = note_delay(pass, unit, last[lane], out);
        last[lane] = unit;
    }
    free(last);
    return done;
}

static void count_lanes(const struct plan_pass *pass, struct plan_placement *out)
{
    out->num_lanes = pass->num_lanes;
    for (uint32_t place = 0; place < pass->plan->num_places; place++) {
        uint32_t num = 0;
        for (uint32_t lane = 0; lane < pass->num_lanes; lane++)
            num += pass->lanes[lane].place == place;
        out->most_lanes = num > out->most_lanes ? num : out->most_lanes;
    }
}

static void issue_by_start(struct plan_pass *pass)
{
    size_t num = pass->plan->num_units;
    pass->mode = PASS_BY_KEY;
    memcpy(pass->keys, pass->start_ns, num * sizeof(*pass->keys));
    memcpy(pass->pins, pass->lane_of, num * sizeof(*pass->pins));
    braid_plan_pass_run(pass, true);
    memset(pass->pins, 0xff, num * sizeof(*pass->pins));
}

braid_status braid_plan_issue(struct plan_pass *pass, struct plan_placement *out_placement)
{
    struct plan_placement out = { 0 };
    braid_status status = BRAID_OK;
    issue_by_start(pass);
    count_lanes(pass, &out);
    if (!allocate(pass->plan, &out) || !issue_all(pass, &out))
        status = braid_error_no_memory("the placement of a plan");
    if (!status)
        status = braid_plan_start_bundles(pass->plan, pass->costs, &out);
    if (!status && !note_delays(pass, &out))
        status = braid_error_no_memory("the placement of a plan");
    if (status)
        braid_plan_placement_finish(&out);
    else
        *out_placement = out;
    return status;
}
