// SPDX-License-Identifier: Apache-2.0
// Graphs with a known optimum: a full rectangle of K lanes and T nanoseconds, cut into tasks. With
// edges between tasks that touch in time, no plan is shorter than T and one of length T exists.
#include <stdio.h>
#include <stdlib.h>

#include "planner/plan_testing.h"

enum { MOST_TASKS = 4096 };

struct task {
    uint64_t start, end;
    uint32_t lane;
};

static uint32_t cut_rectangle(struct random *random, uint32_t lanes, uint64_t length,
                              struct task *tasks)
{
    uint32_t num = 0;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        for (uint64_t at = 0; at < length;) {
            uint64_t cost = 1 + random_below(random, 100);
            if (at + cost > length)
                cost = length - at;
            tasks[num++] = (struct task){ at, at + cost, lane };
            at += cost;
        }
    }
    return num;
}

static int compare_starts(const void *a, const void *b)
{
    const struct task *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

// Tasks in order of start; from each an edge to some that start after it ends.
static braid_graph *rectangle(struct random *random, uint32_t lanes, uint64_t length,
                              uint32_t edges_per_task)
{
    struct task *tasks = malloc(MOST_TASKS * sizeof(*tasks));
    assert_non_null(tasks);
    uint32_t num = cut_rectangle(random, lanes, length, tasks);
    qsort(tasks, num, sizeof(*tasks), compare_starts);
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < num; i++) {
        new_node(graph, NULL, tasks[i].end - tasks[i].start, NO_NODE, NO_NODE);
        for (uint32_t k = 0; i && k < edges_per_task; k++) {
            uint32_t from = random_below(random, i);
            if (tasks[from].end <= tasks[i].start)
                new_edge(graph, braid_graph_get_node(graph, from), braid_graph_get_node(graph, i));
        }
    }
    free(tasks);
    return graph;
}

static void rectangles_without_edges(void **state)
{
    (void)state;
    struct random random = { 21 };
    for (uint32_t lanes = 1; lanes <= 16; lanes++) {
        braid_graph *graph = rectangle(&random, lanes, 5000, 0);
        braid_schedule *schedule = plan_on(graph, lanes);
        assert_int_equal(info_of(schedule).bound_ns, 5000);
        assert_true(info_of(schedule).makespan_ns <= 5100);
        destroy_now(schedule);
        destroy_now(graph);
    }
}

static void rectangles_with_edges(void **state)
{
    (void)state;
    struct random random = { 22 };
    uint64_t sum = 0, num = 0;
    for (uint32_t lanes = 2; lanes <= 16; lanes++) {
        for (uint32_t edges = 1; edges <= 4; edges++) {
            braid_graph *graph = rectangle(&random, lanes, 5000, edges);
            braid_schedule *schedule = plan_on(graph, lanes);
            uint64_t makespan = info_of(schedule).makespan_ns;
            assert_true(makespan >= 5000);
            // List scheduling is never worse than 2 - 1 / K times the optimum.
            assert_true(makespan * lanes <= 5000 * (2 * lanes - 1));
            sum += makespan;
            num++;
            destroy_now(schedule);
            destroy_now(graph);
        }
    }
    printf("summary: rectangles: makespan / optimum %.4f in the mean of %u\n",
           (double)sum / (double)num / 5000, (unsigned)num);
    assert_true(sum * 100 <= num * 5000 * 105);
}

static void a_wide_layer_after_a_wide_layer(void **state)
{
    (void)state;
    // Four equal nodes, a join, four equal nodes: 2 units of time and the join on four lanes.
    braid_graph *graph = new_graph();
    braid_node join = NO_NODE;
    for (int i = 0; i < 4; i++)
        new_node(graph, NULL, 10, NO_NODE, NO_NODE);
    join = new_node(graph, NULL, 1, braid_graph_get_node(graph, 0), braid_graph_get_node(graph, 1));
    new_edge(graph, braid_graph_get_node(graph, 2), join);
    new_edge(graph, braid_graph_get_node(graph, 3), join);
    for (int i = 0; i < 4; i++)
        new_node(graph, NULL, 10, join, NO_NODE);
    braid_schedule *schedule = plan_on(graph, 4);
    assert_int_equal(info_of(schedule).makespan_ns, 21);
    assert_int_equal(info_of(schedule).num_waits, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(rectangles_without_edges),
        owning_test(rectangles_with_edges),
        owning_test(a_wide_layer_after_a_wide_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
