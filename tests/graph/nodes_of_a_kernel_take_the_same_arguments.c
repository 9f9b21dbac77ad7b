// SPDX-License-Identifier: Apache-2.0
// A kernel has one list of parameters: a node that gives it other arguments is refused when it is
// added, and the message says whether their number or a size is wrong.
#include <braid/braid.h>

#include "support/check.h"

static void on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static const braid_kernel sum = { .name = "sum", .cpu = on_cpu };
static const braid_kernel other = { .name = "other", .cpu = on_cpu };

static void other_counts_and_sizes_are_refused(void **state)
{
    (void)state;
    int number = 1;
    double wide = 2;
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    const braid_kernel_node one = { .kernel = &sum,
                                    .node.name = "first",
                                    BRAID_ARGS(BRAID_ARG(number)) };
    const braid_kernel_node two = { .kernel = &sum,
                                    .node.name = "second",
                                    BRAID_ARGS(BRAID_ARG(number), BRAID_ARG(number)) };
    const braid_kernel_node wider = { .kernel = &sum,
                                      .node.name = "third",
                                      BRAID_ARGS(BRAID_ARG(wide)) };
    const braid_kernel_node none = { .kernel = &sum };
    const braid_kernel_node another = { .kernel = &other, BRAID_ARGS(BRAID_ARG(wide)) };
    check_ok(braid_graph_add_kernel(graph, &one, NULL));
    check_fails(braid_graph_add_kernel(graph, &two, NULL), BRAID_INVALID_ARGUMENT,
                "node 'second': 2 arguments for kernel 'sum', to which node 0 'first' gives 1");
    check_fails(braid_graph_add_kernel(graph, &wider, NULL), BRAID_INVALID_ARGUMENT,
                "node 'third': argument 0 of kernel 'sum' has 8 bytes, and 4 in node 0 'first'");
    check_fails(braid_graph_add_kernel(graph, &none, NULL), BRAID_INVALID_ARGUMENT, "0 arguments");
    assert_int_equal(braid_graph_get_num_nodes(graph), 1);
    check_ok(braid_graph_add_kernel(graph, &another, NULL));
    check_ok(braid_graph_add_kernel(graph, &one, NULL));
    assert_int_equal(braid_graph_get_num_nodes(graph), 3);
    braid_graph_destroy(graph);
}

// A refused node is no node that later ones are compared with.
static void the_first_node_that_was_added_decides(void **state)
{
    (void)state;
    enum { NUM_KERNELS = 200 };
    braid_kernel kernels[NUM_KERNELS];
    int number = 1;
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < NUM_KERNELS; i++) {
        kernels[i] = sum;
        const braid_kernel_node refused = {
            .kernel = &kernels[i], .node = { .after = &(braid_node){ 0 }, .num_after = 1 }
        };
        const braid_kernel_node launch = { .kernel = &kernels[i], BRAID_ARGS(BRAID_ARG(number)) };
        check_fails(braid_graph_add_kernel(graph, &refused, NULL), BRAID_INVALID_ARGUMENT,
                    ".after");
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    }
    for (int i = 0; i < NUM_KERNELS; i++)
        check_fails(
            braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &kernels[i] }, NULL),
            BRAID_INVALID_ARGUMENT, "0 arguments for kernel 'sum'");
    braid_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_counts_and_sizes_are_refused),
        cmocka_unit_test(the_first_node_that_was_added_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
