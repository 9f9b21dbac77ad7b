// SPDX-License-Identifier: Apache-2.0
// Branch and bound over plans in which no unit can start sooner on its lane. Each is built in the
// order in which units start, equal starts by index, so it is met once only.
//
// Each plan that is left out has another beside it that is as short:
//
// - Of units that differ in nothing the first goes first.
// - If no unit on either of two lanes has a successor to come, the units to come can be exchanged.
//   So of such lanes, where the unit starts as early, the one that is free later is taken.
// - A unit before all others to come stays on the lane of its predecessor, if no other lane matters
//   to these.
// - If waits take no time, a unit that fits in front of another on its lane has its place there.
#include <string.h>

#include "plan/plan_passes.h"

#define PLAN_MOST_EXACT_UNITS 40

// Units with bounds of the times after them, by falling tails.
struct plan_exact_units {
    uint32_t num;
    uint32_t unit_of[PLAN_MOST_EXACT_UNITS];
    uint64_t preds[PLAN_MOST_EXACT_UNITS], succs[PLAN_MOST_EXACT_UNITS]; // sets, a bit a unit
    uint64_t twins[PLAN_MOST_EXACT_UNITS]; // the set of those before it that differ in nothing
    uint64_t length_ns[PLAN_MOST_EXACT_UNITS];
    uint64_t tail_ns[PLAN_MOST_EXACT_UNITS]; // the least time from its start to the end of a plan
};

// ---- units ----

// Branch and bound knows this of units beforehand: sets of neighbours, twins, and tails.
//
// The tail of a unit is a bound by the units after it (C. H. Papadimitriou and M. Yannakakis,
// 1990). A unit after it on another lane starts a wait later, at the earliest. For a bound T all
// those whose tail and a wait exceed T run behind it on its own lane, one after another. There, the
// order by falling rests of tails is best (J. R. Jackson, 1955). The least T that holds is the
// bound.

bool braid_plan_is_exact(const struct plan_graph *plan, const struct plan_costs *costs)
{
    if (plan->num_units > PLAN_MOST_EXACT_UNITS || plan->num_places > 1 || plan->units.members ||
        plan->hint_of || costs->wait_busy_ns)
        return false;
    for (uint32_t node = 0; node < plan->num_nodes; node++)
        if (!costs->node_ns[node])
            return false;
    return true;
}

// Units as the graph has them, while tails are found.
struct tails {
    uint64_t wait_ns, node_ns;
    const uint64_t *length_ns;
    uint64_t tail_ns[PLAN_MOST_EXACT_UNITS];
    uint64_t after[PLAN_MOST_EXACT_UNITS]; // all that come after a unit
};

// The rest of the tail of a unit, behind its end.
static uint64_t behind(const struct tails *tails, uint32_t unit)
{
    return tails->tail_ns[unit] - tails->length_ns[unit];
}

static uint32_t list_by_tail(const struct tails *tails, uint64_t set, uint32_t *list)
{
    uint32_t num = 0;
    for (; set; set &= set - 1) {
        uint32_t unit = (uint32_t)__builtin_ctzll(set), i = num++;
        for (; i > 0 && tails->tail_ns[list[i - 1]] < tails->tail_ns[unit]; i--)
            list[i] = list[i - 1];
        list[i] = unit;
    }
    return num;
}

// Adds a unit to a list by falling rests of tails, and returns how long the list takes on one lane.
static uint64_t add_to_lane(const struct tails *tails, uint32_t unit, uint32_t num, uint32_t *list)
{
    uint32_t i = num;
    for (; i > 0 && behind(tails, list[i - 1]) < behind(tails, unit); i--)
        list[i] = list[i - 1];
    list[i] = unit;
    uint64_t end_ns = 0, most_ns = 0;
    for (i = 0; i <= num; i++) {
        end_ns += tails->node_ns + tails->length_ns[list[i]];
        uint64_t ns = end_ns + behind(tails, list[i]);
        most_ns = ns > most_ns ? ns : most_ns;
    }
    return most_ns;
}

// The least time from the end of a unit before `set` to the end of a plan.
static uint64_t bound_behind(const struct tails *tails, uint64_t set)
{
    uint32_t list[PLAN_MOST_EXACT_UNITS], lane[PLAN_MOST_EXACT_UNITS];
    uint32_t num = list_by_tail(tails, set, list);
    uint64_t least_ns = UINT64_MAX, lane_ns = 0;
    for (uint32_t i = 0; i <= num && lane_ns < least_ns; i++) {
        uint64_t other_ns = i < num ? tails->wait_ns + tails->tail_ns[list[i]] : 0;
        uint64_t ns = lane_ns > other_ns ? lane_ns : other_ns;
        least_ns = ns < least_ns ? ns : least_ns;
        if (i < num)
            lane_ns = add_to_lane(tails, list[i], i, lane);
    }
    return least_ns;
}

static void find_tail(const struct plan_graph *plan, uint32_t unit, struct tails *tails)
{
    uint64_t gap_ns = tails->node_ns < tails->wait_ns ? tails->node_ns : tails->wait_ns;
    uint64_t most_ns = 0;
    tails->after[unit] = 0;
    for (uint32_t e = plan->succ_first[unit]; e < plan->succ_first[unit + 1]; e++) {
        uint32_t succ = plan->succ_nodes[e];
        uint64_t ns = gap_ns + tails->tail_ns[succ];
        most_ns = ns > most_ns ? ns : most_ns;
        tails->after[unit] |= tails->after[succ] | UINT64_C(1) << succ;
    }
    if (tails->wait_ns && tails->after[unit]) {
        uint64_t ns = bound_behind(tails, tails->after[unit]);
        most_ns = ns > most_ns ? ns : most_ns;
    }
    tails->tail_ns[unit] = most_ns + tails->length_ns[unit];
}

static uint64_t set_of(const uint32_t *first, const uint32_t *nodes, uint32_t unit,
                       const uint32_t *index_in)
{
    uint64_t set = 0;
    for (uint32_t e = first[unit]; e < first[unit + 1]; e++)
        set |= UINT64_C(1) << index_in[nodes[e]];
    return set;
}

static uint64_t find_twins(const struct plan_exact_units *units, uint32_t i)
{
    uint64_t twins = 0;
    for (uint32_t j = 0; j < i; j++) {
        if (units->length_ns[j] == units->length_ns[i] && units->preds[j] == units->preds[i] &&
            units->succs[j] == units->succs[i])
            twins |= UINT64_C(1) << j;
    }
    return twins;
}

// Finds the facts of such a graph, whose units are its nodes.
static void find_exact_units(const struct plan_graph *plan, const struct plan_costs *costs,
                             struct plan_exact_units *out_units)
{
    uint32_t index_in[PLAN_MOST_EXACT_UNITS];
    struct tails tails = { costs->model.wait_ns, costs->model.node_ns,
                           .length_ns = costs->node_ns };
    for (uint32_t i = plan->num_units; i-- > 0;)
        find_tail(plan, plan_ordered_node(plan, i), &tails);
    uint64_t all = (UINT64_C(1) << plan->num_units) - 1;
    out_units->num = list_by_tail(&tails, all, out_units->unit_of);
    for (uint32_t i = 0; i < out_units->num; i++)
        index_in[out_units->unit_of[i]] = i;
    for (uint32_t i = 0; i < out_units->num; i++) {
        uint32_t unit = out_units->unit_of[i];
        out_units->length_ns[i] = costs->node_ns[unit];
        out_units->tail_ns[i] = tails.tail_ns[unit];
        out_units->preds[i] = set_of(plan->pred_first, plan->pred_nodes, unit, index_in);
        out_units->succs[i] = set_of(plan->succ_first, plan->succ_nodes, unit, index_in);
        out_units->twins[i] = find_twins(out_units, i);
    }
}

// ---- plans ----

#define FEW_UNITS 11
#define MOST_VISITS_OF_FEW 160000u // in the number of lanes
#define MOST_VISITS_OF_MORE 12000u
#define MOST_LIMIT_NS (UINT64_MAX / (4 * PLAN_MOST_EXACT_UNITS)) // sums over all lanes fit

struct exact {
    struct plan_exact_units units;
    uint64_t wait_ns, node_ns, root_ns;
    uint32_t max_lanes;
    uint32_t num_visits, most_visits;

    // The part of a plan that is visited.
    uint64_t start_ns[PLAN_MOST_EXACT_UNITS];
    uint32_t lane_of[PLAN_MOST_EXACT_UNITS], sequence[PLAN_MOST_EXACT_UNITS];
    struct arrival arrivals[PLAN_MOST_EXACT_UNITS]; // for the units that are ready
    uint64_t free_ns[PLAN_MOST_EXACT_UNITS];        // per lane
    uint64_t on_lane[PLAN_MOST_EXACT_UNITS];        // per lane the set of its units

    struct plan_pass *pass; // gets the shortest plan; or NULL
    uint64_t best_ns;       // only shorter plans are looked for
    bool found;
};

// Where a visit is. Sets have a bit for each unit.
struct visit {
    uint64_t placed, ready;
    uint64_t awaited; // placed units whose lane matters to one that is not
    uint32_t num_placed, num_lanes;
    bool is_late;                          // it leads to no shorter plan
    uint64_t start_ns, length_ns, left_ns; // the last start, the last end, work to come
};

static uint32_t lowest(uint64_t set)
{
    return (uint32_t)__builtin_ctzll(set);
}

// After those of its predecessors that are placed.
static struct arrival find_arrival(const struct exact *exact, uint32_t unit, uint64_t placed)
{
    struct arrival arrival = { .lane = PLAN_NONE };
    for (uint64_t set = exact->units.preds[unit] & placed; set; set &= set - 1) {
        uint32_t pred = lowest(set);
        uint64_t end_ns = exact->start_ns[pred] + exact->units.length_ns[pred];
        plan_arrive(&arrival, end_ns + exact->wait_ns, exact->lane_of[pred]);
    }
    return arrival;
}

static uint64_t start_on(const struct exact *exact, const struct visit *visit, uint32_t unit,
                         uint32_t lane)
{
    const struct arrival *arrival = &exact->arrivals[unit];
    uint64_t seen_ns = lane == arrival->lane ? arrival->second_ns : arrival->first_ns;
    if (lane == visit->num_lanes)
        return seen_ns;
    uint64_t free_ns = exact->free_ns[lane] + exact->node_ns;
    return free_ns > seen_ns ? free_ns : seen_ns;
}

static uint64_t roots_ns(const struct exact *exact, uint32_t num_lanes)
{
    return num_lanes > 1 ? (num_lanes - 1) * exact->root_ns : 0;
}

static uint32_t lanes_to_try(const struct exact *exact, const struct visit *visit)
{
    return visit->num_lanes < exact->max_lanes ? visit->num_lanes + 1 : visit->num_lanes;
}

// The least length of a plan in which a unit starts there.
static uint64_t bound_on(const struct exact *exact, const struct visit *visit, uint32_t unit,
                         uint32_t lane, uint64_t start_ns)
{
    uint32_t num_lanes = visit->num_lanes + (lane == visit->num_lanes);
    return start_ns + exact->units.tail_ns[unit] + roots_ns(exact, num_lanes);
}

// Whether some ready unit would end a plan too late wherever it went.
static bool is_late(const struct exact *exact, const struct visit *visit)
{
    uint32_t num = lanes_to_try(exact, visit);
    for (uint64_t set = visit->ready; set; set &= set - 1) {
        uint32_t unit = lowest(set), lane = 0;
        for (; lane < num; lane++) {
            uint64_t start_ns = start_on(exact, visit, unit, lane);
            start_ns = start_ns > visit->start_ns ? start_ns : visit->start_ns;
            if (bound_on(exact, visit, unit, lane, start_ns) < exact->best_ns)
                break;
        }
        if (lane == num)
            return true;
    }
    return false;
}

// Whether the work to come is too much for the lanes. Idle time before the last start is lost.
static bool is_full(const struct exact *exact, const struct visit *visit)
{
    uint64_t sum_ns = visit->left_ns;
    for (uint32_t lane = 0; lane < exact->max_lanes; lane++) {
        bool is_used = lane < visit->num_lanes && exact->free_ns[lane] > visit->start_ns;
        sum_ns += is_used ? exact->free_ns[lane] : visit->start_ns;
    }
    return sum_ns > (exact->best_ns - 1) * exact->max_lanes;
}

static bool is_unawaited(const struct exact *exact, const struct visit *visit, uint32_t lane)
{
    return lane == visit->num_lanes || !(exact->on_lane[lane] & visit->awaited);
}

// Whether another lane is as good, and is the one that is taken.
static bool has_better_lane(const struct exact *exact, const struct visit *visit, uint32_t unit,
                            uint32_t lane, uint64_t start_ns)
{
    uint32_t home = exact->arrivals[unit].lane;
    if (exact->wait_ns && (lane == home || !is_unawaited(exact, visit, lane)))
        return false;
    for (uint32_t other = 0; other < visit->num_lanes; other++) {
        if (other == lane || (exact->wait_ns && other == home) ||
            !is_unawaited(exact, visit, other) || start_on(exact, visit, unit, other) != start_ns)
            continue;
        uint64_t other_ns = exact->free_ns[other];
        if (lane == visit->num_lanes || other_ns > exact->free_ns[lane] ||
            (other_ns == exact->free_ns[lane] && other < lane))
            return true;
    }
    return false;
}

static bool has_gap(const struct exact *exact, const struct visit *visit, uint32_t unit,
                    uint32_t lane, uint64_t start_ns)
{
    for (uint64_t set = visit->ready & ~(UINT64_C(1) << unit); set && !exact->wait_ns;
         set &= set - 1) {
        uint32_t other = lowest(set);
        uint64_t end_ns = start_on(exact, visit, other, lane) + exact->units.length_ns[other];
        if (end_ns + exact->node_ns <= start_ns)
            return true;
    }
    return false;
}

// Whether all units to come are behind this one, and only the lane of its predecessor matters to
// them. If it starts there as early, that lane is as good as any.
static bool goes_home(const struct exact *exact, const struct visit *visit, uint32_t unit,
                      uint32_t lane, uint64_t start_ns)
{
    uint32_t home = exact->arrivals[unit].lane;
    return exact->units.preds[unit] && visit->ready == UINT64_C(1) << unit &&
           visit->awaited == exact->units.preds[unit] && !(visit->awaited & (visit->awaited - 1)) &&
           lane != home && start_on(exact, visit, unit, home) <= start_ns;
}

static bool is_of_use(const struct exact *exact, const struct visit *visit, uint32_t unit,
                      uint32_t lane, uint64_t start_ns)
{
    uint32_t last = visit->num_placed ? exact->sequence[visit->num_placed - 1] : 0;
    if (start_ns < visit->start_ns || (start_ns == visit->start_ns && unit < last))
        return false;
    return bound_on(exact, visit, unit, lane, start_ns) < exact->best_ns &&
           !goes_home(exact, visit, unit, lane, start_ns) &&
           !has_better_lane(exact, visit, unit, lane, start_ns) &&
           !has_gap(exact, visit, unit, lane, start_ns);
}

// The predecessors of a unit that was placed now of which no other successor is to come.
static uint64_t find_settled(const struct exact *exact, uint32_t unit, uint64_t placed)
{
    uint64_t settled = 0;
    for (uint64_t set = exact->units.preds[unit]; set; set &= set - 1) {
        uint32_t pred = lowest(set);
        if (!(exact->units.succs[pred] & ~placed))
            settled |= UINT64_C(1) << pred;
    }
    return settled;
}

// Whether a unit would end a plan too late after its predecessors so far, on any lane.
static bool is_late_after(const struct exact *exact, const struct visit *visit, uint32_t unit,
                          const struct arrival *arrival)
{
    uint64_t home_ns = arrival->first_ns - exact->wait_ns;
    home_ns = home_ns > arrival->second_ns ? home_ns : arrival->second_ns;
    return home_ns + exact->units.tail_ns[unit] + roots_ns(exact, visit->num_lanes) >=
           exact->best_ns;
}

static struct visit put(struct exact *exact, const struct visit *visit, uint32_t unit,
                        uint32_t lane, uint64_t start_ns)
{
    struct visit next = *visit;
    uint64_t end_ns = start_ns + exact->units.length_ns[unit];
    exact->start_ns[unit] = start_ns;
    exact->lane_of[unit] = lane;
    exact->sequence[next.num_placed++] = unit;
    exact->free_ns[lane] = end_ns;
    exact->on_lane[lane] |= UINT64_C(1) << unit;
    next.placed |= UINT64_C(1) << unit;
    next.ready &= ~(UINT64_C(1) << unit);
    next.num_lanes += lane == visit->num_lanes;
    next.start_ns = start_ns;
    next.length_ns = end_ns > next.length_ns ? end_ns : next.length_ns;
    next.left_ns -= exact->units.length_ns[unit];
    for (uint64_t set = exact->units.succs[unit]; set; set &= set - 1) {
        uint32_t succ = lowest(set);
        struct arrival arrival = find_arrival(exact, succ, next.placed);
        next.is_late |= is_late_after(exact, &next, succ, &arrival);
        if (exact->units.preds[succ] & ~next.placed)
            continue;
        next.ready |= UINT64_C(1) << succ;
        exact->arrivals[succ] = arrival;
    }
    if (exact->wait_ns && exact->units.succs[unit])
        next.awaited |= UINT64_C(1) << unit;
    next.awaited &= ~find_settled(exact, unit, next.placed);
    return next;
}

static void keep(struct exact *exact, const struct visit *visit)
{
    struct plan_pass *pass = exact->pass;
    uint64_t length_ns = visit->length_ns + roots_ns(exact, visit->num_lanes);
    if (length_ns >= exact->best_ns)
        return;
    exact->best_ns = length_ns;
    exact->found = true;
    if (!pass) {
        exact->num_visits = exact->most_visits + 1;
        return;
    }
    pass->makespan_ns = length_ns;
    pass->num_lanes = visit->num_lanes;
    for (uint32_t i = 0; i < exact->units.num; i++) {
        uint32_t unit = exact->units.unit_of[i];
        pass->start_ns[unit] = exact->start_ns[i];
        pass->lane_of[unit] = exact->lane_of[i];
        pass->sequence[i] = exact->units.unit_of[exact->sequence[i]];
    }
}

static void go_on(struct exact *exact, const struct visit *visit);

static void try_lanes(struct exact *exact, const struct visit *visit, uint32_t unit)
{
    uint32_t num = lanes_to_try(exact, visit);
    for (uint32_t lane = 0; lane < num && exact->num_visits <= exact->most_visits; lane++) {
        uint64_t start_ns = start_on(exact, visit, unit, lane);
        if (!is_of_use(exact, visit, unit, lane, start_ns))
            continue;
        uint64_t free_ns = exact->free_ns[lane];
        struct visit next = put(exact, visit, unit, lane, start_ns);
        go_on(exact, &next);
        exact->free_ns[lane] = free_ns;
        exact->on_lane[lane] &= ~(UINT64_C(1) << unit);
    }
}

// Recursion is as deep as there are units.
static void go_on(struct exact *exact, const struct visit *visit)
{
    if (!visit->ready) {
        keep(exact, visit);
        return;
    }
    if (exact->num_visits++ >= exact->most_visits || visit->is_late || is_full(exact, visit) ||
        is_late(exact, visit))
        return;
    for (uint64_t set = visit->ready; set; set &= set - 1) {
        uint32_t unit = lowest(set);
        if (!(exact->units.twins[unit] & ~visit->placed))
            try_lanes(exact, visit, unit);
    }
}

uint32_t braid_plan_exact_visits(uint32_t num_free, uint32_t num_lanes)
{
    return (num_free <= FEW_UNITS ? MOST_VISITS_OF_FEW : MOST_VISITS_OF_MORE) / num_lanes;
}

enum plan_exact_result braid_plan_exact(const struct plan_exact_task *task, bool *out_found)
{
    const braid_cost_model *model = &task->costs->model;
    struct visit visit = { .left_ns = task->costs->work_ns };
    struct exact exact;
    *out_found = false;
    if (task->limit_ns == 0 || task->limit_ns > MOST_LIMIT_NS)
        return PLAN_EXACT_STOPPED;
    exact.pass = task->pass;
    exact.wait_ns = model->wait_ns;
    exact.node_ns = model->node_ns;
    exact.root_ns = model->root_ns;
    exact.max_lanes = task->max_lanes;
    exact.num_visits = 0;
    exact.most_visits = task->most_visits;
    exact.best_ns = task->limit_ns;
    exact.found = false;
    memset(exact.free_ns, 0, sizeof(exact.free_ns));
    memset(exact.on_lane, 0, sizeof(exact.on_lane));
    find_exact_units(task->plan, task->costs, &exact.units);
    for (uint32_t unit = 0; unit < exact.units.num; unit++) {
        exact.arrivals[unit] = (struct arrival){ .lane = PLAN_NONE };
        if (!exact.units.preds[unit])
            visit.ready |= UINT64_C(1) << unit;
    }
    go_on(&exact, &visit);
    *out_found = exact.found;
    if (exact.num_visits > exact.most_visits)
        return PLAN_EXACT_STOPPED;
    return exact.found ? PLAN_EXACT_FOUND : PLAN_EXACT_NONE;
}
