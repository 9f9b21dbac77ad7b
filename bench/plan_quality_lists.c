// SPDX-License-Identifier: Apache-2.0
// Ten list schedulers of the literature, with waits between lanes as in Braid's cost model.
#include <stdlib.h>
#include <string.h>

#include "plan_quality.h"

// In which order ready nodes go: by a key, the highest first; or by the pair of node and lane.
enum order {
    BOTTOM,
    BOTTOM_WITH_WAITS,
    TOP_AND_BOTTOM,
    LEVEL,
    LONGEST,
    SUCCESSORS,
    EARLIEST,
    DYNAMIC
};

struct list_rule {
    const char *name;
    enum order order;
    bool inserts; // a node may go into a gap in front of others
};

static const struct list_rule rules[] = {
    { "HLFET: heaviest path", BOTTOM, false },
    { "ISH: heaviest path, into gaps", BOTTOM, true },
    { "heaviest path with waits", BOTTOM_WITH_WAITS, false },
    { "HEFT: heaviest path with waits, into gaps", BOTTOM_WITH_WAITS, true },
    { "CPOP: heaviest path through, into gaps", TOP_AND_BOTTOM, true },
    { "level", LEVEL, false },
    { "LPT: longest node", LONGEST, false },
    { "most successors, into gaps", SUCCESSORS, true },
    { "ETF: earliest start of all pairs", EARLIEST, false },
    { "DLS: heaviest path less start", DYNAMIC, false },
};
const size_t num_list_rules = sizeof(rules) / sizeof(rules[0]);

const char *list_rule_name(size_t rule)
{
    return rules[rule].name;
}

bool list_rule_is_slow(size_t rule)
{
    return rules[rule].order >= EARLIEST;
}

// Where a lane is idle: gaps in front of others, and behind all.
struct gap {
    uint64_t begin, end;
};

struct list {
    const struct plan_graph *plan;
    const struct plan_costs *costs;
    uint32_t num_lanes;
    uint64_t *key, *bottom, *end;
    uint32_t *lane_of, *left, *ready;
    uint32_t num_ready;
    struct gap **gaps; // per lane; the last one is open
    uint32_t *num_gaps, *max_gaps;
};

static void *make(size_t num, size_t bytes)
{
    void *memory = calloc(num + 1, bytes);
    if (!memory)
        abort();
    return memory;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void find_bottoms(struct list *list, uint64_t wait_ns, uint64_t *bottom)
{
    const struct plan_graph *plan = list->plan;
    for (uint32_t i = plan->num_nodes; i-- > 0;) {
        uint32_t node = plan_ordered_node(plan, i);
        uint64_t below = 0;
        for (uint32_t e = plan->succ_first[node]; e < plan->succ_first[node + 1]; e++)
            below = most(below, bottom[plan->succ_nodes[e]] + wait_ns);
        bottom[node] = below + list->costs->node_ns[node];
    }
}

static void find_keys(struct list *list, enum order order)
{
    const struct plan_graph *plan = list->plan;
    const uint64_t *node_ns = list->costs->node_ns;
    uint64_t *key = list->key;
    find_bottoms(list, 0, list->bottom);
    find_bottoms(list, order == BOTTOM || order == LEVEL ? 0 : list->costs->model.wait_ns, key);
    uint64_t *top = make(plan->num_nodes, sizeof(*top));
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        uint32_t node = plan_ordered_node(plan, i);
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            uint32_t pred = plan->pred_nodes[e];
            top[node] = most(top[node], order == LEVEL ? top[pred] + 1
                                                       : top[pred] + node_ns[pred] +
                                                             list->costs->model.wait_ns);
        }
        if (order == TOP_AND_BOTTOM)
            key[node] += top[node];
        else if (order == LEVEL)
            key[node] = UINT64_MAX - top[node];
        else if (order == LONGEST)
            key[node] = node_ns[node];
        else if (order == SUCCESSORS)
            key[node] = plan->succ_first[node + 1] - plan->succ_first[node];
    }
    free(top);
}

static uint64_t arrival(const struct list *list, uint32_t node, uint32_t lane)
{
    const struct plan_graph *plan = list->plan;
    uint64_t seen = 0;
    for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
        uint32_t pred = plan->pred_nodes[e];
        bool same = list->lane_of[pred] == lane;
        seen = most(seen, list->end[pred] + (same ? 0 : list->costs->model.wait_ns));
    }
    return seen;
}

// The first gap of a lane in which a node fits, and its start there.
static uint32_t find_gap(const struct list *list, uint32_t node, uint32_t lane, bool inserts,
                         uint64_t *out_start)
{
    uint64_t seen = arrival(list, node, lane), cost = list->costs->node_ns[node];
    uint32_t last = list->num_gaps[lane] - 1, g = inserts ? 0 : last;
    const struct gap *gaps = list->gaps[lane];
    while (g < last && most(seen, gaps[g].begin) + cost > gaps[g].end)
        g++;
    *out_start = most(seen, gaps[g].begin);
    return g;
}

static void fill_gap(struct list *list, uint32_t lane, uint32_t g, uint64_t start, uint64_t end)
{
    if (list->num_gaps[lane] + 1 > list->max_gaps[lane]) {
        list->max_gaps[lane] = 2 * list->max_gaps[lane] + 4;
        list->gaps[lane] =
            realloc(list->gaps[lane], list->max_gaps[lane] * sizeof(*list->gaps[lane]));
        if (!list->gaps[lane])
            abort();
    }
    struct gap *gaps = list->gaps[lane], gap = gaps[g];
    bool before = start > gap.begin, behind = end < gap.end;
    size_t num_behind = list->num_gaps[lane] - g - 1;
    memmove(&gaps[g + before + behind], &gaps[g + 1], num_behind * sizeof(*gaps));
    if (before)
        gaps[g] = (struct gap){ gap.begin, start };
    if (behind)
        gaps[g + before] = (struct gap){ end, gap.end };
    list->num_gaps[lane] += (uint32_t)before + behind - 1;
}

static void choose_by_pair(const struct list *list, enum order order, uint32_t *out_index)
{
    int64_t best = INT64_MIN;
    uint64_t best_key = 0;
    for (uint32_t i = 0; i < list->num_ready; i++) {
        uint32_t node = list->ready[i];
        for (uint32_t lane = 0; lane < list->num_lanes; lane++) {
            uint64_t start;
            find_gap(list, node, lane, false, &start);
            int64_t level = order == DYNAMIC ? (int64_t)list->bottom[node] : 0;
            int64_t value = level - (int64_t)start;
            if (value < best || (value == best && list->key[node] <= best_key))
                continue;
            best = value;
            best_key = list->key[node];
            *out_index = i;
        }
    }
}

static uint32_t take_ready(struct list *list, enum order order)
{
    uint32_t best = 0;
    if (order >= EARLIEST)
        choose_by_pair(list, order, &best);
    else
        for (uint32_t i = 1; i < list->num_ready; i++) {
            uint32_t a = list->ready[i], b = list->ready[best];
            if (list->key[a] > list->key[b] ||
                (list->key[a] == list->key[b] && (list->bottom[a] > list->bottom[b] ||
                                                  (list->bottom[a] == list->bottom[b] && a < b))))
                best = i;
        }
    uint32_t node = list->ready[best];
    list->ready[best] = list->ready[--list->num_ready];
    return node;
}

static void put(struct list *list, uint32_t node, bool inserts)
{
    uint32_t best_lane = 0, best_gap = 0;
    uint64_t best = UINT64_MAX;
    for (uint32_t lane = 0; lane < list->num_lanes; lane++) {
        uint64_t start;
        uint32_t g = find_gap(list, node, lane, inserts, &start);
        if (start >= best)
            continue;
        best = start;
        best_lane = lane;
        best_gap = g;
    }
    list->lane_of[node] = best_lane;
    list->end[node] = best + list->costs->node_ns[node];
    fill_gap(list, best_lane, best_gap, best, list->end[node]);
}

static uint64_t run(struct list *list, const struct list_rule *rule)
{
    const struct plan_graph *plan = list->plan;
    uint64_t makespan = 0;
    find_keys(list, rule->order);
    for (uint32_t lane = 0; lane < list->num_lanes; lane++) {
        list->num_gaps[lane] = list->max_gaps[lane] = 1;
        list->gaps[lane] = make(1, sizeof(struct gap));
        list->gaps[lane][0] = (struct gap){ 0, UINT64_MAX };
    }
    for (uint32_t node = 0; node < plan->num_nodes; node++)
        if (!(list->left[node] = plan->pred_first[node + 1] - plan->pred_first[node]))
            list->ready[list->num_ready++] = node;
    while (list->num_ready) {
        uint32_t node = take_ready(list, rule->order);
        put(list, node, rule->inserts);
        makespan = most(makespan, list->end[node]);
        for (uint32_t e = plan->succ_first[node]; e < plan->succ_first[node + 1]; e++)
            if (--list->left[plan->succ_nodes[e]] == 0)
                list->ready[list->num_ready++] = plan->succ_nodes[e];
    }
    for (uint32_t lane = 0; lane < list->num_lanes; lane++)
        free(list->gaps[lane]);
    return makespan;
}

uint64_t list_rule_length(size_t rule, const struct plan_graph *plan,
                          const struct plan_costs *costs, uint32_t num_lanes)
{
    size_t num = plan->num_nodes;
    struct list list = {
        .plan = plan,
        .costs = costs,
        .num_lanes = num_lanes,
        .key = make(num, sizeof(uint64_t)),
        .bottom = make(num, sizeof(uint64_t)),
        .end = make(num, sizeof(uint64_t)),
        .lane_of = make(num, sizeof(uint32_t)),
        .left = make(num, sizeof(uint32_t)),
        .ready = make(num, sizeof(uint32_t)),
        .gaps = make(num_lanes, sizeof(struct gap *)),
        .num_gaps = make(num_lanes, sizeof(uint32_t)),
        .max_gaps = make(num_lanes, sizeof(uint32_t)),
    };
    uint64_t makespan = run(&list, &rules[rule]);
    void *const memory[] = { list.key,   list.bottom, list.end,      list.lane_of, list.left,
                             list.ready, list.gaps,   list.num_gaps, list.max_gaps };
    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
        free(memory[i]);
    return makespan;
}
