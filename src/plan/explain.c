// SPDX-License-Identifier: Apache-2.0
// Says in one line how two nodes are ordered and why: by the program's edges and data flow, by a
// resource or hint, by the plan alone, or not at all.
#include "plan/explain.h"

#include "base/array.h"
#include "base/error.h"

// The search for a shortest path goes backward from the second unit, level by level.
struct path {
    const struct plan_graph *plan;
    bool flow_only;       // explicit edges and data flow, nothing that was forced
    uint32_t *edge_after; // per unit seen: the edge towards the second unit
    uint32_t *unit_after; // per unit seen: the unit that edge leads to, itself for the second
    struct array queue;   // uint32_t
};

static bool may_follow(const struct path *path, uint32_t edge)
{
    const struct plan_graph *plan = path->plan;
    if (!path->flow_only || !plan->pred_reasons)
        return true;
    uint32_t reason = plan->pred_reasons[edge];
    return reason == PLAN_BY_EDGE ||
           (reason != PLAN_BY_HINT && plan->links[reason].hazard == GRAPH_READ_AFTER_WRITE);
}

static bool see_unit(struct path *path, uint32_t unit, uint32_t edge, uint32_t after)
{
    if (path->unit_after[unit] != PLAN_NONE)
        return true;
    path->unit_after[unit] = after;
    path->edge_after[unit] = edge;
    uint32_t *slot = braid_array_append(&path->queue, 1, sizeof(*slot));
    if (slot)
        *slot = unit;
    return slot;
}

// False when memory runs out; whether there is a path, unit_after of `first` then says.
static bool find_path(struct path *path, uint32_t first, uint32_t second)
{
    const struct plan_graph *plan = path->plan;
    path->queue.num = 0;
    for (uint32_t i = 0; i < plan->num_units; i++)
        path->unit_after[i] = PLAN_NONE;
    if (!see_unit(path, second, PLAN_NONE, second))
        return false;
    for (size_t i = 0; i < path->queue.num && path->unit_after[first] == PLAN_NONE; i++) {
        uint32_t unit = ((uint32_t *)path->queue.items)[i];
        for (uint32_t e = plan->pred_first[unit]; e < plan->pred_first[unit + 1]; e++) {
            if (may_follow(path, e) && !see_unit(path, plan->pred_units[e], e, unit))
                return false;
        }
    }
    return true;
}

static void say_link(struct plan_text *text, const struct plan_graph *plan, uint32_t reason)
{
    const struct graph_link *link = &plan->links[reason];
    bool flow = link->hazard == GRAPH_READ_AFTER_WRITE;
    plan_text_add(text, "%s %s ", flow ? "ordered by data in" : "serialised by",
                  braid_plan_resource_name(plan, link->resource));
    braid_explain_resource(text, plan, link);
}

static void say_edge(struct plan_text *text, const struct path *path, uint32_t first)
{
    const struct plan_graph *plan = path->plan;
    uint32_t edge = path->edge_after[first];
    uint32_t reason = plan->pred_reasons ? plan->pred_reasons[edge] : PLAN_BY_EDGE;
    if (reason == PLAN_BY_EDGE)
        plan_text_add(text, "ordered by an edge from %s to %s", braid_plan_unit_name(plan, first),
                      braid_plan_unit_name(plan, path->unit_after[first]));
    else if (reason == PLAN_BY_HINT)
        plan_text_add(text, "serialised by lane hint %u", plan->hint_of[first]);
    else
        say_link(text, plan, reason);
}

static void say_path(struct plan_text *text, const struct path *path, uint32_t first,
                     uint32_t second)
{
    enum { MOST_NAMES = 12 };
    const char *separator = path->flow_only ? "ordered through " : "serialised through ";
    uint32_t num = 0;
    for (uint32_t unit = path->unit_after[first]; unit != second; unit = path->unit_after[unit]) {
        if (num++ >= MOST_NAMES)
            continue;
        plan_text_add(text, "%s%s", separator, braid_plan_unit_name(path->plan, unit));
        separator = ", ";
    }
    if (num > MOST_NAMES)
        plan_text_add(text, " and %u more", num - MOST_NAMES);
}

// Looks for a way that the program wants before one that was forced, so that only pairs without
// any data flow are called serialised.
static braid_status explain_units(struct plan_text *text, const struct braid_schedule *schedule,
                                  uint32_t first, uint32_t second)
{
    struct path path = { .plan = schedule->graph };
    size_t num = (size_t)path.plan->num_units + 1;
    path.edge_after = malloc(num * sizeof(uint32_t));
    path.unit_after = malloc(num * sizeof(uint32_t));
    bool done = path.edge_after && path.unit_after;
    bool found = false;
    for (int forced = 0; done && !found && forced < 2; forced++) {
        path.flow_only = !forced;
        done = find_path(&path, first, second);
        found = done && path.unit_after[first] != PLAN_NONE;
    }
    if (found && path.unit_after[first] == second)
        say_edge(text, &path, first);
    else if (found)
        say_path(text, &path, first, second);
    free(path.edge_after);
    free(path.unit_after);
    braid_array_finish(&path.queue);
    if (!done)
        return braid_error_no_memory("an explanation");
    if (found)
        return BRAID_OK;
    return braid_explain_lanes(text, schedule, plan_main_of(path.plan, first),
                               plan_main_of(path.plan, second));
}

static void say_bundle(struct plan_text *text, const struct plan_graph *plan, uint32_t a,
                       uint32_t b)
{
    uint32_t unit = plan_unit_of(plan, a);
    uint32_t i = 0;
    while (plan_unit_member(plan, unit, i) != a && plan_unit_member(plan, unit, i) != b)
        i++;
    uint32_t first = plan_unit_member(plan, unit, i);
    plan_text_add(text, "%s runs before %s in the bundle of %s", braid_plan_node_name(plan, first),
                  braid_plan_node_name(plan, first == a ? b : a), braid_plan_unit_name(plan, unit));
}

// Which of two units was issued first: all steps are in issue order.
static bool was_issued_first(const struct braid_schedule *schedule, uint32_t a, uint32_t b)
{
    size_t i = 0;
    while (schedule->steps[i].kind != BRAID_STEP_RUN ||
           (schedule->steps[i].node != a && schedule->steps[i].node != b))
        i++;
    return schedule->steps[i].node == a;
}

braid_status braid_schedule_explain(const braid_schedule *schedule, braid_node a, braid_node b,
                                    char *out_text, size_t size)
{
    if (!schedule || !out_text || size == 0)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_schedule_explain: %s",
                           !schedule   ? "schedule is NULL"
                           : !out_text ? "out_text is NULL"
                                       : "size is 0");
    const braid_node nodes[] = { a, b };
    for (int i = 0; i < 2; i++) {
        if (nodes[i].graph != schedule->graph_id || nodes[i].index >= schedule->info.num_nodes)
            return braid_error(BRAID_INVALID_ARGUMENT,
                               "braid_schedule_explain: node %u of graph %u is not in this "
                               "schedule",
                               nodes[i].index, nodes[i].graph);
    }
    const struct plan_graph *plan = schedule->graph;
    struct plan_text text = { .bytes = out_text, .size = size };
    out_text[0] = '\0';
    if (a.index == b.index) {
        plan_text_add(&text, "one node");
    } else if (plan_unit_of(plan, a.index) == plan_unit_of(plan, b.index)) {
        say_bundle(&text, plan, a.index, b.index);
    } else {
        bool a_first = was_issued_first(schedule, a.index, b.index);
        return explain_units(&text, schedule, plan_unit_of(plan, a_first ? a.index : b.index),
                             plan_unit_of(plan, a_first ? b.index : a.index));
    }
    return BRAID_OK;
}
