// SPDX-License-Identifier: Apache-2.0
// An argument may be an access as well: its address and its edges are those of a resource that is
// written as both, and what is wrong with it is said of the argument.
#include <string.h>

#include <braid/graph.h>
#include <braid/schedule.h>

#include "graph/graph.h"
#include "support/check.h"
#include "support/wide_plan.h"

static void run(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = run };
static const braid_kernel one = { .name = "one", .cpu = run };
static char memory[64];

struct setting {
    braid_graph *graph;
    braid_resource buffer, half, transient;
};

static struct setting make_setting(void)
{
    struct setting s = { 0 };
    check_ok(braid_graph_create(&s.graph));
    check_ok(braid_graph_add_buffer(s.graph, "buffer", memory, sizeof(memory), &s.buffer));
    check_ok(braid_graph_add_range(s.graph, s.buffer, 32, 32, &s.half));
    check_ok(braid_graph_add_transient(s.graph, "transient", 8, 0, &s.transient));
    return s;
}

static braid_node add(struct setting *s, braid_arg first, braid_arg second)
{
    const float dt = 1;
    braid_node node;
    check_ok(braid_graph_add_kernel(
        s->graph,
        &(braid_kernel_node){ .kernel = &kernel, BRAID_ARGS(first, BRAID_ARG(dt), second) },
        &node));
    return node;
}

static void check_order(const braid_graph *graph, braid_node from, braid_node to, const char *why)
{
    braid_schedule *schedule;
    char text[200];
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    check_ok(braid_schedule_explain(schedule, (braid_node[]){ from, to }, 2, text, sizeof(text)));
    assert_non_null(strstr(text, why));
    braid_schedule_destroy(schedule);
}

static void edges_follow_from_them(void **state)
{
    (void)state;
    struct setting s = make_setting();
    braid_node first = add(&s, BRAID_OUT(s.transient), BRAID_IN(s.half));
    braid_node second = add(&s, BRAID_INOUT(s.half), BRAID_IN(s.transient));
    braid_node third = add(&s, BRAID_IN(s.buffer), BRAID_IN(s.buffer));
    check_order(s.graph, first, second, "data in transient (written by kernel");
    check_order(s.graph, second, third, "data in ");
    const struct graph_node *nodes = graph_nodes(s.graph);
    assert_int_equal(nodes[0].num_accesses, 2);
    const struct graph_access *accesses = s.graph->accesses.items;
    assert_int_equal(accesses[nodes[1].first_access].mode, BRAID_READ_WRITE);
    assert_int_equal(accesses[nodes[1].first_access].resource, s.half.index);
    braid_graph_destroy(s.graph);
}

static void their_addresses_are_those_of_the_resources(void **state)
{
    (void)state;
    struct setting s = make_setting();
    add(&s, BRAID_OUT(s.buffer), BRAID_INOUT(s.half));
    const char *const *bytes = s.graph->arg_bytes.items;
    assert_ptr_equal(bytes[0], memory);
    assert_ptr_equal(*(const char *const *)((const char *)s.graph->arg_bytes.items +
                                            graph_arg_stride(sizeof(void *)) +
                                            graph_arg_stride(sizeof(float))),
                     memory + 32);
    braid_graph_destroy(s.graph);
}

static void other_accesses_stay(void **state)
{
    (void)state;
    struct setting s = make_setting();
    braid_resource list;
    check_ok(braid_graph_add_resource(s.graph, "list", &list));
    braid_kernel_node launch = { .kernel = &one,
                                 BRAID_ACCESSES({ list, BRAID_EXCLUSIVE }),
                                 BRAID_ARGS(BRAID_OUT(s.half)) };
    check_ok(braid_graph_add_kernel(s.graph, &launch, NULL));
    assert_int_equal(graph_nodes(s.graph)[0].num_accesses, 2);
    assert_int_equal(launch.node.num_accesses, 1); // what the program gave is its own
    braid_graph_destroy(s.graph);
}

static void mistakes_are_those_of_the_argument(void **state)
{
    (void)state;
    struct setting s = make_setting(), other = make_setting();
    braid_resource list, spare, none = { 0 };
    const void *pointer = &s;
    check_ok(braid_graph_add_resource(s.graph, "list", &list));
    check_ok(braid_graph_add_scratch(s.graph, "spare", 8, 0, &spare));
    const struct {
        braid_arg arg;
        const char *message;
    } wrong[] = {
        { BRAID_IN(other.half), "argument 0 (resource 1 of graph" },
        { BRAID_IN(none), "argument 0 (resource 0 of graph 0) is not a resource" },
        { BRAID_IN(list), "argument 0" },
        { BRAID_OUT(spare), "is scratch" },
        { { NULL, 0, BRAID_ARG_RESOURCE, BRAID_READ }, "argument 0 is NULL" },
        { { &s.half, 0, BRAID_ARG_RESOURCE, (braid_access_mode)6 },
          "argument 0 has the unknown access 6" },
        { { &s.half, 0, BRAID_ARG_RESOURCE, (braid_access_mode)-1 },
          "argument 0 has the unknown access -1" },
        { { &s.half, 4, BRAID_ARG_RESOURCE, BRAID_READ },
          "argument 0 has 4 bytes, and its kind 8" },
        { { &pointer, sizeof(pointer), BRAID_ARG_VALUE, BRAID_READ },
          "argument 0 has an access, and is no resource" },
        { { &pointer, 0, BRAID_ARG_UNCHECKED_POINTER, BRAID_WRITE },
          "argument 0 has an access, and is no resource" },
        { { &pointer, 4, BRAID_ARG_UNCHECKED_POINTER }, "argument 0 has 4 bytes, and its kind 8" },
        { { NULL, 0, BRAID_ARG_UNCHECKED_POINTER }, "argument 0 is NULL" },
        { { &pointer, 0, BRAID_ARG_TRAP }, "argument 0 is a trap with data" },
        { { NULL, 8, BRAID_ARG_TRAP }, "argument 0 has 8 bytes, and its kind 0" },
        { { &pointer, sizeof(pointer), (braid_arg_kind)4 }, "argument 0 has the unknown kind 4" },
        { { &pointer, sizeof(pointer), (braid_arg_kind)-1 }, "argument 0 has the unknown kind -1" },
        { { &pointer, (size_t)-1 }, "argument 0 has 18446744073709551615 bytes" },
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        check_fails(
            braid_graph_add_kernel(
                s.graph, &(braid_kernel_node){ .kernel = &one, BRAID_ARGS(wrong[i].arg) }, NULL),
            BRAID_INVALID_ARGUMENT, wrong[i].message);
    assert_int_equal(braid_graph_get_num_nodes(s.graph), 0);
    braid_graph_destroy(s.graph);
    braid_graph_destroy(other.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_follow_from_them),
        cmocka_unit_test(their_addresses_are_those_of_the_resources),
        cmocka_unit_test(other_accesses_stay),
        cmocka_unit_test(mistakes_are_those_of_the_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
