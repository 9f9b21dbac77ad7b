// SPDX-License-Identifier: Apache-2.0
// HIP has no islands, no driver graphs, no grids that are read from memory, no clusters
// and no priorities of kernels. An exec that asks for one is refused with the option or the node in
// the message; no exec gets islands by itself. A priority of a node is a hint: the exec tells that
// it has no effect.
#include <string.h>

#include "gpu/frame.h"
#include "support/check.h"

enum { CHAIN = 6, FRAMES = 3 };

struct setup {
    struct frame frame;
    braid_graph *graph;
};

// Short kernels in a row: CUDA makes them one island.
static struct setup make_chain(void)
{
    struct setup setup = { 0 };
    braid_node last;
    uint32_t one = 1;
    check_ok(frame_open(&setup.frame, "hip"));
    check_ok(braid_graph_create(&setup.graph));
    for (uint32_t i = 0; i <= CHAIN; i++)
        setup.frame.words[i] = 0;
    for (uint32_t i = 0; i < CHAIN; i++) {
        uint32_t *from = setup.frame.words + i, *to = from + 1;
        const braid_kernel_node launch = {
            .node = { .after = &last, .num_after = i > 0, .cost_ns = 1000 },
            .kernel = &sum_kernel,
            BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(from), BRAID_ARG(from), BRAID_ARG(one)),
        };
        check_ok(braid_graph_add_kernel(setup.graph, &launch, &last));
    }
    return setup;
}

static void finish(struct setup *setup)
{
    braid_graph_destroy(setup->graph);
    frame_finish(&setup->frame);
}

static void check_refused(const struct setup *setup, braid_exec_options options,
                          const char *message)
{
    braid_exec *exec = NULL;
    check_fails(braid_exec_create(setup->frame.device, setup->graph, &options, &exec),
                BRAID_UNSUPPORTED, message);
    assert_null(exec);
}

static void islands_that_are_asked_for_are_refused(void **state)
{
    (void)state;
    struct setup setup = make_chain();
    check_refused(&setup, (braid_exec_options){ .islands = BRAID_ISLANDS_WHOLE },
                  "hip:0 has no islands, and the option islands asks for one");
    check_refused(&setup, (braid_exec_options){ .islands = BRAID_ISLANDS_ALWAYS },
                  "hip:0 has no islands, and the option islands asks for them");
    finish(&setup);
}

static void run(const struct setup *setup, braid_exec_options options)
{
    braid_exec *exec = NULL;
    braid_exec_info info;
    check_ok(braid_exec_create(setup->frame.device, setup->graph, &options, &exec));
    braid_exec_get_info(exec, &info);
    assert_int_equal(info.num_islands, 0);
    for (int i = 0; i < FRAMES; i++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(setup->frame.words[CHAIN], (1 << CHAIN) - 1);
    if (options.frames_kept) {
        braid_timings timings;
        check_ok(braid_exec_get_timings(exec, &timings));
        assert_int_equal(timings.frames_kept, FRAMES);
    }
    braid_exec_destroy(exec);
}

static void no_islands_are_made_unasked(void **state)
{
    (void)state;
    struct setup setup = make_chain();
    run(&setup, (braid_exec_options){ .mode = BRAID_MODE_AUTO });
    finish(&setup);
}

static void driver_graphs_are_refused(void **state)
{
    (void)state;
    struct setup setup = make_chain();
    check_refused(&setup, (braid_exec_options){ .mode = BRAID_MODE_GRAPH },
                  "hip:0 has no graph replay: HIP's driver graphs lose edges or block in some "
                  "versions");
    run(&setup, (braid_exec_options){ .mode = BRAID_MODE_STREAMS, .frames_kept = FRAMES });
    finish(&setup);
}

static void grids_are_not_read_from_memory(void **state)
{
    (void)state;
    struct setup setup = make_chain();
    const uint32_t *words = setup.frame.words;
    static const braid_kernel reader = { .name = "reader",
                                         .source = "extern \"C\" __global__ void reader() {}\n" };
    const braid_kernel_node launch = { .node = { .name = "sparse" },
                                       .kernel = &reader,
                                       .grid_from = words };
    check_ok(braid_graph_add_kernel(setup.graph, &launch, NULL));
    check_refused(&setup, (braid_exec_options){ 0 },
                  "'sparse': kernel 'reader' cannot read its grid from memory: its device changes "
                  "no kernels");
    finish(&setup);
}

static void add_sum(const struct setup *setup, braid_kernel_node launch)
{
    uint32_t *words = (uint32_t *)setup->frame.words, one = 1;
    const braid_arg args[] = { BRAID_ARG(words), BRAID_ARG(words), BRAID_ARG(words),
                               BRAID_ARG(one) };
    launch.kernel = &sum_kernel;
    launch.args = args;
    launch.num_args = 4;
    check_ok(braid_graph_add_kernel(setup->graph, &launch, NULL));
}

static void clusters_are_refused_before_a_launch(void **state)
{
    (void)state;
    struct setup setup = make_chain();
    add_sum(&setup, (braid_kernel_node){ .node.name = "paired", .cluster = { 1, 1, 1 } });
    for (braid_exec_mode mode = BRAID_MODE_AUTO; mode <= BRAID_MODE_STREAMS; mode++)
        check_refused(&setup, (braid_exec_options){ .mode = mode },
                      "'paired': it has a cluster, and hip:0 has no clusters");
    finish(&setup);
}

static void the_exec_tells_of_a_priority_without_effect(void **state)
{
    (void)state;
    struct setup setup = make_chain();
    for (int has_own = 0; has_own < 2; has_own++) {
        braid_exec *exec = NULL;
        braid_exec_info info;
        if (has_own)
            add_sum(&setup, (braid_kernel_node){ .node.name = "urgent", .priority = -1 });
        check_ok(braid_exec_create(setup.frame.device, setup.graph,
                                   &(braid_exec_options){ .priority = -2 }, &exec));
        braid_exec_get_info(exec, &info);
        assert_int_equal(strstr(info.reason, "not that of node 6 'urgent'") != NULL, has_own);
        braid_exec_destroy(exec);
    }
    finish(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(islands_that_are_asked_for_are_refused),
        cmocka_unit_test(no_islands_are_made_unasked),
        cmocka_unit_test(driver_graphs_are_refused),
        cmocka_unit_test(grids_are_not_read_from_memory),
        cmocka_unit_test(clusters_are_refused_before_a_launch),
        cmocka_unit_test(the_exec_tells_of_a_priority_without_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
