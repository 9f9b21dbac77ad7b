// SPDX-License-Identifier: Apache-2.0
// Event-driven list scheduling. Time jumps from one end of a unit to the next; at each, all units
// that ended release their successors, then idle lanes are filled from the ready units.
#include "exec/plan_place.h"

#include "base/error.h"
#include "exec/plan_bits.h"
#include "exec/plan_heap.h"

struct lane {
    uint32_t tail; // the last unit placed on it; it is idle when that has ended
    bool idle;
    uint64_t free_ns;         // when the tail ends
    struct plan_heap waiting; // ready units whose hint names this lane, by rank
};

struct place {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    const struct plan_ranks *ranks;
    struct plan_placement *out;
    uint32_t max_lanes, num_idle, num_issued;
    struct lane *lanes;
    struct plan_bits ready; // ranks
    // Idle lanes by whether their tail still has successors to place. One that has none is taken
    // first for a unit without a predecessor at hand: the others save a wait later.
    struct plan_bits spent, wanted;
    struct plan_heap ends; // units placed and not ended, by when they end
    uint32_t *left;        // per unit: predecessors not ended; then the round it became ready in
    uint32_t *unplaced;    // per unit: successors not placed
    uint32_t *batch;       // units that start now; one for each lane
    uint32_t round;
    uint64_t now_ns;
};

static uint64_t end_of(const struct place *place, uint32_t unit)
{
    return place->out->start_ns[unit] + place->costs->unit_ns[unit];
}

static void set_idle(struct place *place, uint32_t lane)
{
    place->lanes[lane].idle = true;
    place->num_idle++;
    bool wanted = place->unplaced[place->lanes[lane].tail] > 0;
    plan_bits_add(wanted ? &place->wanted : &place->spent, lane);
}

static void set_busy(struct place *place, uint32_t lane)
{
    if (!place->lanes[lane].idle)
        return;
    place->lanes[lane].idle = false;
    place->num_idle--;
    plan_bits_remove(&place->wanted, lane);
    plan_bits_remove(&place->spent, lane);
}

// What the predecessors of a unit say about its start: on lane `near` it need not wait for the
// latest of them, only until far_ns for those on other lanes; elsewhere until near_ns.
struct inputs {
    uint32_t near;
    uint64_t near_ns, far_ns;
    uint32_t affine; // the best idle lane whose tail is a predecessor, or PLAN_NONE
};

static struct inputs find_inputs(const struct place *place, uint32_t unit)
{
    const struct plan_graph *plan = place->plan;
    uint64_t wait = place->costs->model.wait_ns;
    struct inputs inputs = { .near = PLAN_NONE, .affine = PLAN_NONE };
    uint32_t fewest = UINT32_MAX;
    for (uint32_t e = plan->pred_first[unit]; e < plan->pred_first[unit + 1]; e++) {
        uint32_t pred = plan->pred_units[e];
        uint32_t lane = place->out->lane_of[pred];
        const struct lane *on = &place->lanes[lane];
        // Of several, the one whose tail the fewest others still want.
        if (on->idle && on->tail == pred && place->unplaced[pred] < fewest) {
            fewest = place->unplaced[pred];
            inputs.affine = lane;
        }
        if (!wait)
            continue; // all have ended, so any lane does
        uint64_t end = end_of(place, pred) + wait;
        if (lane == inputs.near) {
            inputs.near_ns = end > inputs.near_ns ? end : inputs.near_ns;
        } else if (end > inputs.near_ns) {
            inputs.far_ns = inputs.near_ns;
            inputs.near = lane;
            inputs.near_ns = end;
        } else if (end > inputs.far_ns) {
            inputs.far_ns = end;
        }
    }
    return inputs;
}

static uint64_t start_on(const struct place *place, const struct inputs *inputs, uint32_t lane)
{
    uint64_t start = place->now_ns;
    uint64_t input = lane == inputs->near ? inputs->far_ns : inputs->near_ns;
    if (input > start)
        start = input;
    if (lane < place->out->num_lanes) {
        uint64_t free = place->lanes[lane].free_ns + place->costs->model.node_ns;
        if (free > start)
            start = free;
    }
    return start;
}

static uint32_t any_idle_lane(struct place *place)
{
    if (!plan_bits_empty(&place->spent))
        return plan_bits_lowest(&place->spent);
    if (place->out->num_lanes < place->max_lanes)
        return place->out->num_lanes;
    return plan_bits_lowest(&place->wanted);
}

// The earliest start wins; on a tie a lane that saves a wait. A lane that is still busy is worth
// queueing on where a wait would take longer than its last unit.
static uint32_t choose_lane(struct place *place, const struct inputs *inputs)
{
    uint32_t best = inputs->affine;
    if (best == PLAN_NONE)
        best = any_idle_lane(place);
    if (!place->costs->model.wait_ns || inputs->near == PLAN_NONE)
        return best;
    uint64_t best_ns = start_on(place, inputs, best);
    uint32_t others[] = { inputs->near, any_idle_lane(place) };
    for (int i = 0; i < 2; i++) {
        uint64_t start = start_on(place, inputs, others[i]);
        if (start < best_ns) {
            best = others[i];
            best_ns = start;
        }
    }
    return best;
}

static void count_placed(struct place *place, uint32_t unit)
{
    const struct plan_graph *plan = place->plan;
    for (uint32_t e = plan->pred_first[unit]; e < plan->pred_first[unit + 1]; e++) {
        uint32_t pred = plan->pred_units[e];
        if (--place->unplaced[pred])
            continue;
        uint32_t lane = place->out->lane_of[pred];
        if (place->lanes[lane].idle && place->lanes[lane].tail == pred) {
            plan_bits_remove(&place->wanted, lane);
            plan_bits_add(&place->spent, lane);
        }
    }
}

static bool has_named_lane(const struct place *place, uint32_t unit)
{
    return place->plan->hint_before && place->plan->hint_before[unit] != PLAN_NONE;
}

static bool note_delay(struct place *place, uint32_t unit, uint32_t lane)
{
    if (!has_named_lane(place, unit)) {
        uint32_t *slot = braid_array_append(&place->out->delayed, 1, sizeof(*slot));
        if (slot)
            *slot = unit;
        return slot;
    }
    struct plan_pair *pair = braid_array_append(&place->out->hinted, 1, sizeof(*pair));
    if (pair)
        *pair = (struct plan_pair){ place->lanes[lane].tail, unit };
    return pair;
}

static bool put(struct place *place, uint32_t unit, uint32_t lane, const struct inputs *inputs)
{
    struct plan_placement *out = place->out;
    uint64_t start = start_on(place, inputs, lane);
    uint64_t end = start + place->costs->unit_ns[unit];
    bool first = lane == out->num_lanes;
    bool delayed = !first && (place->left[unit] < place->round || !place->lanes[lane].idle);
    if (delayed && !note_delay(place, unit, lane))
        return false;
    set_busy(place, lane);
    if (first) {
        out->num_lanes++;
        place->num_idle--;
    }
    count_placed(place, unit);
    place->lanes[lane].tail = unit;
    place->lanes[lane].free_ns = end;
    out->lane_of[unit] = lane;
    out->start_ns[unit] = start;
    out->issued[place->num_issued++] = unit;
    if (end > out->makespan_ns)
        out->makespan_ns = end;
    return plan_heap_push(&place->ends, end, unit);
}

static bool put_batch(struct place *place, uint32_t num)
{
    // Units with a lane of their own choose first, so that no other takes it.
    uint32_t num_left = 0;
    for (uint32_t i = 0; i < num; i++) {
        struct inputs inputs = find_inputs(place, place->batch[i]);
        if (inputs.affine == PLAN_NONE)
            place->batch[num_left++] = place->batch[i];
        else if (!put(place, place->batch[i], choose_lane(place, &inputs), &inputs))
            return false;
    }
    for (uint32_t i = 0; i < num_left; i++) {
        struct inputs inputs = find_inputs(place, place->batch[i]);
        if (!put(place, place->batch[i], choose_lane(place, &inputs), &inputs))
            return false;
    }
    return true;
}

// A unit whose hint names a lane starts there or waits for it. Returns false when memory runs out.
static bool put_hinted(struct place *place, uint32_t unit, uint32_t rank)
{
    uint32_t lane = place->out->lane_of[place->plan->hint_before[unit]];
    if (!place->lanes[lane].idle)
        return plan_heap_push(&place->lanes[lane].waiting, rank, unit);
    struct inputs inputs = find_inputs(place, unit);
    return put(place, unit, lane, &inputs);
}

static uint32_t num_startable(const struct place *place)
{
    uint32_t num_busy = place->max_lanes - place->num_idle;
    uint32_t most = place->costs->model.max_concurrent;
    uint32_t room = most > num_busy ? most - num_busy : 0;
    return room < place->num_idle ? room : place->num_idle;
}

static bool fill_lanes(struct place *place)
{
    while (!plan_bits_empty(&place->ready) && num_startable(place)) {
        uint32_t num = 0;
        while (!plan_bits_empty(&place->ready) && num < num_startable(place)) {
            uint32_t rank = plan_bits_lowest(&place->ready);
            uint32_t unit = place->ranks->unit_at[rank];
            plan_bits_remove(&place->ready, rank);
            if (!has_named_lane(place, unit))
                place->batch[num++] = unit;
            else if (!put_hinted(place, unit, rank))
                return false;
        }
        if (!put_batch(place, num))
            return false;
    }
    return true;
}

static void release_successors(struct place *place, uint32_t unit)
{
    const struct plan_graph *plan = place->plan;
    for (uint32_t e = plan->succ_first[unit]; e < plan->succ_first[unit + 1]; e++) {
        uint32_t succ = plan->succ_units[e];
        if (--place->left[succ])
            continue;
        place->left[succ] = place->round;
        plan_bits_add(&place->ready, place->ranks->rank_of[succ]);
    }
}

// Lets time go on to the next end, and lets all units end that end then.
static void next_round(struct place *place)
{
    place->round++;
    place->now_ns = plan_heap_first(&place->ends)->key;
    while (plan_heap_first(&place->ends) && plan_heap_first(&place->ends)->key == place->now_ns) {
        uint32_t unit = plan_heap_pop(&place->ends).value;
        struct lane *lane = &place->lanes[place->out->lane_of[unit]];
        release_successors(place, unit);
        if (lane->tail != unit)
            continue; // another is queued behind it
        set_idle(place, place->out->lane_of[unit]);
        if (plan_heap_first(&lane->waiting))
            plan_bits_add(&place->ready, (uint32_t)plan_heap_pop(&lane->waiting).key);
    }
}

static bool allocate_place(struct place *place)
{
    size_t num = (size_t)place->plan->num_units + 1;
    struct plan_placement *out = place->out;
    out->lane_of = malloc(num * sizeof(*out->lane_of));
    out->start_ns = malloc(num * sizeof(*out->start_ns));
    out->issued = malloc(num * sizeof(*out->issued));
    place->left = malloc(num * sizeof(*place->left));
    place->unplaced = malloc(num * sizeof(*place->unplaced));
    place->lanes = calloc(place->max_lanes, sizeof(*place->lanes));
    place->batch = malloc(place->max_lanes * sizeof(*place->batch));
    return plan_bits_init(&place->ready, place->plan->num_units) &&
           plan_bits_init(&place->spent, place->max_lanes) &&
           plan_bits_init(&place->wanted, place->max_lanes) && out->lane_of && out->start_ns &&
           out->issued && place->left && place->unplaced && place->lanes && place->batch;
}

static void finish_place(struct place *place)
{
    for (uint32_t i = 0; place->lanes && i < place->max_lanes; i++)
        braid_array_finish(&place->lanes[i].waiting.items);
    plan_bits_finish(&place->ready);
    plan_bits_finish(&place->spent);
    plan_bits_finish(&place->wanted);
    braid_array_finish(&place->ends.items);
    free(place->left);
    free(place->unplaced);
    free(place->lanes);
    free(place->batch);
}

static bool place_all(struct place *place)
{
    const struct plan_graph *plan = place->plan;
    place->num_idle = place->max_lanes;
    place->round = 1;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        place->unplaced[unit] = plan->succ_first[unit + 1] - plan->succ_first[unit];
        place->left[unit] = plan->pred_first[unit + 1] - plan->pred_first[unit];
        if (place->left[unit])
            continue;
        place->left[unit] = place->round;
        plan_bits_add(&place->ready, place->ranks->rank_of[unit]);
    }
    while (fill_lanes(place)) {
        if (!plan_heap_first(&place->ends))
            return true;
        next_round(place);
    }
    return false;
}

braid_status braid_plan_place(const struct plan_graph *plan, const struct plan_costs *costs,
                              const struct plan_ranks *ranks, uint32_t max_lanes,
                              struct plan_placement *out_placement)
{
    uint32_t most = max_lanes < plan->num_units ? max_lanes : plan->num_units;
    struct plan_placement out = { 0 };
    struct place place = {
        .plan = plan,
        .costs = costs,
        .ranks = ranks,
        .out = &out,
        .max_lanes = most ? most : 1,
    };
    bool done = allocate_place(&place) && place_all(&place);
    finish_place(&place);
    if (!done) {
        braid_plan_placement_finish(&out);
        return braid_error_no_memory("the placement of a plan");
    }
    if (out.num_lanes > 1)
        out.makespan_ns += (out.num_lanes - 1) * costs->model.root_ns;
    *out_placement = out;
    return BRAID_OK;
}

void braid_plan_placement_finish(struct plan_placement *placement)
{
    free(placement->lane_of);
    free(placement->start_ns);
    free(placement->issued);
    braid_array_finish(&placement->delayed);
    braid_array_finish(&placement->hinted);
    *placement = (struct plan_placement){ 0 };
}
