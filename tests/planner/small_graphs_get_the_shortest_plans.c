// SPDX-License-Identifier: Apache-2.0
// Plans of small graphs are as short as any, by another search: it tries each order of the nodes,
// and each lane for each node.
#include "planner/plan_testing.h"
#include "support/wide_plan.h"

enum { MOST_NODES = 10, MOST_LANES = 4 };

struct small {
    uint32_t num_nodes, preds[MOST_NODES];
    uint64_t costs[MOST_NODES];
    braid_cost_model model;
};

struct trial {
    const struct small *small;
    uint32_t num_lanes, lane_of[MOST_NODES];
    uint64_t end_ns[MOST_NODES], free_ns[MOST_LANES], best_ns;
};

static void try_all(struct trial *trial, uint32_t placed, uint32_t num_used, uint64_t length_ns);

static void try_lane(struct trial *trial, uint32_t placed, uint32_t num_used, uint64_t length_ns,
                     uint32_t node, uint32_t lane)
{
    const struct small *small = trial->small;
    uint64_t free_ns = trial->free_ns[lane];
    uint64_t start_ns = lane < num_used ? free_ns + small->model.node_ns : 0;
    for (uint32_t pred = 0; pred < node; pred++) {
        if (!(small->preds[node] >> pred & 1))
            continue;
        uint64_t wait_ns = trial->lane_of[pred] == lane ? 0 : small->model.wait_ns;
        uint64_t seen_ns = trial->end_ns[pred] + wait_ns;
        start_ns = seen_ns > start_ns ? seen_ns : start_ns;
    }
    uint64_t end_ns = start_ns + small->costs[node];
    trial->lane_of[node] = lane;
    trial->end_ns[node] = trial->free_ns[lane] = end_ns;
    try_all(trial, placed | 1u << node, lane == num_used ? num_used + 1 : num_used,
            end_ns > length_ns ? end_ns : length_ns);
    trial->free_ns[lane] = free_ns;
}

static void try_all(struct trial *trial, uint32_t placed, uint32_t num_used, uint64_t length_ns)
{
    const struct small *small = trial->small;
    uint64_t roots_ns = num_used ? (num_used - 1) * small->model.root_ns : 0;
    if (length_ns + roots_ns >= trial->best_ns)
        return;
    if (placed == (1u << small->num_nodes) - 1) {
        trial->best_ns = length_ns + roots_ns;
        return;
    }
    for (uint32_t node = 0; node < small->num_nodes; node++) {
        if (placed >> node & 1 || small->preds[node] & ~placed)
            continue;
        for (uint32_t lane = 0; lane <= num_used && lane < trial->num_lanes; lane++)
            try_lane(trial, placed, num_used, length_ns, node, lane);
    }
}

static uint64_t shortest_ns(const struct small *small, uint32_t num_lanes)
{
    struct trial trial = { .small = small, .num_lanes = num_lanes, .best_ns = UINT64_MAX };
    try_all(&trial, 0, 0, 0);
    return trial.best_ns;
}

static uint64_t planned_ns(const struct small *small, uint32_t num_lanes)
{
    braid_graph *graph = new_graph();
    braid_node nodes[MOST_NODES];
    for (uint32_t i = 0; i < small->num_nodes; i++) {
        nodes[i] = new_node(graph, NULL, small->costs[i], NO_NODE, NO_NODE);
        for (uint32_t j = 0; j < i; j++)
            if (small->preds[i] >> j & 1)
                new_edge(graph, nodes[j], nodes[i]);
    }
    const braid_schedule_options options = { .costs = &small->model,
                                             .max_lanes = num_lanes,
                                             .fixed_lanes = true };
    uint64_t makespan_ns = plan_info(graph, options).makespan_ns;
    destroy_now(graph);
    return makespan_ns;
}

static struct small random_small(struct random *random)
{
    struct small small = { .num_nodes = 2 + random_below(random, 6) };
    uint32_t most_ns = random_chance(random, 30) ? 2 : 50; // equal ones too
    for (uint32_t i = 0; i < small.num_nodes; i++) {
        small.costs[i] = 1 + random_below(random, most_ns);
        for (uint32_t j = 0; j < i; j++)
            small.preds[i] |= (uint32_t)random_chance(random, 35) << j;
    }
    if (random_chance(random, 70))
        small.model.wait_ns = random_below(random, 2 * most_ns);
    if (random_chance(random, 30))
        small.model.node_ns = random_below(random, most_ns);
    if (random_chance(random, 30))
        small.model.root_ns = random_below(random, most_ns);
    return small;
}

static void no_plan_is_shorter(void **state)
{
    (void)state;
    struct random random = { 84 };
    for (int trial = 0; trial < 10000; trial++) {
        struct small small = random_small(&random);
        uint32_t num_lanes = 2 + random_below(&random, MOST_LANES - 1);
        assert_int_equal(planned_ns(&small, num_lanes), shortest_ns(&small, num_lanes));
    }
}

// Found by a search for bad plans: steps from the plan at hand stayed at 102.
static void steps_alone_would_miss_it(void **state)
{
    (void)state;
    const struct small small = {
        .num_nodes = 10,
        .preds = { 0, 0, 0, 0, 1u << 0, 0, 1u << 1 | 1u << 3 | 1u << 5, 1u << 1, 1u << 1 | 1u << 3,
                   1u << 2 | 1u << 3 | 1u << 6 | 1u << 8 },
        .costs = { 39, 5, 19, 9, 26, 3, 9, 40, 29, 27 },
        .model = { .wait_ns = 32 },
    };
    assert_int_equal(planned_ns(&small, 3), 79);
}

// A graph with a chain behind it has more nodes, and no more plans.
static uint64_t length_before_chain(const uint64_t *costs, uint32_t num, const uint8_t (*edges)[2],
                                    uint32_t num_edges, uint32_t num_in_chain, uint64_t wait_ns)
{
    const braid_cost_model model = { .wait_ns = wait_ns };
    braid_graph *graph = new_graph();
    braid_node nodes[8], last = NO_NODE;
    for (uint32_t i = 0; i < num; i++)
        nodes[i] = new_node(graph, NULL, costs[i], NO_NODE, NO_NODE);
    for (uint32_t e = 0; e < num_edges; e++)
        new_edge(graph, nodes[edges[e][0]], nodes[edges[e][1]]);
    for (uint32_t k = 0; k < num_in_chain; k++) {
        last = new_node(graph, NULL, 1, last, NO_NODE);
        for (uint32_t i = 0; i < num && k == 0; i++)
            new_edge(graph, nodes[i], last);
    }
    return plan_info(
               graph,
               (braid_schedule_options){ .costs = &model, .max_lanes = 2, .fixed_lanes = true })
        .makespan_ns;
}

static void a_chain_behind_hides_no_plan(void **state)
{
    (void)state;
    const uint64_t free_waits[] = { 14, 44, 32, 1, 35, 30 }, dear_waits[] = { 35, 32, 23, 42, 3 };
    const uint8_t few[][2] = { { 0, 1 }, { 0, 3 } };
    const uint8_t more[][2] = { { 0, 1 }, { 0, 2 }, { 0, 4 }, { 3, 4 } };
    assert_int_equal(length_before_chain(free_waits, 6, few, 2, 19, 0), 98);
    assert_int_equal(length_before_chain(dear_waits, 5, more, 4, 22, 48), 115);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(no_plan_is_shorter),
        owning_test(steps_alone_would_miss_it),
        owning_test(a_chain_behind_hides_no_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
