// SPDX-License-Identifier: Apache-2.0
// A parameter is refused where it does not fit, by name, and the graph stays as it was.
#include <stdio.h>

#include "graph/graph.h"
#include "graph/graph_state.h"
#include "support/check.h"
#include "support/failing_memory.h"

static void cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "attend", .cpu = cpu };

struct world {
    braid_graph *graph;
    braid_node attend, join;
    braid_parameter position; // has 8 bytes
};

static struct world make_world(void)
{
    struct world world;
    uint64_t wide = 0;
    uint32_t narrow = 0;
    check_ok(braid_graph_create(&world.graph));
    braid_kernel_node launch = { .kernel = &kernel,
                                 BRAID_ARGS(BRAID_ARG(wide), BRAID_ARG(narrow)) };
    check_ok(braid_graph_add_kernel(world.graph, &launch, &world.attend));
    braid_empty join = { .node.name = "join" };
    check_ok(braid_graph_add_empty(world.graph, &join, &world.join));
    check_ok(braid_graph_add_parameter(world.graph, "position", 8, &world.position));
    return world;
}

static void uses_that_do_not_fit_are_refused_by_name(void **state)
{
    (void)state;
    struct world world = make_world();
    const struct {
        braid_parameter_use use;
        const char *named;
    } bad[] = {
        { { .node = world.join }, "join" },
        { { .node = { 9, world.attend.graph } }, "position" },
        { { .node = { 0 } }, "position" },
        { { .node = world.attend, .argument = 2 }, "attend" },
        { { .node = world.attend, .argument = 1 },
          "'position': 8 bytes at 0 of argument 1 of node 'attend' end beyond its 4 bytes" },
        { { .node = world.attend, .argument_offset = 1 }, "attend" },
        { { .node = world.attend, .argument_offset = UINT64_MAX }, "attend" },
        { { .node = world.attend, .offset = 8 }, "position" },
        { { .node = world.attend, .offset = 4, .bytes = 5 }, "position" },
        { { .node = world.attend, .offset = 4, .bytes = UINT64_MAX }, "position" },
        { { .node = world.attend, .target = (braid_target)99 },
          "'position': node 'attend': unknown target 99" },
        { { .node = world.attend, .target = BRAID_TARGET_GRID_X, .argument = 1 },
          "node 'attend': argument 1 at 0, where the target is grid.x" },
        { { .node = world.attend, .target = BRAID_TARGET_GRID_X, .argument_offset = 2 },
          "node 'attend': argument 0 at 2, where the target is grid.x" },
        { { .node = world.attend, .target = BRAID_TARGET_GRID_X, .bytes = 2 },
          "'position': 2 bytes for grid.x of node 'attend', which has 4" },
        { { .node = world.join, .target = BRAID_TARGET_ENABLED, .bytes = 3 },
          "'position': 3 bytes for enabled of node 'join', which has 4" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_fails(braid_graph_use_parameter(world.graph, world.position, &bad[i].use),
                    BRAID_INVALID_ARGUMENT, bad[i].named);
    const braid_parameter_use good = { .node = world.attend };
    check_fails(braid_graph_use_parameter(world.graph, (braid_parameter){ 1, 0 }, &good),
                BRAID_INVALID_ARGUMENT, "parameter 1 of graph 0");
    check_fails(
        braid_graph_use_parameter(world.graph, (braid_parameter){ 1, world.position.graph }, &good),
        BRAID_INVALID_ARGUMENT, "parameter 1 of graph");
    assert_int_equal(world.graph->uses.num, 0);
    for (uint64_t bytes = 1; bytes <= 4; bytes *= 2)
        check_ok(braid_graph_use_parameter(world.graph, world.position,
                                           &(braid_parameter_use){ .node = world.join,
                                                                   .target = BRAID_TARGET_ENABLED,
                                                                   .bytes = bytes }));
    assert_int_equal(world.graph->uses.num, 3);
    check_ok(braid_graph_use_parameter(world.graph, world.position, &good));
    check_ok(braid_graph_use_parameter(
        world.graph, world.position,
        &(braid_parameter_use){ .node = world.attend, .argument = 1, .offset = 4 }));
    braid_graph_destroy(world.graph);
}

// Two of four bytes would leave the other two as they were.
static void the_value_of_a_fill_is_changed_whole(void **state)
{
    (void)state;
    struct world world = make_world();
    static uint32_t memory[4];
    for (uint32_t value_bytes = 1; value_bytes <= 4; value_bytes *= 2) {
        braid_node node;
        const braid_fill fill = { .to = memory, .value_bytes = value_bytes, .num_values = 4 };
        check_ok(braid_graph_add_fill(world.graph, &fill, &node));
        for (uint64_t bytes = 1; bytes <= 4; bytes++) {
            const braid_parameter_use use = { .node = node,
                                              .target = BRAID_TARGET_VALUE,
                                              .bytes = bytes };
            if (bytes == 4 || bytes == value_bytes)
                check_ok(braid_graph_use_parameter(world.graph, world.position, &use));
            else
                check_fails(braid_graph_use_parameter(world.graph, world.position, &use),
                            BRAID_INVALID_ARGUMENT, "bytes for value of node 'fill'");
        }
    }
    braid_graph_destroy(world.graph);
}

static const braid_kernel scatter = { .name = "scatter", .cpu = cpu };

// Addresses are a buffer's, memory's that frames choose, and a trap's.
static void an_address_is_changed_whole(void **state)
{
    (void)state;
    struct world world = make_world();
    static uint64_t memory[4];
    braid_resource buffer, local, scratch, versioned;
    braid_node node;
    check_ok(braid_graph_add_buffer(world.graph, "buffer", memory, sizeof(memory), &buffer));
    check_ok(braid_graph_add_transient(world.graph, "local", 64, 0, &local));
    check_ok(braid_graph_add_scratch(world.graph, "scratch", 64, 0, &scratch));
    check_ok(braid_graph_add_versioned_buffer(world.graph, "versioned", NULL, 2, 64, &versioned));
    const uint64_t number = 1;
    const braid_kernel_node launch = {
        .kernel = &scatter,
        BRAID_ARGS(BRAID_INOUT(buffer), BRAID_OUT(local), braid_resource_address(&scratch),
                   BRAID_OUT(versioned), BRAID_TRAP(), BRAID_ARG(number))
    };
    check_ok(braid_graph_add_kernel(world.graph, &launch, &node));
    for (size_t i = 0; i < 6; i++) {
        braid_parameter_use use = { .node = node, .argument = i, .bytes = 4 };
        for (use.argument_offset = 0; use.argument_offset < 8; use.argument_offset += 4) {
            char text[64];
            snprintf(text, sizeof(text),
                     "4 bytes at %d are a part of argument %zu of node 'scatter'",
                     (int)use.argument_offset, i);
            if (i < 5)
                check_fails(braid_graph_use_parameter(world.graph, world.position, &use),
                            BRAID_INVALID_ARGUMENT, text);
            else
                check_ok(braid_graph_use_parameter(world.graph, world.position, &use));
        }
        use = (braid_parameter_use){ .node = node, .argument = i };
        check_ok(braid_graph_use_parameter(world.graph, world.position, &use));
    }
    braid_graph_destroy(world.graph);
}

static void parameters_need_a_name_and_a_size(void **state)
{
    (void)state;
    struct world world = make_world();
    braid_parameter out = { 7, 7 };
    check_fails(braid_graph_add_parameter(world.graph, NULL, 4, &out), BRAID_INVALID_ARGUMENT,
                "name");
    check_fails(braid_graph_add_parameter(world.graph, "", 4, &out), BRAID_INVALID_ARGUMENT,
                "a parameter needs a name");
    check_fails(braid_graph_add_parameter(world.graph, "x", 0, &out), BRAID_INVALID_ARGUMENT,
                "'x'");
    check_fails(braid_graph_add_parameter(world.graph, "x", 4097, &out), BRAID_INVALID_ARGUMENT,
                "4097");
    assert_int_equal(out.index, 7);
    assert_int_equal(world.graph->parameters.num, 1);
    braid_graph_destroy(world.graph);
}

static void running_out_of_memory_changes_nothing(void **state)
{
    (void)state;
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        struct world world = make_world();
        braid_parameter out = { 7, 7 };
        const braid_parameter_use use = { .node = world.attend };
        failing_memory_arm(nth);
        braid_status used = braid_graph_use_parameter(world.graph, world.position, &use);
        braid_status added = braid_graph_add_parameter(world.graph, "another", 4, &out);
        failed = failing_memory_disarm();
        assert_true(used == BRAID_OK || used == BRAID_NO_MEMORY);
        assert_true(failed == (used == BRAID_NO_MEMORY || added == BRAID_NO_MEMORY));
        assert_int_equal(world.graph->uses.num, used == BRAID_OK);
        assert_int_equal(world.graph->parameters.num, 1 + (added == BRAID_OK));
        braid_graph_destroy(world.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses_that_do_not_fit_are_refused_by_name),
        cmocka_unit_test(the_value_of_a_fill_is_changed_whole),
        cmocka_unit_test(an_address_is_changed_whole),
        cmocka_unit_test(parameters_need_a_name_and_a_size),
        cmocka_unit_test(running_out_of_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
