// SPDX-License-Identifier: Apache-2.0
// Whichever allocation fails, the call that needed it fails cleanly and works when tried again.
#include <stdlib.h>
#include <string.h>

#include "graph/graph_state.h"
#include "graph/links.h"
#include "support/check.h"
#include "support/failing_memory.h"

static void cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static void host(void *user)
{
    (void)user;
}

static braid_status queue_nothing(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    (void)user;
    return BRAID_OK;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = cpu };
static const braid_kernel other = { .name = "other", .cpu = cpu };
static char memory[64];

// The calls under test, one a step: every kind of thing a graph can hold.
enum { num_steps = 10, num_rounds = 6 };

struct world {
    braid_graph *graph;
    braid_resource buffer;
    braid_node node;
};

static braid_status add_kernel(struct world *world)
{
    uint64_t value = 7;
    braid_kernel_node launch = { .kernel = &kernel,
                                 .node.name = "a kernel with a long name",
                                 BRAID_AFTER(world->node),
                                 BRAID_ACCESSES({ world->buffer, BRAID_READ_WRITE }),
                                 BRAID_ARGS(BRAID_ARG(value), BRAID_ARG(value)) };
    return braid_graph_add_kernel(world->graph, &launch, &world->node);
}

static braid_status add_prelude(struct world *world)
{
    uint64_t value = 7;
    braid_kernel_node launch = { .kernel = &other,
                                 .node.name = "prelude",
                                 BRAID_ACCESSES({ world->buffer, BRAID_READ }),
                                 BRAID_ARGS(BRAID_ARG(value)) };
    launch.node.prelude_of = world->node;
    return braid_graph_add_kernel(world->graph, &launch, NULL);
}

static braid_status add_copy(struct world *world)
{
    braid_copy copy = { .node.name = "copy it",
                        BRAID_AFTER(world->node),
                        BRAID_ACCESSES({ world->buffer, BRAID_WRITE }),
                        .to = memory,
                        .from = memory + 8,
                        .bytes = 8 };
    return braid_graph_add_copy(world->graph, &copy, NULL);
}

static braid_status run_step(struct world *world, int step)
{
    braid_resource part;
    braid_node_options options = { .name = "simple", .after = &world->node, .num_after = 1 };
    switch (step) {
    case 0:
        return braid_graph_add_buffer(world->graph, "buffer", memory, 64, &world->buffer);
    case 1:
        return braid_graph_add_range(world->graph, world->buffer, 8, 8, &part);
    case 2:
        return braid_graph_add_resource(world->graph, "list", &part);
    case 3:
        return braid_graph_add_empty(world->graph, &(braid_empty){ .node.name = "empty" },
                                     &world->node);
    case 4:
        return add_kernel(world);
    case 5:
        return add_prelude(world);
    case 6:
        return add_copy(world);
    case 7:
        return braid_graph_add_fill(
            world->graph, &(braid_fill){ .node = options, .to = memory, .num_values = 1 }, NULL);
    case 8:
        return braid_graph_add_host_call(world->graph,
                                         &(braid_host_call){ .node = options, .call = host }, NULL);
    default:
        return braid_graph_add_queue_call(
            world->graph, &(braid_queue_call){ .node = options, .call = queue_nothing }, NULL);
    }
}

// Runs one step with its 1st, 2nd, ... allocation failing, until none fails any more.
static uint32_t run_step_with_failures(struct world *world, int step)
{
    for (uint32_t nth = 1;; nth++) {
        char *before = graph_state(world->graph);
        failing_memory_arm(nth);
        braid_status status = run_step(world, step);
        bool failed = failing_memory_disarm();
        if (!failed) {
            free(before);
            check_ok(status);
            return nth - 1;
        }
        check_fails(status, BRAID_NO_MEMORY, "memory");
        char *after = graph_state(world->graph);
        assert_string_equal(after, before);
        free(after);
        free(before);
    }
}

static void every_call_fails_cleanly_and_works_when_tried_again(void **state)
{
    (void)state;
    struct world world;
    check_ok(braid_graph_create(&world.graph));
    uint32_t num_failures = 0;
    for (int round = 0; round < num_rounds; round++) // later rounds make the arrays grow
        for (int step = 0; step < num_steps; step++)
            num_failures += run_step_with_failures(&world, step);
    assert_true(num_failures >= num_steps);
    print_message("%u allocations failed\n", num_failures);

    struct world untouched;
    check_ok(braid_graph_create(&untouched.graph));
    for (int i = 0; i < num_rounds * num_steps; i++)
        check_ok(run_step(&untouched, i % num_steps));
    char *left = graph_state(world.graph), *right = graph_state(untouched.graph);
    assert_string_equal(left, right);
    free(left);
    free(right);
    braid_graph_destroy(world.graph);
    braid_graph_destroy(untouched.graph);
}

static void creating_a_graph_can_fail(void **state)
{
    (void)state;
    braid_graph *graph = (braid_graph *)memory;
    failing_memory_arm(1);
    braid_status status = braid_graph_create(&graph);
    failing_memory_disarm();
    check_fails(status, BRAID_NO_MEMORY, "memory");
    assert_ptr_equal(graph, memory); // outputs are written on success only
}

// Reading a graph allocates too, and must leave neither leaks nor half an answer.
static void finding_links_and_units_can_fail(void **state)
{
    (void)state;
    struct world world;
    check_ok(braid_graph_create(&world.graph));
    for (int i = 0; i < 4 * num_steps; i++)
        check_ok(run_step(&world, i % num_steps));
    char *expected = graph_links_text(world.graph);
    bool failed = true;
    for (uint32_t nth = 1; failed; nth++) {
        struct array links = { 0 };
        struct graph_units units;
        failing_memory_arm(nth);
        braid_status status = braid_graph_find_links(world.graph, &links);
        if (status == BRAID_OK)
            status = braid_graph_find_units(world.graph, &units);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
        if (!failed)
            braid_graph_units_finish(&units);
        braid_array_finish(&links);
    }
    check_links(world.graph, expected);
    free(expected);
    braid_graph_destroy(world.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_cleanly_and_works_when_tried_again),
        cmocka_unit_test(creating_a_graph_can_fail),
        cmocka_unit_test(finding_links_and_units_can_fail),
    };
    return cmocka_run_group_tests_name("running out of memory leaves the graph usable", tests, NULL,
                                       NULL);
}
