// SPDX-License-Identifier: Apache-2.0
// A bundle is one unit: preludes, main node, epilogues, at the main node's place in insertion
// order.
#include <stdlib.h>

#include "graph/graph_state.h"
#include "graph/links.h"
#include "support/check.h"

static void cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = cpu };

static int set_up(void **state)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    *state = graph;
    return 0;
}

static int tear_down(void **state)
{
    braid_graph_destroy(*state);
    return 0;
}

static braid_node add(braid_graph *graph, const char *name)
{
    braid_node node;
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ .node.name = name }, &node));
    return node;
}

static void check_members(const braid_graph *graph, const uint32_t *members, const uint32_t *units,
                          uint32_t num_units)
{
    struct graph_units found;
    check_ok(braid_graph_find_units(graph, &found));
    assert_int_equal(found.num_units, num_units);
    assert_int_equal(found.first_of[0], 0);
    assert_int_equal(found.first_of[num_units], graph_num_nodes(graph));
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        assert_int_equal(found.members[i], members[i]);
        assert_int_equal(found.unit_of[members[i]], units[i]);
    }
    braid_graph_units_finish(&found);
}

static void without_bundles_every_node_is_a_unit(void **state)
{
    braid_graph *graph = *state;
    add(graph, "a");
    add(graph, "b");
    add(graph, "c");
    check_members(graph, (uint32_t[]){ 0, 1, 2 }, (uint32_t[]){ 0, 1, 2 }, 3);
}

static void an_empty_graph_has_no_units(void **state)
{
    check_members(*state, NULL, NULL, 0);
}

// Added late and mixed.
static void preludes_run_before_and_epilogues_after_in_the_order_of_adding(void **state)
{
    braid_graph *graph = *state;
    braid_node first = add(graph, "first");   // 0
    braid_node second = add(graph, "second"); // 1
    braid_kernel_node behind = { .kernel = &kernel, .node.epilogue_of = first };
    check_ok(braid_graph_add_kernel(graph, &behind, NULL)); // 2
    braid_kernel_node before = { .kernel = &kernel, .node.prelude_of = second };
    check_ok(braid_graph_add_kernel(graph, &before, NULL)); // 3
    before.node.prelude_of = first;
    check_ok(braid_graph_add_kernel(graph, &before, NULL)); // 4
    add(graph, "third");                                    // 5
    braid_empty prelude = { .node.prelude_of = first };
    check_ok(braid_graph_add_empty(graph, &prelude, NULL)); // 6
    braid_empty epilogue = { .node.epilogue_of = first };
    check_ok(braid_graph_add_empty(graph, &epilogue, NULL)); // 7
    check_members(graph, (uint32_t[]){ 4, 6, 0, 2, 7, 3, 1, 5 },
                  (uint32_t[]){ 0, 0, 0, 0, 0, 1, 1, 2 }, 3);
}

static void accesses_of_a_late_prelude_count_at_its_main_nodes_place(void **state)
{
    braid_graph *graph = *state;
    braid_resource list;
    check_ok(braid_graph_add_resource(graph, "list", &list));
    braid_node loop = add(graph, "loop");
    braid_empty reader = { .node.name = "reader", BRAID_ACCESSES({ list, BRAID_READ }) };
    check_ok(braid_graph_add_empty(graph, &reader, NULL));
    braid_kernel_node clear = { .kernel = &kernel,
                                .node.name = "clear",
                                BRAID_ACCESSES({ list, BRAID_WRITE }) };
    clear.node.prelude_of = loop;
    check_ok(braid_graph_add_kernel(graph, &clear, NULL));
    check_links(graph, "clear->reader read after write of list");
}

static void members_of_one_bundle_get_no_edges_among_themselves(void **state)
{
    braid_graph *graph = *state;
    braid_resource list;
    check_ok(braid_graph_add_resource(graph, "list", &list));
    braid_empty loop = { .node.name = "loop", BRAID_ACCESSES({ list, BRAID_READ }) };
    braid_node main;
    check_ok(braid_graph_add_empty(graph, &loop, &main));
    braid_kernel_node clear = { .kernel = &kernel,
                                .node.name = "clear",
                                BRAID_ACCESSES({ list, BRAID_WRITE }) };
    clear.node.prelude_of = main;
    check_ok(braid_graph_add_kernel(graph, &clear, NULL));
    check_links(graph, "");
}

// Hazard of every sparse compiler: the lists are shared, so the bundles are not free.
static void two_loops_whose_preludes_write_one_list_get_an_edge(void **state)
{
    braid_graph *graph = *state;
    braid_resource list;
    check_ok(braid_graph_add_resource(graph, "list", &list));
    const char *names[2][2] = { { "clear1", "loop1" }, { "clear2", "loop2" } };
    for (int i = 0; i < 2; i++) {
        braid_empty loop = { .node.name = names[i][1], BRAID_ACCESSES({ list, BRAID_READ }) };
        braid_node main;
        check_ok(braid_graph_add_empty(graph, &loop, &main));
        braid_kernel_node clear = { .kernel = &kernel,
                                    .node.name = names[i][0],
                                    BRAID_ACCESSES({ list, BRAID_WRITE }) };
        clear.node.prelude_of = main;
        check_ok(braid_graph_add_kernel(graph, &clear, NULL));
    }
    check_links(graph, "loop1->clear2 write after read of list");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_bundles_every_node_is_a_unit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_graph_has_no_units, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            preludes_run_before_and_epilogues_after_in_the_order_of_adding, set_up, tear_down),
        cmocka_unit_test_setup_teardown(accesses_of_a_late_prelude_count_at_its_main_nodes_place,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(members_of_one_bundle_get_no_edges_among_themselves, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(two_loops_whose_preludes_write_one_list_get_an_edge, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("bundles stand where their main node stands", tests, NULL,
                                       NULL);
}
