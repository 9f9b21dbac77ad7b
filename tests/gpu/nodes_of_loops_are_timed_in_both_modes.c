// SPDX-License-Identifier: Apache-2.0
// On streams a node in a loop or branch is timed as in a driver graph, and its cost is the same.
#include <braid/timings.h>

#include "gpu/gpu_testing.h"
#include "graph/graph.h"
#include "support/check.h"

enum { kept = 3, num_times = 4 };

struct looped {
    struct frame frame;
    braid_graph *graph;
    braid_node loop, kernel, copy, branch, taken, left_out;
    braid_exec *exec;
};

static braid_node add_sum(struct looped *looped, uint32_t to, uint32_t from)
{
    braid_node node;
    const uint32_t one = 1;
    uint32_t *sum = looped->frame.words + to, *word = looped->frame.words + from;
    const braid_kernel_node launch = { .kernel = &sum_kernel,
                                       BRAID_ARGS(BRAID_ARG(sum), BRAID_ARG(word), BRAID_ARG(word),
                                                  BRAID_ARG(one)) };
    check_ok(braid_graph_add_kernel(looped->graph, &launch, &node));
    return node;
}

// A kernel and a copy behind it, again and again, and then one of two kernels.
static void fill_graph(struct looped *looped)
{
    braid_graph *graph = looped->graph;
    uint32_t *words = looped->frame.words;
    braid_resource condition;
    check_ok(braid_graph_add_buffer(graph, "condition", words, sizeof(*words), &condition));
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = num_times }, &looped->loop));
    looped->kernel = add_sum(looped, 1, 2);
    const braid_copy copy = { .node = { .after = &looped->kernel, .num_after = 1 },
                              .to = words + 3,
                              .from = words + 1,
                              .bytes = 4 };
    check_ok(braid_graph_add_copy(graph, &copy, &looped->copy));
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_begin_if(graph, &(braid_if){ .condition = condition }, &looped->branch));
    looped->taken = add_sum(looped, 4, 5);
    check_ok(braid_graph_else(graph));
    looped->left_out = add_sum(looped, 6, 7);
    check_ok(braid_graph_end(graph));
}

static void open_looped(struct looped *looped, braid_exec_mode mode)
{
    reset_standin();
    *looped = (struct looped){ 0 };
    check_ok(frame_open(&looped->frame, "cuda"));
    looped->frame.words[0] = 1; // the condition
    looped->graph = own_graph();
    fill_graph(looped);
    const braid_exec_options options = { .mode = mode,
                                         .islands = BRAID_ISLANDS_NEVER,
                                         .frames_kept = kept };
    check_ok(braid_exec_create(looped->frame.device, looped->graph, &options, &looped->exec));
}

static void close_looped(struct looped *looped)
{
    braid_exec_destroy(looped->exec);
    frame_finish(&looped->frame);
    check_nothing_is_left();
}

static void check_node(const braid_timings *timings, braid_node node, uint64_t num_runs,
                       braid_timed_by timed_by)
{
    const braid_node_timing *timing = &timings->nodes[node.index];
    assert_int_equal(timing->num_runs, num_runs);
    assert_int_equal(timing->timed_by, timed_by);
}

static void runs_are_counted_and_kernels_timed_inside(void **state)
{
    (void)state;
    for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        struct looped looped;
        braid_timings timings;
        open_looped(&looped, (braid_exec_mode)mode);
        for (int i = 0; i < kept + 2; i++)
            check_ok(braid_exec_launch(looped.exec, i % 2 ? looped.frame.stream : NULL));
        check_ok(braid_exec_get_timings(looped.exec, &timings));
        check_node(&timings, looped.loop, kept, BRAID_TIMED_AROUND);
        check_node(&timings, looped.kernel, kept * num_times, BRAID_TIMED_INSIDE);
        check_node(&timings, looped.copy, kept * num_times, BRAID_TIMED_AROUND);
        check_node(&timings, looped.branch, kept, BRAID_TIMED_AROUND);
        check_node(&timings, looped.taken, kept, BRAID_TIMED_INSIDE);
        check_node(&timings, looped.left_out, 0, BRAID_TIMED_NOT);
        close_looped(&looped);
    }
}

// Two kernels of 500 ns stand around the copy. A stamp is 32 ns long.
static void costs_have_what_a_driver_graph_adds(void **state)
{
    (void)state;
    enum { added_ns = 1000, least_ns = 32 };
    for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        struct looped looped;
        braid_timings timings;
        open_looped(&looped, (braid_exec_mode)mode);
        check_ok(braid_exec_measure(looped.exec, looped.graph, kept));
        check_ok(braid_exec_get_timings(looped.exec, &timings));
        uint64_t ns = timings.nodes[looped.copy.index].time.median_ns;
        uint64_t cost_ns = ns > added_ns + least_ns ? ns - added_ns : least_ns;
        assert_int_equal(graph_nodes(looped.graph)[looped.copy.index].cost_ns, cost_ns);
        close_looped(&looped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(runs_are_counted_and_kernels_timed_inside),
        standin_test(costs_have_what_a_driver_graph_adds),
    };
    return cmocka_run_group_tests_name("nodes_of_loops_are_timed_in_both_modes", tests, NULL, NULL);
}
