// SPDX-License-Identifier: Apache-2.0
// The planner does not place a graph on each number of lanes. Where the host issues nodes, a large
// graph gets few lanes, and more of them make no shorter plan: a few tries show that. A plan near
// the bound of all plans leaves nothing to gain by more lanes.
//
// Counted, not timed: the compiler puts a call into every block of the planner
// (-fsanitize-coverage=trace-pc).
#include "planner/plan_testing.h"
#include "support/random.h"

enum { most_nodes = 8000, window = 20, most_tries = 16 };

static uint64_t num_blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    num_blocks++;
}

static const braid_cost_model host_issues = { .issue_ns = 3000,
                                              .issue_wait_ns = 1000,
                                              .host_issues = true };
static const braid_cost_model cheap = {
    .node_ns = 86, .wait_ns = 140, .root_ns = 20, .max_concurrent = 32
};

// The blocks that are run for a plan on up to so many lanes; 0: as many as pay.
static uint64_t count(const braid_graph *graph, const braid_cost_model *model, uint32_t max_lanes,
                      uint32_t *out_lanes)
{
    braid_schedule *schedule;
    num_blocks = 0;
    check_ok(braid_schedule_create(
        graph, &(braid_schedule_options){ .costs = model, .max_lanes = max_lanes }, &schedule));
    uint64_t num = num_blocks;
    *out_lanes = info_of(schedule).num_lanes;
    braid_schedule_destroy(schedule);
    return num;
}

static braid_graph *new_random_graph(uint32_t num_nodes)
{
    struct random random = { 7 };
    braid_graph *graph = new_graph();
    braid_node nodes[most_nodes];
    for (uint32_t i = 0; i < num_nodes; i++) {
        uint32_t back = i < window ? i : window;
        nodes[i] = new_node(graph, "node", 2000 + random_below(&random, 8000),
                            i ? nodes[i - 1 - random_below(&random, back)] : NO_NODE,
                            i ? nodes[i - 1 - random_below(&random, back)] : NO_NODE);
    }
    return graph;
}

// One lane takes no try. Each try is of two orders.
static void more_lanes_in_vain_end_the_tries(void **state)
{
    (void)state;
    const braid_graph *graph = new_random_graph(most_nodes);
    uint32_t one, chosen;
    uint64_t least = count(graph, &host_issues, 1, &one);
    uint64_t num = count(graph, &host_issues, 0, &chosen);
    print_message("summary: %u lanes for %.1f times the blocks of a plan on one\n", chosen,
                  (double)num / (double)least);
    assert_in_range(chosen, 2, 4);
    assert_in_range(num, least, least * most_tries);
}

// Less than one gain is left above the number chosen, so no plan on more lanes is searched for.
static void little_left_to_gain_ends_the_tries(void **state)
{
    (void)state;
    const braid_graph *graph = new_random_graph(100);
    uint32_t chosen, same;
    uint64_t num = count(graph, &cheap, 0, &chosen);
    uint64_t least = count(graph, &cheap, chosen, &same);
    print_message("summary: %u lanes for %.1f times the blocks of a plan on up to %u\n", chosen,
                  (double)num / (double)least, chosen);
    assert_int_equal(same, chosen);
    assert_in_range(num, least, least * 3 / 2);
}

// Between 8 and 16 lanes the 16 nodes take two rounds. A round is five gains.
static void many_numbers_in_vain_do_not_end_the_tries(void **state)
{
    (void)state;
    const braid_cost_model no_waits = { 0 };
    braid_graph *graph = new_graph();
    braid_node first = new_node(graph, "first", 1000, NO_NODE, NO_NODE);
    for (uint32_t i = 1; i < 97; i++)
        first = new_node(graph, "next", 1000, first, NO_NODE);
    braid_node last = new_node(graph, "last", 1000, first, NO_NODE);
    for (uint32_t i = 0; i < 16; i++)
        new_edge(graph, new_node(graph, "side", 2000, first, NO_NODE), last);
    uint32_t chosen;
    (void)count(graph, &no_waits, 0, &chosen);
    assert_int_equal(chosen, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = { owning_test(more_lanes_in_vain_end_the_tries),
                                        owning_test(little_left_to_gain_ends_the_tries),
                                        owning_test(many_numbers_in_vain_do_not_end_the_tries) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
