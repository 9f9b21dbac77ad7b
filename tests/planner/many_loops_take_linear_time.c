// SPDX-License-Identifier: Apache-2.0
// The work of planning many loops, and of proving the plan, grows as their number does. A proof of
// each body that looked at all nodes or edges would take the square of it. So would a plan of each
// body that looked at all buffers.
//
// Counted, not timed: the compiler puts a call into every block of the planner, the verifier and
// the graph (-fsanitize-coverage=trace-pc).
#include <braid/braid.h>

#include "planner/plan_testing.h"

enum { num_few = 500, growth = 8 };

static uint64_t num_blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    num_blocks++;
}

// Plans it, proves the plan, and counts the blocks that were run since `num_blocks` was 0.
static uint64_t plan_and_count(braid_graph *graph)
{
    braid_schedule *schedule = plan_on(graph, 1);
    uint64_t num = num_blocks;
    destroy_now(schedule);
    destroy_now(graph);
    return num;
}

// The blocks that are run for so many loops, each of two nodes with an edge between.
static uint64_t count_nodes(uint32_t num_loops)
{
    braid_graph *graph = new_graph();
    braid_resource resource;
    check_ok(braid_graph_add_resource(graph, "resource", &resource));
    const braid_access changes = { resource, BRAID_READ_WRITE };
    const braid_empty node = { .node = { .accesses = &changes, .num_accesses = 1 } };
    num_blocks = 0;
    for (uint32_t i = 0; i < num_loops; i++) {
        braid_node first, second;
        check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 2 }, NULL));
        check_ok(braid_graph_add_empty(graph, &node, &first));
        check_ok(braid_graph_add_empty(graph, &node, &second));
        new_edge(graph, first, second);
        check_ok(braid_graph_end(graph));
    }
    return plan_and_count(graph);
}

// The same for loops that each fill a buffer of their own. The buffers stand side by side.
static uint64_t count_buffers(uint32_t num_loops)
{
    static uint32_t memory[num_few * growth];
    braid_graph *graph = new_graph();
    num_blocks = 0;
    for (uint32_t i = 0; i < num_loops; i++) {
        braid_access writes = { .mode = BRAID_WRITE };
        check_ok(
            braid_graph_add_buffer(graph, "buffer", &memory[i], sizeof(*memory), &writes.resource));
        check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 2 }, NULL));
        const braid_fill fill = {
            .node = { .accesses = &writes, .num_accesses = 1 },
            .to = &memory[i],
            .value_bytes = sizeof(*memory),
            .num_values = 1,
        };
        check_ok(braid_graph_add_fill(graph, &fill, NULL));
        check_ok(braid_graph_end(graph));
    }
    return plan_and_count(graph);
}

// A half more is granted: what is searched or sorted takes n log n.
static void check_growth(uint64_t (*count)(uint32_t num_loops))
{
    uint64_t few = count(num_few), many = count(num_few * growth);
    print_message("summary: %llu blocks for %d loops, %llu for %d\n", (unsigned long long)few,
                  num_few, (unsigned long long)many, num_few * growth);
    assert_true(few > num_few);
    assert_in_range(many, few * growth / 2, few * growth * 3 / 2);
}

static void work_grows_as_the_number_of_loops_does(void **state)
{
    (void)state;
    check_growth(count_nodes);
}

static void a_buffer_of_each_loop_costs_its_plan_alone(void **state)
{
    (void)state;
    check_growth(count_buffers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(work_grows_as_the_number_of_loops_does),
        owning_test(a_buffer_of_each_loop_costs_its_plan_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
