// SPDX-License-Identifier: Apache-2.0
// A plan is refused by a graph that differs in anything that planning reads, and told why.
#include "saved/saved_testing.h"

static uint32_t words[4];

// What one graph has otherwise than the other.
struct variant {
    uint32_t num_nodes, hint, bundled, times;
    uint64_t cost_ns;
    braid_access_mode mode;
    const char *name;
    bool has_edge, has_second_loop;
    uint64_t offset; // where the range begins that the last node writes
};

static const struct variant usual = { .num_nodes = 4,
                                      .times = 3,
                                      .cost_ns = 10,
                                      .mode = BRAID_WRITE,
                                      .name = "first",
                                      .has_edge = true };

static braid_graph *make_variant(const struct variant *variant)
{
    braid_graph *graph = own_graph();
    braid_resource buffer, part;
    braid_node nodes[8];
    check_ok(braid_graph_add_buffer(graph, "words", words, sizeof(words), &buffer));
    check_ok(braid_graph_add_range(graph, buffer, variant->offset, 4, &part));
    const braid_access whole = { buffer, variant->mode }, of_part = { part, BRAID_WRITE };
    for (uint32_t i = 0; i < variant->num_nodes; i++) {
        braid_empty node = { .node = { .name = i ? "node" : variant->name, .cost_ns = 10 } };
        node.node.cost_ns = i == 1 ? variant->cost_ns : 10;
        node.node.lane_hint = i == 1 ? variant->hint : 0;
        node.node.accesses = i == 2 ? &whole : &of_part;
        node.node.num_accesses = i >= 2;
        if (i == 3 && variant->bundled)
            node.node.prelude_of = nodes[2];
        check_ok(braid_graph_add_empty(graph, &node, &nodes[i]));
    }
    if (variant->has_edge)
        new_edge(graph, nodes[0], nodes[1]);
    for (int i = 0; i <= variant->has_second_loop; i++) {
        check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = variant->times }, NULL));
        new_node(graph, "inside", 10, NO_NODE, NO_NODE);
        check_ok(braid_graph_end(graph));
    }
    return graph;
}

static void each_difference_is_told(void **state)
{
    (void)state;
    struct variant variants[10];
    for (int i = 0; i < 10; i++)
        variants[i] = usual;
    variants[0].num_nodes = 5;
    variants[1].has_edge = false;
    variants[2].mode = BRAID_READ;
    variants[3].name = "other";
    variants[4].times = 4;
    variants[5].cost_ns = 11;
    variants[6].hint = 1;
    variants[7].bundled = 1;
    variants[8].has_second_loop = true;
    variants[9].offset = 8; // as right: both are in the buffer that the other node writes
    static const char *const texts[] = { "of 6 nodes, and this has 7",
                                         "of digest",
                                         "of digest",
                                         "of digest",
                                         "of digest",
                                         "a cost or a number of threads in region 1 differs",
                                         "an edge, bundle or lane hint of region 1 differs",
                                         "of digest",
                                         "of 6 nodes, and this has 8" };
    save_plan(make_variant(&usual), &free_costs, 2);
    for (int i = 0; i < 9; i++) {
        braid_schedule *schedule = NULL;
        check_fails(braid_schedule_load(make_variant(&variants[i]), saved_path, &schedule),
                    BRAID_INVALID_ARGUMENT, texts[i]);
        assert_null(schedule);
    }
    braid_schedule_destroy(load_plan(make_variant(&variants[9])));
    braid_schedule_destroy(load_plan(make_variant(&usual)));
}

// Two nodes of ranges that overlap in one graph alone, which nothing else tells apart.
static braid_graph *make_ranges(uint64_t offset)
{
    braid_graph *graph = own_graph();
    braid_resource buffer, parts[2];
    check_ok(braid_graph_add_buffer(graph, "words", words, sizeof(words), &buffer));
    check_ok(braid_graph_add_range(graph, buffer, 0, 4, &parts[0]));
    check_ok(braid_graph_add_range(graph, buffer, offset, 4, &parts[1]));
    for (int i = 0; i < 2; i++)
        new_user(graph, "node", parts[i], BRAID_WRITE, NO_RESOURCE, 0);
    return graph;
}

static void ranges_count_where_they_order_nodes(void **state)
{
    (void)state;
    braid_schedule *schedule;
    save_plan(make_ranges(8), &free_costs, 2);
    check_fails(braid_schedule_load(make_ranges(0), saved_path, &schedule), BRAID_INVALID_ARGUMENT,
                "an edge, bundle or lane hint of region 0 differs");
    braid_schedule_destroy(load_plan(make_ranges(12)));
}

// The file has the options and the costs, so the planner needs neither.
static void options_come_from_the_file(void **state)
{
    (void)state;
    braid_graph *graph = chains(4, 3, 10);
    check_ok(braid_graph_set_cost(graph, braid_graph_get_node(graph, 0), 500));
    braid_schedule *saved = own_schedule(
        graph,
        &(braid_schedule_options){ .costs = &free_costs, .max_lanes = 3, .ignore_costs = true });
    check_ok(braid_schedule_save(saved, graph, saved_path));
    check_ok(braid_graph_set_cost(graph, braid_graph_get_node(graph, 0), 900));
    braid_schedule_destroy(load_plan(graph)); // costs that are ignored are no difference
    new_node(graph, "another", 1, NO_NODE, NO_NODE);
    check_fails(braid_schedule_save(saved, graph, saved_path), BRAID_INVALID_ARGUMENT,
                "the graph changed after the schedule was made");
    check_fails(braid_schedule_save(saved, own_graph(), saved_path), BRAID_INVALID_ARGUMENT,
                "the schedule is of another graph");
}

// The nodes that no output needs are in no plan, nor is a loop of them.
static braid_graph *make_outputs(bool has_both)
{
    braid_graph *graph = own_graph();
    braid_resource buffers[2];
    for (int i = 0; i < 2; i++) {
        check_ok(braid_graph_add_buffer(graph, "word", &words[i], 4, &buffers[i]));
        if (i)
            check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 3 }, NULL));
        new_user(graph, "node", buffers[i], BRAID_WRITE, NO_RESOURCE, 0);
        if (i)
            check_ok(braid_graph_end(graph));
    }
    for (int i = 0; i <= has_both; i++)
        check_ok(braid_graph_set_output(graph, buffers[i]));
    return graph;
}

static void outputs_count(void **state)
{
    (void)state;
    braid_schedule *schedule;
    save_plan(make_outputs(false), &free_costs, 2);
    braid_schedule_destroy(load_plan(make_outputs(false)));
    check_fails(braid_schedule_load(make_outputs(true), saved_path, &schedule),
                BRAID_INVALID_ARGUMENT, "0 loops and arms are planned in it, and not so many here");
    save_plan(make_outputs(true), &free_costs, 2);
    braid_schedule_destroy(load_plan(make_outputs(true)));
    check_fails(braid_schedule_load(make_outputs(false), saved_path, &schedule),
                BRAID_INVALID_ARGUMENT, "1 loops and arms are planned in it, and not so many here");
}

static void plans_for_several_places(void **state)
{
    (void)state;
    const braid_place_model places = { .num_places = 2 };
    braid_graph *graph = chains(4, 3, 1000);
    braid_schedule *schedule =
        own_schedule(graph, &(braid_schedule_options){ .costs = &free_costs, .places = &places });
    check_fails(braid_schedule_save(schedule, graph, saved_path), BRAID_UNSUPPORTED,
                "the schedule is for several places");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(each_difference_is_told),    owning_test(ranges_count_where_they_order_nodes),
        owning_test(options_come_from_the_file), owning_test(outputs_count),
        owning_test(plans_for_several_places),
    };
    return cmocka_run_group_tests(tests, saved_begin, saved_end);
}
