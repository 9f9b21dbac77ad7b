// SPDX-License-Identifier: Apache-2.0
// Explains one node: why it is inside an island, or outside, its values that change, and the input
// that it fetches for the next kernel.
#include "plan/plan_early.h"
#include "report/explain.h"

// The loop or branch that an island is; NULL: it is none.
static const struct program *find_body(const struct braid_schedule *schedule,
                                       const struct program *program, uint32_t island)
{
    const struct program *found = NULL;
    for (uint32_t i = 0; i < program->num_bodies && !found; i++) {
        const struct program *body = &program->bodies[i];
        bool is_it = schedule->division.island_of[body->node] == island;
        found = is_it ? body : find_body(schedule, body, island);
    }
    return found;
}

// Islands are stretches of lanes: the node's neighbours tell.
static void explain_inside(struct plan_text *text, const struct braid_schedule *schedule,
                           uint32_t node)
{
    const uint32_t *island_of = schedule->division.island_of;
    uint32_t lane = schedule->lane_of[node], call = 0, num = 0;
    uint32_t first = PLAN_NONE, last = PLAN_NONE;
    const struct program *body = find_body(schedule, &schedule->program, island_of[node]);
    if (body) {
        plan_text_add(text, node == body->node ? "island %u" : "in island %u", island_of[node]);
        plan_text_add(text, ", which is the %s '%s'",
                      braid_work_words[schedule->program.kinds[body->node]].kind,
                      braid_schedule_node_name(schedule, body->node));
        return;
    }
    for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1]; i++) {
        uint32_t other = schedule->lane_nodes[i];
        if (island_of[other] != island_of[node])
            continue;
        num++;
        call = other == node ? num : call;
        first = first == PLAN_NONE ? other : first;
        last = other;
    }
    plan_text_add(text, "in island %u, call %u of %u, from '%s' to '%s'", island_of[node], call,
                  num, braid_schedule_node_name(schedule, first),
                  braid_schedule_node_name(schedule, last));
}

static void explain_island(struct plan_text *text, const struct braid_schedule *schedule,
                           uint32_t node)
{
    const struct plan_division *division = &schedule->division;
    if (!division->island_of)
        plan_text_add(text, "not in an island: there are none on what it was planned for");
    else if (division->island_of[node] != PLAN_NONE)
        explain_inside(text, schedule, node);
    else
        plan_text_add(text, "not in an island: %s", division->why_outside[node]);
}

static void explain_prefetch(struct plan_text *text, const struct braid_schedule *schedule,
                             const struct plan_prefetch *prefetch)
{
    if (!prefetch->bytes && !prefetch->why_not)
        return;
    const char *input = braid_plan_resource_name(schedule->graph, prefetch->resource);
    const char *next = braid_schedule_node_name(schedule, prefetch->node);
    if (prefetch->bytes) {
        plan_text_add(text, "; fetches %llu bytes of %s for '%s'",
                      (unsigned long long)prefetch->bytes, input, next);
        return;
    }
    plan_text_add(text, "; fetches nothing of %s for '%s': ", input, next);
    if (prefetch->culprit != PLAN_NONE)
        plan_text_add(text, "'%s' ", braid_schedule_node_name(schedule, prefetch->culprit));
    plan_text_add(text, "%s", prefetch->why_not);
}

void braid_explain_node(struct plan_text *text, const struct braid_schedule *schedule,
                        uint32_t node)
{
    const char *changes = braid_plan_node_changes(schedule->graph, node);
    if (schedule_left_out(schedule, node)) {
        plan_text_add(text, EXPLAIN_LEFT_OUT);
        return;
    }
    explain_island(text, schedule, node);
    if (changes[0])
        plan_text_add(text, "; changed by %s", changes);
    if (schedule->prefetches)
        explain_prefetch(text, schedule, &schedule->prefetches[node]);
}
