// SPDX-License-Identifier: Apache-2.0
// A graph that was measured as one island keeps its costs elsewhere, and is planned as an island by
// the times that its nodes had there.
#include <braid/timings.h>

#include "gpu/gpu_testing.h"
#include "gpu/island_graph.h"
#include "graph/graph.h"
#include "support/check.h"
#include "tune/tune_search.h"

enum { WHOLE_BLOCK = 1024, FEW_THREADS = 32, KEPT = 3, COST_NS = 200000 };

struct measured_graph {
    struct frame frame;
    struct island_graph made;
};

static void open_graph(struct measured_graph *graph, uint32_t threads)
{
    reset_standin();
    graph->frame = (struct frame){ 0 };
    graph->made = (struct island_graph){
        .seed = 3, .most_before = 3, .cost_ns = COST_NS, .threads = threads
    };
    check_ok(frame_open(&graph->frame, "cuda"));
    island_graph_make(&graph->made, graph->frame.device);
}

static void close_graph(struct measured_graph *graph)
{
    destroy_owned();
    frame_finish(&graph->frame);
    check_nothing_is_left();
}

static void measure(struct measured_graph *graph, braid_islands islands)
{
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH,
                                         .islands = islands,
                                         .frames_kept = KEPT };
    braid_exec *exec = own_exec(graph->frame.device, graph->made.graph, &options);
    check_ok(braid_exec_measure(exec, graph->made.graph, KEPT));
    destroy_now(exec);
}

// As if they had been measured.
static void set_measured(struct measured_graph *graph, uint64_t outside_ns, uint64_t inside_ns)
{
    const struct graph_measured measured = { .outside_ns = outside_ns, .inside_ns = inside_ns };
    assert_true(braid_graph_reserve_measured(graph->made.graph));
    for (uint32_t i = 0; i < ISLAND_NODES; i++) {
        braid_graph_set_measured(graph->made.graph, i, outside_ns);
        graph_keep_measured(graph->made.graph, i, measured);
    }
}

static bool becomes_an_island(struct measured_graph *graph)
{
    braid_exec_info info;
    braid_exec *exec = own_exec(graph->frame.device, graph->made.graph, NULL);
    braid_exec_get_info(exec, &info);
    destroy_now(exec);
    return info.num_island_nodes == ISLAND_NODES;
}

static void costs_elsewhere_stay(void **state)
{
    (void)state;
    struct measured_graph graph;
    open_graph(&graph, WHOLE_BLOCK);
    set_measured(&graph, COST_NS, 0);
    measure(&graph, BRAID_ISLANDS_WHOLE);
    for (uint32_t i = 0; i < ISLAND_NODES; i++) {
        const struct graph_measured measured = graph_measured_of(graph.made.graph, i);
        assert_int_equal(graph_nodes(graph.made.graph)[i].cost_ns, COST_NS);
        assert_int_equal(measured.outside_ns, COST_NS);
        assert_in_range(measured.inside_ns, 1, UINT64_MAX);
        check_ok(braid_graph_set_cost(graph.made.graph, graph.made.nodes[i], COST_NS));
        assert_int_equal(graph_measured_of(graph.made.graph, i).inside_ns, 0);
    }
    close_graph(&graph);
}

static void an_island_alone_gives_the_costs(void **state)
{
    (void)state;
    struct measured_graph graph;
    open_graph(&graph, WHOLE_BLOCK);
    measure(&graph, BRAID_ISLANDS_WHOLE);
    for (uint32_t i = 0; i < ISLAND_NODES; i++) {
        const struct graph_measured measured = graph_measured_of(graph.made.graph, i);
        assert_int_equal(measured.outside_ns, 0);
        assert_int_equal(graph_nodes(graph.made.graph)[i].cost_ns, measured.inside_ns);
    }
    close_graph(&graph);
}

// Calls that share a multiprocessor slow each other, which another plan does otherwise.
static void calls_beside_others_tell_nothing_of_other_islands(void **state)
{
    (void)state;
    struct measured_graph graph;
    open_graph(&graph, FEW_THREADS);
    measure(&graph, BRAID_ISLANDS_WHOLE);
    for (uint32_t i = 0; i < ISLAND_NODES; i++)
        assert_int_equal(graph_measured_of(graph.made.graph, i).inside_ns, 0);
    close_graph(&graph);
}

static void times_inside_decide(void **state)
{
    (void)state;
    struct measured_graph graph;
    open_graph(&graph, WHOLE_BLOCK);
    set_measured(&graph, COST_NS, 0);
    assert_false(becomes_an_island(&graph));
    set_measured(&graph, COST_NS, COST_NS * 9 / 10);
    assert_true(becomes_an_island(&graph));
    set_measured(&graph, COST_NS / 100, 0);
    assert_true(becomes_an_island(&graph));
    set_measured(&graph, COST_NS / 100, COST_NS / 20);
    assert_false(becomes_an_island(&graph));
    close_graph(&graph);
}

// So that other plans do not start from times inside.
static void tuning_measures_nodes_outside_too(void **state)
{
    (void)state;
    struct measured_graph graph;
    uint64_t frame_ns;
    open_graph(&graph, WHOLE_BLOCK);
    for (uint32_t i = 0; i < ISLAND_NODES; i++) // one lane of an island is made of these
        check_ok(braid_graph_set_cost(graph.made.graph, graph.made.nodes[i], 1));
    assert_true(becomes_an_island(&graph));
    const braid_tune_options options = { .budget_ns = UINT64_MAX };
    check_ok(braid_tune_measure(graph.frame.device, graph.made.graph, &options, &frame_ns));
    for (uint32_t i = 0; i < ISLAND_NODES; i++) {
        const struct graph_measured measured = graph_measured_of(graph.made.graph, i);
        assert_in_range(measured.outside_ns, 1, UINT64_MAX);
        assert_in_range(measured.inside_ns, 1, UINT64_MAX);
    }
    close_graph(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(costs_elsewhere_stay),
        standin_test(an_island_alone_gives_the_costs),
        standin_test(calls_beside_others_tell_nothing_of_other_islands),
        standin_test(times_inside_decide),
        standin_test(tuning_measures_nodes_outside_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
