// SPDX-License-Identifier: Apache-2.0
// Forward-backward improvement (J. D. Wiest, 1964; K. Y. Li and R. J. Willis, 1992), from the plan
// at hand and from orders near it. A pass backward puts units as late as they can be, in the order
// in which they ended. A pass forward then puts them as early as they can be, in the order in which
// they start there. Both choose lanes anew.
#include <string.h>

#include "base/big_memory.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "plan/plan_passes.h"
#include "plan/plan_waits.h"

// ---- units in an order on lanes become a placement ----

// Issues units one after another, finds the waits that each node needs, and finds the times.

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
    braid_free(last);
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

// Makes a placement of the lanes and starts of a pass that went forward. Units are issued in the
// order of their starts. Errors: BRAID_NO_MEMORY.
static braid_status plan_issue(struct plan_pass *pass, struct plan_placement *out_placement)
{
    struct plan_placement out = { 0 };
    braid_status status = BRAID_OK;
    issue_by_start(pass);
    count_lanes(pass, &out);
    if (!braid_plan_placement_init(pass->plan, &out) || !issue_all(pass, &out))
        status = braid_error_no_memory("the placement of a plan");
    if (!status)
        status = braid_plan_start_bundles(pass->plan, pass->costs, &out);
    if (!status && !note_delays(pass, &out))
        status = braid_error_no_memory("the placement of a plan");
    return braid_plan_placement_give(status, &out, out_placement);
}

// ---- the search ----

// The search that every plan can afford: improving it, others from the start, and steps.
#define MOST_VISITS_TO_IMPROVE 20000
#define MOST_VISITS_OF_STARTS 320000
#define MOST_VISITS_OF_STARTS_AHEAD 160000
#define MOST_VISITS_OF_STEPS 250000
#define MOST_STEPS 512
#define NUM_STARTS (4 * NUM_PASS_MODES)
#define NUM_AHEAD_IF_CHOSEN 2 // where the number of lanes is chosen
// With fewer edges a unit, an edge that others imply changes no number of steps.
#define USUAL_EDGES 8
// Where the number of lanes is chosen, many numbers are tried, each with this part of the visits.
#define PART_IF_CHOSEN 16 // one part in
#define PART_OF_EXACT 32  // one part in, for the visits to all plans
// The search ends after so many steps without a shorter plan, and one more for each so many pairs
// of units. In larger graphs steps find shorter plans later.
#define STEPS_IN_VAIN 16
#define PAIRS_A_STEP 5
#define PART_OF_PATIENCE 4 // where the number of lanes is chosen, one part in
#define STEPS_AT_A_PLAN 32
#define MOST_EQUALS 8
#define MOST_LANES 128 // clocks of so many are never too long; see plan_waits.c

struct search {
    struct plan_tries *tries;
    struct plan_pass pass;
    struct plan_placement *best;
    uint64_t length_ns; // the length of the plan that the search is at, as the pass has it
    uint64_t least_ns;  // the least of all plans, as a pass has it
    uint32_t num_equals;
    uint64_t *keys;    // when that plan's units start at the latest
    uint32_t *lane_of; // by unit, in that plan
    uint32_t *order;   // units as that plan has them, so that chance asks for no index
    bool *is_free;     // by unit: others may run beside it
    uint32_t num_free;
    uint32_t num_starts, num_ahead, num_steps;
    uint32_t patience; // steps in vain that end the search
    uint64_t random;
};

static uint32_t useful_lanes(const struct plan_graph *plan, uint32_t max_lanes)
{
    return max_lanes < plan->num_units ? max_lanes : plan->num_units;
}

static bool is_limited(const struct plan_costs *costs, uint32_t max_lanes)
{
    return max_lanes > costs->model.max_concurrent ||
           (uint64_t)costs->most_share * max_lanes > PLAN_WHOLE_DEVICE;
}

// A pass knows no other limit of a device than lanes.
static bool is_improved(const struct plan_graph *plan, const struct plan_costs *costs,
                        uint32_t max_lanes)
{
    uint32_t lanes = useful_lanes(plan, max_lanes);
    if (is_limited(costs, lanes))
        return false;
    return lanes > 1 && lanes * plan->num_places <= MOST_LANES &&
           braid_plan_pass_visits(plan, lanes) <= MOST_VISITS_TO_IMPROVE;
}

static uint32_t least(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

// Steele, Lea and Flood (2014), SplitMix64.
static uint64_t draw(struct search *search, uint64_t limit)
{
    uint64_t x = search->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % limit;
}

static bool allocate_search(struct search *search, uint32_t max_lanes)
{
    const struct plan_tries *tries = search->tries;
    search->keys = plan_allocate(tries->plan->num_units, sizeof(*search->keys));
    search->lane_of = plan_allocate(tries->plan->num_units, sizeof(*search->lane_of));
    search->order = plan_allocate(tries->plan->num_units, sizeof(*search->order));
    search->is_free = plan_allocate_zeroed(tries->plan->num_units, sizeof(*search->is_free));
    return braid_plan_pass_init(&search->pass, tries->plan, tries->costs, max_lanes) &&
           search->keys && search->lane_of && search->order && search->is_free;
}

static void finish(struct search *search)
{
    braid_plan_pass_finish(&search->pass);
    braid_free(search->keys);
    braid_free(search->lane_of);
    braid_free(search->order);
    braid_free(search->is_free);
}

// Nothing runs beside a node if all before it have a successor up to it, and all behind it have a
// predecessor from it on.
static void find_free(struct search *search)
{
    const struct plan_graph *plan = search->pass.plan;
    const uint32_t num = search->pass.is_plain ? plan->num_nodes : 0; // units are nodes
    uint32_t *place = search->pass.left, latest = 0, earliest = num;
    for (uint32_t i = 0; i < num; i++)
        place[plan_ordered_node(plan, i)] = i + 1;
    for (uint32_t i = 1; i <= num; i++) {
        uint32_t node = plan_ordered_node(plan, i - 1), first = num + 1;
        search->is_free[node] = latest > i;
        for (uint32_t e = plan->succ_first[node]; e < plan->succ_first[node + 1]; e++)
            first = least(place[plan->succ_nodes[e]], first);
        latest = latest > first ? latest : first;
    }
    for (uint32_t i = num; i > 0; i--) {
        uint32_t node = plan_ordered_node(plan, i - 1), last = 0;
        search->is_free[node] |= earliest < i;
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++)
            last = place[plan->pred_nodes[e]] > last ? place[plan->pred_nodes[e]] : last;
        earliest = last < earliest ? last : earliest;
    }
    for (uint32_t unit = 0; unit < plan->num_units; unit++)
        search->num_free += search->is_free[unit] |= !search->pass.is_plain;
}

static void load(struct search *search, const struct plan_placement *placement)
{
    struct plan_pass *pass = &search->pass;
    uint32_t num = 0;
    for (uint32_t i = 0; i < pass->plan->num_nodes; i++) {
        uint32_t node = placement->issued[i], unit = plan_unit_of(pass->plan, node);
        if (plan_member_before(pass->plan, node) != PLAN_NONE)
            continue;
        pass->sequence[num++] = unit;
        pass->start_ns[unit] = placement->start_ns[node];
        pass->lane_of[unit] = placement->lane_of[node];
    }
    pass->num_lanes = placement->num_lanes;
    pass->makespan_ns = placement->makespan_ns;
}

// Hinted units stay where list scheduling has put them; the others choose lanes anew.
static void unpin(struct search *search)
{
    struct plan_pass *pass = &search->pass;
    for (uint32_t unit = 0; unit < pass->plan->num_units; unit++) {
        bool hinted = pass->plan->hint_of && pass->plan->hint_of[unit];
        pass->pins[unit] = hinted ? pass->lane_of[unit] : PLAN_NONE;
    }
}

// From the plan in the pass: as late as can be, and the keys for a pass forward.
static void go_back(struct search *search)
{
    braid_plan_pass_turn(&search->pass);
    braid_plan_pass_run(&search->pass, false);
    braid_plan_pass_turn(&search->pass);
}

// Makes a plan of the pass if that may be a better one: it is shorter. A few times it is made if it
// is as long, since it may have fewer waits.
static braid_status realise(struct search *search)
{
    struct plan_placement plan;
    uint64_t length_ns = search->pass.makespan_ns;
    if (length_ns > search->least_ns ||
        (length_ns == search->least_ns && search->num_equals++ >= MOST_EQUALS))
        return BRAID_OK;
    search->least_ns = length_ns;
    braid_status status = plan_issue(&search->pass, &plan);
    if (!status)
        braid_plan_keep_shorter(search->tries, search->best, &plan);
    return status;
}

// A plan that is no longer is where the search goes on.
static braid_status accept(struct search *search)
{
    struct plan_pass *pass = &search->pass;
    size_t num = pass->plan->num_units;
    if (pass->makespan_ns > search->length_ns)
        return BRAID_OK;
    search->length_ns = pass->makespan_ns;
    braid_status status = realise(search);
    if (status)
        return status;
    pass->mode = PASS_BY_KEY;
    memcpy(search->lane_of, pass->lane_of, num * sizeof(*search->lane_of));
    memcpy(search->order, pass->sequence, num * sizeof(*search->order));
    memcpy(pass->pins, pass->lane_of, num * sizeof(*pass->pins));
    go_back(search);
    memcpy(search->keys, pass->keys, num * sizeof(*search->keys));
    return BRAID_OK;
}

// Starts a step from the plan at hand: with the keys of all units changed a little, or of a few
// altogether.
static void disturb(struct search *search, uint32_t step)
{
    static const uint8_t parts[] = { 16, 4, 64, 8 };
    struct plan_pass *pass = &search->pass;
    uint32_t num = pass->plan->num_units;
    uint64_t range = search->length_ns / parts[step / 2 % 4] + 1;
    for (uint32_t i = 0; i < num; i++) {
        uint32_t unit = search->order[i];
        pass->keys[unit] = search->keys[unit];
        if (step % 2)
            pass->keys[unit] += draw(search, range);
        else if (draw(search, num) < 2)
            pass->keys[unit] = draw(search, search->length_ns + 1);
    }
    memcpy(pass->lane_of, search->lane_of, num * sizeof(*pass->lane_of));
    unpin(search);
}

// Goes forward with the keys at hand. If that is too long, back and forward again.
static braid_status improve(struct search *search)
{
    struct plan_pass *pass = &search->pass;
    braid_plan_pass_run(pass, true);
    if (pass->makespan_ns > search->length_ns) {
        unpin(search);
        go_back(search);
        braid_plan_pass_run(pass, true);
    }
    return accept(search);
}

// Now and then a longer plan is taken, from which steps may lead further than from the best one.
static braid_status step_once(struct search *search, uint32_t step)
{
    disturb(search, step);
    search->pass.mode = step / 2 % NUM_PASS_MODES;
    if (step % STEPS_AT_A_PLAN == STEPS_AT_A_PLAN - 1)
        search->length_ns = UINT64_MAX;
    return improve(search);
}

static bool is_shortest(const struct search *search)
{
    if (search->tries->is_shortest)
        return true;
    const struct plan_costs *costs = search->tries->costs;
    uint64_t roots = (search->best->num_lanes - 1) * costs->model.root_ns;
    uint64_t bound =
        braid_plan_lower_bound(costs, search->pass.max_lanes * search->pass.plan->num_places);
    return search->best->makespan_ns <= bound + roots;
}

// Looks at all plans of a small graph, as far as that is affordable.
static braid_status try_exact(struct search *search)
{
    struct plan_tries *tries = search->tries;
    uint64_t best_ns = search->best->makespan_ns;
    const struct plan_exact_task task = {
        .plan = tries->plan,
        .costs = tries->costs,
        .max_lanes = search->pass.max_lanes,
        .most_visits = braid_plan_exact_visits(search->num_free, search->pass.max_lanes) /
                       (tries->by_makespan ? 1 : PART_OF_EXACT),
        .limit_ns = search->least_ns < best_ns ? search->least_ns : best_ns,
        .pass = &search->pass,
    };
    bool found;
    if (!braid_plan_is_exact(tries->plan, tries->costs) || is_shortest(search))
        return BRAID_OK;
    tries->is_shortest = braid_plan_exact(&task, &found) != PLAN_EXACT_STOPPED;
    return found ? accept(search) : BRAID_OK;
}

// Orders by path of all modes: with waits and without, and with two choices of lanes.
static void start(struct plan_pass *pass, uint32_t number)
{
    pass->takes_first_lane = number < NUM_STARTS / 2;
    braid_plan_pass_order_by_path(pass);
    braid_plan_pass_key_by_path(pass, number % 2 ? 0 : pass->costs->model.wait_ns);
    pass->mode = number / 2 % NUM_PASS_MODES;
}

// A start with a number of NUM_STARTS or more looks ahead.
static braid_status start_anew(struct search *search, uint32_t number)
{
    load(search, search->best);
    unpin(search);
    if (number < NUM_STARTS)
        start(&search->pass, number);
    else
        braid_plan_look_ahead(&search->pass, (enum ahead_order)(number - NUM_STARTS));
    braid_status status = improve(search);
    search->pass.takes_first_lane = false;
    return status;
}

static braid_status begin(struct search *search)
{
    load(search, search->best);
    search->length_ns = search->least_ns = UINT64_MAX;
    unpin(search);
    go_back(search);
    braid_plan_pass_run(&search->pass, true);
    braid_status status = accept(search);
    if (!status)
        status = try_exact(search);
    for (uint32_t i = 0; i < search->num_starts && !status && !is_shortest(search); i++)
        status = start_anew(search, i);
    return status;
}

static braid_status take_steps(struct search *search)
{
    braid_status status = BRAID_OK;
    uint32_t last = least(search->patience, search->num_steps);
    for (uint32_t step = 0; step < last && !status && !is_shortest(search); step++) {
        uint64_t before_ns = search->least_ns;
        status = step_once(search, step);
        if (search->least_ns < before_ns)
            last = least(step + UINT64_C(1) + search->patience, search->num_steps);
    }
    return status;
}

// The starts with lookahead come last, so that no plan becomes longer by them. A plan of theirs
// that leaves a lane unused does not say that more lanes are of no use.
static braid_status look_ahead(struct search *search)
{
    uint64_t before_ns = search->least_ns;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < search->num_ahead && !status && !is_shortest(search); i++) {
        search->length_ns = search->least_ns;
        status = start_anew(search, NUM_STARTS + i);
    }
    return status || search->least_ns == before_ns ? status : take_steps(search);
}

static braid_status search_all(struct search *search)
{
    find_free(search);
    braid_status status = begin(search);
    if (!status)
        status = take_steps(search);
    search->tries->num_lanes = search->best->num_lanes;
    if (!status && braid_plan_may_look_ahead(&search->pass))
        status = look_ahead(search);
    return status;
}

static braid_status improve_placement(struct plan_tries *tries, uint32_t max_lanes,
                                      struct plan_placement *placement)
{
    const struct plan_graph *plan = tries->plan;
    uint32_t lanes = useful_lanes(plan, max_lanes);
    uint64_t visits = braid_plan_pass_visits(plan, lanes) + 1;
    uint64_t edges = (uint64_t)plan->num_units * USUAL_EDGES;
    visits += edges > plan->num_edges ? edges - plan->num_edges : 0;
    visits *= tries->by_makespan ? 1 : PART_IF_CHOSEN;
    uint64_t patience = STEPS_IN_VAIN + (uint64_t)plan->num_units * plan->num_units / PAIRS_A_STEP;
    patience /= tries->by_makespan ? 1 : PART_OF_PATIENCE;
    struct search search = { .tries = tries,
                             .best = placement,
                             .patience = least(patience, MOST_STEPS),
                             .num_starts = least(MOST_VISITS_OF_STARTS / visits, NUM_STARTS),
                             .num_ahead =
                                 least(MOST_VISITS_OF_STARTS_AHEAD / visits,
                                       tries->by_makespan ? NUM_AHEAD_ORDERS : NUM_AHEAD_IF_CHOSEN),
                             .num_steps = least(MOST_VISITS_OF_STEPS / 3 / visits, MOST_STEPS) };
    braid_status status = allocate_search(&search, lanes)
                              ? search_all(&search)
                              : braid_error_no_memory("the search for a plan");
    finish(&search);
    return status;
}

// A list plan that is improved may be too long before, so it is not given up.
braid_status braid_plan_try(struct plan_tries *tries, const struct plan_limits *limits,
                            struct plan_placement *out_placement)
{
    struct plan_placement best;
    struct plan_limits own = *limits;
    bool improves = is_improved(tries->plan, tries->costs, limits->max_lanes);
    tries->is_shortest = false;
    if (improves)
        own.give_up_ns = UINT64_MAX;
    braid_status status = braid_plan_try_lists(tries, &own, &best);
    if (status)
        return status;
    tries->num_lanes = best.num_lanes;
    if (improves)
        status = improve_placement(tries, limits->max_lanes, &best);
    return braid_plan_placement_give(status, &best, out_placement);
}
