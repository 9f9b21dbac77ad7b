// SPDX-License-Identifier: Apache-2.0
// Plays a placement through from event to event: a node's pace depends on how many run beside it.
//
// A node with `crowding` c takes 1 + c * k times its cost while k others run. Its lane, its waits
// and its planned start hold it up as in the plan, so nothing starts earlier than planned.
#include "plan/plan_crowd.h"

#include "base/array.h"
#include "base/error.h"

enum {
    ONE = GRAPH_CROWDING_ONE,
    MOST_PACE = 64 * ONE,  // slower is not told apart
    MOST_VISITS = 1 << 24, // of lanes by events; a larger plan keeps its times
};
#define MOST_WORK_NS (UINT64_C(1) << 40) // so that products stay in 64 bits
#define NEVER UINT64_MAX

struct lane {
    uint32_t next, end;  // issue indices in `items`
    uint32_t wait;       // of the next node, the first wait that is not known to be over
    uint32_t node;       // that runs, or PLAN_NONE
    uint64_t ready_ns;   // when the next may start, as far as is known
    uint64_t start_ns;   // NEVER: a wait goes on, or no node is left
    uint64_t left_ns;    // of the cost of the node that runs
    uint64_t planned_ns; // the end of the last one in the plan
};

struct crowd {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    const struct plan_placement *placement;
    struct lane *lanes;
    uint32_t *items;    // issue indices, lane by lane
    uint64_t *start_ns; // by node
    uint64_t *end_ns;   // by node; NEVER: it has not ended
    uint32_t num_running;
    uint64_t now_ns, last_ns;
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t planned_end(const struct crowd *crowd, uint32_t node)
{
    return crowd->placement->start_ns[node] + crowd->costs->node_ns[node];
}

static uint32_t node_at(const struct crowd *crowd, const struct lane *lane)
{
    return crowd->placement->issued[crowd->items[lane->next]];
}

// Between nodes there is as much time as in the plan, at most the model's.
static uint64_t gap(uint64_t planned_start, uint64_t planned_end, uint64_t model_ns)
{
    return planned_start > planned_end ? least(planned_start - planned_end, model_ns) : 0;
}

// Looks on among the waits of the next node, and sets its start if all are over.
static void look_on(const struct crowd *crowd, struct lane *lane)
{
    const struct plan_placement *placement = crowd->placement;
    const uint32_t *waits = placement->waits.items;
    lane->start_ns = NEVER;
    if (lane->next == lane->end)
        return;
    const uint32_t index = crowd->items[lane->next];
    const uint64_t planned = placement->start_ns[node_at(crowd, lane)];
    for (; lane->wait < placement->wait_first[index + 1]; lane->wait++) {
        const uint32_t other = waits[lane->wait];
        if (crowd->end_ns[other] == NEVER)
            return;
        const uint64_t wait_ns =
            gap(planned, planned_end(crowd, other), crowd->costs->model.wait_ns);
        lane->ready_ns = later(lane->ready_ns, crowd->end_ns[other] + wait_ns);
    }
    lane->start_ns = later(lane->ready_ns, planned);
}

// The lane's last node, if any, has ended now.
static void go_on(const struct crowd *crowd, struct lane *lane)
{
    if (lane->next == lane->end)
        return;
    const uint32_t node = node_at(crowd, lane);
    lane->wait = crowd->placement->wait_first[crowd->items[lane->next]];
    lane->ready_ns = crowd->now_ns + gap(crowd->placement->start_ns[node], lane->planned_ns,
                                         crowd->costs->model.node_ns);
}

// Calls that sleep and empty nodes slow no other node.
static bool is_beside_others(const struct crowd *crowd, uint32_t node)
{
    const bool *blocks = crowd->costs->unit_blocks;
    return crowd->costs->node_ns[node] && !(blocks && blocks[plan_unit_of(crowd->plan, node)]);
}

// How long a node takes now for ONE of its cost.
static uint64_t pace(const struct crowd *crowd, uint32_t node)
{
    if (!is_beside_others(crowd, node))
        return ONE;
    const uint64_t others = crowd->num_running - 1;
    return least(ONE + crowd->costs->crowding[node] * others, MOST_PACE);
}

static uint64_t end_of(const struct crowd *crowd, const struct lane *lane)
{
    return crowd->now_ns + (lane->left_ns * pace(crowd, lane->node) + ONE - 1) / ONE;
}

static uint64_t find_next(const struct crowd *crowd)
{
    uint64_t next_ns = NEVER;
    for (uint32_t i = 0; i < crowd->placement->num_lanes; i++) {
        const struct lane *lane = &crowd->lanes[i];
        next_ns = least(next_ns, lane->node == PLAN_NONE ? lane->start_ns : end_of(crowd, lane));
    }
    return next_ns;
}

// The work of a node that runs until then is done.
static void advance(struct crowd *crowd, uint64_t to_ns)
{
    for (uint32_t i = 0; i < crowd->placement->num_lanes; i++) {
        struct lane *lane = &crowd->lanes[i];
        if (lane->node == PLAN_NONE)
            continue;
        const uint64_t done = (to_ns - crowd->now_ns) * ONE / pace(crowd, lane->node);
        lane->left_ns -= least(done, lane->left_ns);
    }
    crowd->now_ns = to_ns;
}

// Nodes that end now end before others start.
static void end_nodes(struct crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->placement->num_lanes; i++) {
        struct lane *lane = &crowd->lanes[i];
        if (lane->node == PLAN_NONE || lane->left_ns)
            continue;
        crowd->end_ns[lane->node] = crowd->now_ns;
        crowd->last_ns = crowd->now_ns;
        lane->planned_ns = planned_end(crowd, lane->node);
        crowd->num_running -= is_beside_others(crowd, lane->node);
        lane->node = PLAN_NONE;
        go_on(crowd, lane);
    }
}

static void start_nodes(struct crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->placement->num_lanes; i++) {
        struct lane *lane = &crowd->lanes[i];
        if (lane->node != PLAN_NONE)
            continue;
        if (lane->start_ns == NEVER)
            look_on(crowd, lane);
        if (lane->start_ns > crowd->now_ns)
            continue;
        lane->node = node_at(crowd, lane);
        lane->left_ns = crowd->costs->node_ns[lane->node];
        lane->start_ns = NEVER;
        lane->next++;
        crowd->start_ns[lane->node] = crowd->now_ns;
        crowd->num_running += is_beside_others(crowd, lane->node);
    }
}

static void play(struct crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->placement->num_lanes; i++) {
        go_on(crowd, &crowd->lanes[i]);
        crowd->lanes[i].ready_ns = 0;
    }
    start_nodes(crowd);
    for (uint64_t next_ns = find_next(crowd); next_ns != NEVER; next_ns = find_next(crowd)) {
        advance(crowd, next_ns);
        end_nodes(crowd);
        start_nodes(crowd);
    }
}

static void list_lanes(struct crowd *crowd)
{
    const struct plan_placement *placement = crowd->placement;
    uint32_t first = 0;
    for (uint32_t i = 0; i < crowd->plan->num_nodes; i++)
        crowd->lanes[placement->lane_of[i]].end++;
    for (uint32_t i = 0; i < placement->num_lanes; i++) {
        struct lane *lane = &crowd->lanes[i];
        const uint32_t num = lane->end;
        *lane = (struct lane){ .next = first, .end = first, .node = PLAN_NONE, .start_ns = NEVER };
        first += num;
    }
    for (uint32_t i = 0; i < crowd->plan->num_nodes; i++) {
        crowd->items[crowd->lanes[placement->lane_of[placement->issued[i]]].end++] = i;
        crowd->end_ns[i] = NEVER;
    }
}

static void finish(struct crowd *crowd)
{
    free(crowd->lanes);
    free(crowd->items);
    free(crowd->start_ns);
    free(crowd->end_ns);
}

// False in *out_done: the plan has no two nodes at once, or is too large.
static braid_status begin(struct crowd *crowd, bool *out_done)
{
    const uint32_t num_nodes = crowd->plan->num_nodes, num_lanes = crowd->placement->num_lanes;
    *out_done = plan_is_crowded(crowd->costs) && num_lanes > 1 &&
                crowd->costs->work_ns < MOST_WORK_NS &&
                (uint64_t)num_nodes * num_lanes <= MOST_VISITS;
    if (!*out_done)
        return BRAID_OK;
    crowd->lanes = braid_allocate_zeroed(num_lanes, sizeof(*crowd->lanes));
    crowd->items = braid_allocate_zeroed(num_nodes, sizeof(*crowd->items));
    crowd->start_ns = braid_allocate_zeroed(num_nodes, sizeof(*crowd->start_ns));
    crowd->end_ns = braid_allocate_zeroed(num_nodes, sizeof(*crowd->end_ns));
    if (!crowd->lanes || !crowd->items || !crowd->start_ns || !crowd->end_ns) {
        finish(crowd);
        return braid_error_no_memory("the times of a plan");
    }
    list_lanes(crowd);
    play(crowd);
    return BRAID_OK;
}

static uint64_t makespan_of(const struct crowd *crowd)
{
    return crowd->last_ns + (crowd->placement->num_lanes - 1) * crowd->costs->model.root_ns;
}

braid_status braid_plan_crowd_makespan(const struct plan_graph *plan,
                                       const struct plan_costs *costs,
                                       struct plan_placement *placement)
{
    struct crowd crowd = { .plan = plan, .costs = costs, .placement = placement };
    bool done;
    braid_status status = begin(&crowd, &done);
    if (status || !done)
        return status;
    placement->makespan_ns = makespan_of(&crowd);
    finish(&crowd);
    return BRAID_OK;
}

braid_status braid_plan_crowd_times(const struct plan_graph *plan, struct plan_costs *costs,
                                    struct plan_placement *placement)
{
    struct crowd crowd = { .plan = plan, .costs = costs, .placement = placement };
    bool done;
    braid_status status = begin(&crowd, &done);
    if (status || !done)
        return status;
    placement->makespan_ns = makespan_of(&crowd);
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        placement->start_ns[i] = crowd.start_ns[i];
        costs->node_ns[i] = crowd.end_ns[i] - crowd.start_ns[i];
    }
    finish(&crowd);
    return BRAID_OK;
}
