// SPDX-License-Identifier: Apache-2.0
// A loop or branch whose nodes are narrow is one kernel, with those inside it; others are nodes of
// the driver's. That holds with times as well.
#include <stdlib.h>
#include <string.h>

#include <braid/timings.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"
#include "support/wide_plan.h"

enum { MOST_STEPS = 4, NUM_WORDS = 3 + MOST_STEPS };

// What a loop is like. Each step adds 1 to a word of its own, so that steps are on lanes of their
// own where the plan has some; then the condition goes down by 1.
struct shape {
    uint32_t num_steps, grid; // blocks of each step
    uint32_t begin;           // the condition before the loop
    uint32_t around;          // times of a loop around it; 0: there is none
    uint32_t grid_around;     // blocks of a node in that
    bool tests_first;
    braid_exec_options options;
};

struct looped {
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    uint32_t *memory, *read;
    braid_resource words[NUM_WORDS]; // condition, minus 1, 0, and the steps'
    braid_node loop, step, around;
};

static void fill(struct looped *looped, uint32_t word, uint32_t value)
{
    const braid_access access = { looped->words[word], BRAID_WRITE };
    const braid_fill node = {
        .node = { .accesses = &access, .num_accesses = 1 },
        .to = looped->memory + word,
        .value = value,
        .value_bytes = 4,
        .num_values = 1,
    };
    check_ok(braid_graph_add_fill(looped->graph, &node, NULL));
}

static void add(struct looped *looped, uint32_t to, uint32_t from, uint32_t c, uint32_t grid)
{
    const braid_access accesses[] = { { looped->words[to], BRAID_READ_WRITE },
                                      { looped->words[from], BRAID_READ } };
    uint32_t *at = looped->memory + to, *other = looped->memory + from;
    const braid_kernel_node node = {
        .node = { .accesses = accesses, .num_accesses = 2 },
        .kernel = &sum_kernel,
        .grid = { grid, 1, 1 },
        BRAID_ARGS(BRAID_ARG(at), BRAID_ARG(at), BRAID_ARG(other), BRAID_ARG(c)),
    };
    check_ok(braid_graph_add_kernel(looped->graph, &node, &looped->step));
}

static void add_loop(struct looped *looped, const struct shape *shape)
{
    fill(looped, 0, shape->begin);
    check_ok(braid_graph_begin_loop(looped->graph,
                                    &(braid_loop){ .node.name = "until 0",
                                                   .condition = looped->words[0],
                                                   .most = 100,
                                                   .tests_first = shape->tests_first },
                                    &looped->loop));
    for (uint32_t i = 0; i < shape->num_steps; i++)
        add(looped, 3 + i, 2, 1, shape->grid);
    add(looped, 0, 1, 0, 1);
    check_ok(braid_graph_end(looped->graph));
}

static struct looped make(const struct shape *shape)
{
    struct looped looped = { 0 };
    reset_standin();
    looped.device = own_device("cuda");
    looped.memory = own_memory(looped.device, BRAID_MEMORY_DEVICE, 4 * NUM_WORDS);
    looped.read = own_memory(looped.device, BRAID_MEMORY_HOST, 4 * NUM_WORDS);
    looped.graph = own_graph();
    for (uint32_t i = 0; i < NUM_WORDS; i++) {
        check_ok(
            braid_graph_add_buffer(looped.graph, "word", looped.memory + i, 4, &looped.words[i]));
        if (i)
            fill(&looped, i, i == 1 ? UINT32_MAX : 0);
    }
    if (shape->around) {
        const braid_loop around = { .node.name = "around", .times = shape->around };
        check_ok(braid_graph_begin_loop(looped.graph, &around, &looped.around));
        add(&looped, 2, 2, 0, shape->grid_around);
    }
    add_loop(&looped, shape);
    if (shape->around)
        check_ok(braid_graph_end(looped.graph));
    looped.exec = own_exec(looped.device, looped.graph, &shape->options);
    return looped;
}

static void run(struct looped *looped)
{
    check_ok(braid_exec_launch(looped->exec, NULL));
    check_ok(braid_exec_wait(looped->exec));
    check_ok(braid_stream_copy(braid_device_get_default_stream(looped->device), looped->read,
                               looped->memory, 4 * NUM_WORDS));
    check_ok(braid_stream_wait(braid_device_get_default_stream(looped->device)));
}

// How many loops the driver was given.
static long count_driver_loops(void)
{
    return standin_calls("cuGraphConditionalHandleCreate");
}

static void check_runs(struct looped *looped, uint64_t num_runs)
{
    braid_timings timings;
    check_ok(braid_exec_get_timings(looped->exec, &timings));
    const braid_node_timing *step = &timings.nodes[looped->step.index];
    assert_int_equal(step->num_runs, num_runs);
    assert_int_equal(step->timed_by, num_runs ? BRAID_TIMED_INSIDE : BRAID_TIMED_NOT);
    assert_true(step->time.least_ns <= step->mean_ns && step->mean_ns <= step->time.most_ns);
    if (!looped->around.graph) {
        assert_int_equal(timings.nodes[looped->loop.index].num_runs, timings.frames_kept);
        assert_true(timings.nodes[looped->loop.index].mean_ns * timings.frames_kept >=
                    step->mean_ns * num_runs);
    }
}

// Runs two frames, each of which does as many iterations.
static braid_exec_info run_shape(const struct shape *shape, uint64_t iterations)
{
    struct looped looped = make(shape);
    braid_exec_info info;
    braid_exec_get_info(looped.exec, &info);
    for (int frame = 0; frame < 2; frame++) {
        uint64_t num;
        run(&looped);
        check_ok(braid_exec_get_iterations(looped.exec, looped.loop, &num));
        assert_int_equal(num, iterations);
        assert_int_equal(looped.read[0], 0);
        for (uint32_t i = 0; i < shape->num_steps; i++)
            assert_int_equal(looped.read[3 + i], iterations);
        if (shape->options.frames_kept)
            check_runs(&looped, (uint64_t)(frame + 1) * iterations);
    }
    finish_standin();
    return info;
}

// Without times, and with them.
static braid_exec_info check_shape(struct shape shape, uint64_t iterations)
{
    braid_exec_info info = run_shape(&shape, iterations);
    shape.options.frames_kept = 2;
    braid_exec_info timed = run_shape(&shape, iterations);
    assert_int_equal(timed.num_islands, info.num_islands);
    assert_int_equal(timed.num_island_nodes, info.num_island_nodes);
    return info;
}

static void one_lane(void **state)
{
    (void)state;
    long before = count_driver_loops();
    braid_exec_info info = check_shape(
        (struct shape){ .num_steps = 3, .grid = 1, .begin = 5, .options.max_lanes = 1 }, 5);
    assert_int_equal(info.num_islands, 1);
    assert_int_equal(info.num_island_nodes, 4);
    assert_int_equal(count_driver_loops(), before);
}

static void several_lanes(void **state)
{
    (void)state;
    braid_exec_info info =
        check_shape((struct shape){ .num_steps = 4,
                                    .grid = 1,
                                    .begin = 7,
                                    .options = { .max_lanes = 4, .fixed_lanes = true } },
                    7);
    assert_int_equal(info.num_island_nodes, 5);
}

// Each lane has groups enough for the blocks of its nodes.
static void several_lanes_of_several_blocks(void **state)
{
    (void)state;
    braid_exec_info info =
        check_shape((struct shape){ .num_steps = 4,
                                    .grid = 2,
                                    .begin = 3,
                                    .options = { .max_lanes = 4, .fixed_lanes = true } },
                    3);
    assert_int_equal(info.num_island_nodes, 5);
}

static void no_iteration_at_all(void **state)
{
    (void)state;
    braid_exec_info info =
        check_shape((struct shape){ .num_steps = 2, .grid = 1, .tests_first = true }, 0);
    assert_int_equal(info.num_islands, 1);
}

// Iterations are those of the frame.
static void inside_a_loop_of_the_drivers(void **state)
{
    (void)state;
    long before = count_driver_loops();
    braid_exec_info info = check_shape(
        (struct shape){ .num_steps = 2, .grid = 1, .begin = 3, .around = 4, .grid_around = 3000 },
        12);
    assert_int_equal(info.num_islands, 1);
    assert_int_equal(info.num_island_nodes, 3);
    assert_int_equal(count_driver_loops(), before + 2); // one of each exec
}

static void inside_the_kernel_of_another_loop(void **state)
{
    (void)state;
    struct shape shape = { .num_steps = 4, .grid = 1, .begin = 3, .around = 4, .grid_around = 1 };
    for (uint32_t num_lanes = 1; num_lanes <= 4; num_lanes += 3) {
        long before = count_driver_loops();
        shape.options.max_lanes = num_lanes;
        shape.options.fixed_lanes = true;
        braid_exec_info info = check_shape(shape, 12);
        assert_int_equal(info.num_islands, 1);
        assert_int_equal(info.num_island_nodes, 7); // a fill, the node around, 4 steps, the count
        assert_int_equal(count_driver_loops(), before);
    }
}

static void check_iterations(struct looped *looped, uint64_t iterations)
{
    uint64_t num;
    run(looped);
    check_ok(braid_exec_get_iterations(looped->exec, looped->loop, &num));
    assert_int_equal(num, iterations);
}

// The island is made again when the node that ends the loop is disabled.
static void nodes_and_bounds_inside_change(void **state)
{
    (void)state;
    const struct shape shape = {
        .num_steps = 2, .grid = 1, .begin = 3, .around = 4, .grid_around = 1
    };
    struct looped looped = make(&shape);
    const bool off = false, on = true;
    const uint64_t most = 2, times = 5;
    check_iterations(&looped, 12);
    check_ok(braid_exec_set(looped.exec, looped.step, BRAID_TARGET_ENABLED, 0, &off));
    check_iterations(&looped, 400);
    check_ok(braid_exec_set(looped.exec, looped.loop, BRAID_TARGET_TIMES, 0, &most));
    check_iterations(&looped, 8);
    check_ok(braid_exec_set(looped.exec, looped.around, BRAID_TARGET_TIMES, 0, &times));
    check_iterations(&looped, 10);
    check_ok(braid_exec_set(looped.exec, looped.step, BRAID_TARGET_ENABLED, 0, &on));
    check_iterations(&looped, 10);
    finish_standin();
}

// The node that ends the loop has no runs while it is disabled.
static void disabled_nodes_inside_have_no_runs(void **state)
{
    (void)state;
    const struct shape shape = { .num_steps = 2, .grid = 1, .begin = 3, .options.frames_kept = 1 };
    struct looped looped = make(&shape);
    const bool off = false, on = true;
    check_iterations(&looped, 3);
    check_runs(&looped, 3);
    check_ok(braid_exec_set(looped.exec, looped.step, BRAID_TARGET_ENABLED, 0, &off));
    check_iterations(&looped, 100);
    check_runs(&looped, 0);
    check_ok(braid_exec_set(looped.exec, looped.step, BRAID_TARGET_ENABLED, 0, &on));
    check_iterations(&looped, 3);
    check_runs(&looped, 3);
    finish_standin();
}

static void never_if_nobody_wants_islands(void **state)
{
    (void)state;
    long before = count_driver_loops();
    braid_exec_info info = check_shape(
        (struct shape){
            .num_steps = 2, .grid = 1, .begin = 5, .options.islands = BRAID_ISLANDS_NEVER },
        5);
    assert_int_equal(info.num_islands, 0);
    assert_int_equal(count_driver_loops(), before + 2); // one of each exec
}

static void check_reason(const struct looped *looped, braid_node node, const char *reason)
{
    char text[200];
    check_ok(braid_schedule_explain(braid_exec_get_schedule(looped->exec), &node, 1, text,
                                    sizeof(text)));
    assert_string_equal(text, reason);
}

// The blocks of a wide node would share one multiprocessor.
static void wide_nodes_keep_the_loop_outside(void **state)
{
    (void)state;
    struct shape shape = { .num_steps = 1, .grid = 3000, .begin = 2, .options.max_lanes = 1 };
    struct looped looped = make(&shape);
    braid_exec_info info;
    braid_exec_get_info(looped.exec, &info);
    assert_int_equal(info.num_islands, 0);
    check_reason(&looped, looped.step,
                 "not in an island: a node of its loop would take longer inside");
    finish_standin();
    shape.grid = 1;
    looped = make(&shape);
    check_reason(&looped, looped.step, "in island 0, which is the loop 'until 0'");
    check_reason(&looped, looped.loop, "island 0, which is the loop 'until 0'");
    finish_standin();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(one_lane),
        standin_test(several_lanes),
        standin_test(several_lanes_of_several_blocks),
        standin_test(no_iteration_at_all),
        standin_test(inside_a_loop_of_the_drivers),
        standin_test(inside_the_kernel_of_another_loop),
        standin_test(nodes_and_bounds_inside_change),
        standin_test(disabled_nodes_inside_have_no_runs),
        standin_test(never_if_nobody_wants_islands),
        standin_test(wide_nodes_keep_the_loop_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
