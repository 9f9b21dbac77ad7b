// SPDX-License-Identifier: Apache-2.0
// With bundles too, more lanes never give a longer plan than fewer, nor does a search: plans are
// compared by when nodes really start.
#include "planner/plan_testing.h"
#include "support/wide_plan.h"

enum { num_graphs = 60, most_nodes = 60, most_lanes = 8 };

static void noop(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = noop };

// Nodes with edges from a few before them, of which some have a prelude that needs none.
static braid_graph *make_graph(struct random *random)
{
    braid_graph *graph = new_graph();
    braid_node nodes[most_nodes], prelude;
    uint32_t num = 5 + random_below(random, most_nodes - 5);
    const struct random_shape shape = { .edges = 3,
                                        .reach = 2 + random_below(random, 24),
                                        .most_ns = 1000 };
    for (uint32_t i = 0; i < num; i++) {
        struct random_choice choice;
        random_choose(random, &shape, nodes, i, NULL, &choice);
        const braid_kernel_node launch = { .kernel = &kernel, .node = choice.options };
        check_ok(braid_graph_add_kernel(graph, &launch, &nodes[i]));
        const braid_kernel_node before = { .kernel = &kernel,
                                           .node = { .prelude_of = nodes[i],
                                                     .cost_ns = 1 + random_below(random, 200) } };
        if (random_chance(random, 10))
            check_ok(braid_graph_add_kernel(graph, &before, &prelude));
    }
    return graph;
}

static void more_lanes_make_none_longer(void **state)
{
    (void)state;
    struct random random = { 5 };
    for (uint32_t i = 0; i < num_graphs; i++) {
        braid_graph *graph = make_graph(&random);
        uint64_t before_ns = UINT64_MAX;
        for (uint32_t lanes = 1; lanes <= most_lanes; lanes++) {
            braid_schedule_options options = { .costs = &free_costs,
                                               .max_lanes = lanes,
                                               .fixed_lanes = true };
            uint64_t length_ns = plan_info(graph, options).makespan_ns;
            if (length_ns > before_ns)
                fail_msg("graph %u takes %lu ns on %u lanes, %lu on one fewer", i,
                         (unsigned long)length_ns, lanes, (unsigned long)before_ns);
            before_ns = length_ns;
        }
        destroy_now(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(more_lanes_make_none_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
