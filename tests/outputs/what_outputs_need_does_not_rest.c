// SPDX-License-Identifier: Apache-2.0
// Where parameters let nodes rest, nodes of bodies run, and a node that others count on keeps its
// blocks. A node whose only reader has no block rests.
#include <stdatomic.h>

#include <braid/braid.h>

#include "support/check.h"

struct world {
    braid_device *device;
    braid_graph *graph;
    braid_resource fine, image;
    braid_parameter draws;
    atomic_uint num_makes, num_draws;
    uint32_t bytes[4];
};

static void count(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static braid_node add_call(const struct world *world, atomic_uint *num, braid_access first,
                           braid_access second)
{
    const braid_access accesses[] = { first, second };
    const braid_host_call call = {
        .node = { .accesses = accesses, .num_accesses = second.mode ? 2 : 1 },
        .call = count,
        .user = num,
    };
    braid_node node;
    check_ok(braid_graph_add_host_call(world->graph, &call, &node));
    return node;
}

// One call makes what another draws, if a parameter says so. The image is the output.
static void begin(struct world *world)
{
    *world = (struct world){ 0 };
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &world->device));
    check_ok(braid_graph_create(&world->graph));
    check_ok(braid_graph_add_buffer(world->graph, "fine", NULL, 16, &world->fine));
    check_ok(braid_graph_add_buffer(world->graph, "image", world->bytes, 16, &world->image));
    check_ok(braid_graph_set_output(world->graph, world->image));
    add_call(world, &world->num_makes, (braid_access){ world->fine, BRAID_WRITE },
             (braid_access){ 0 });
    braid_node draw = add_call(world, &world->num_draws, (braid_access){ world->fine, BRAID_READ },
                               (braid_access){ world->image, BRAID_WRITE });
    check_ok(braid_graph_add_parameter(world->graph, "draws", 4, &world->draws));
    check_ok(braid_graph_use_parameter(
        world->graph, world->draws,
        &(braid_parameter_use){ .node = draw, .target = BRAID_TARGET_ENABLED }));
}

static void end(const struct world *world, braid_exec *exec)
{
    braid_exec_destroy(exec);
    braid_graph_destroy(world->graph);
    check_ok(braid_device_close(world->device));
}

// The output needs the loop, which needs all that is inside.
static void nodes_of_bodies_run(void **state)
{
    struct world world;
    braid_exec *exec;
    atomic_uint num_steps = 0;
    (void)state;
    begin(&world);
    check_ok(braid_graph_begin_loop(world.graph, &(braid_loop){ .times = 3 }, NULL));
    add_call(&world, &num_steps, (braid_access){ world.image, BRAID_READ_WRITE },
             (braid_access){ 0 });
    check_ok(braid_graph_end(world.graph));
    check_ok(braid_exec_create(world.device, world.graph, NULL, &exec));
    for (uint32_t i = 0; i < 2; i++) {
        check_ok(braid_exec_set_parameter(exec, world.draws, &i));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(num_steps, 3 * (i + 1));
        assert_int_equal(world.num_makes, i);
        assert_int_equal(world.num_draws, i);
    }
    end(&world, exec);
}

static void what_a_kernel_without_a_block_reads_rests(void **state)
{
    const braid_kernel kernel = { .name = "add", .cpu = do_nothing };
    struct world world;
    braid_resource layer;
    braid_node add;
    braid_parameter width;
    braid_exec *exec;
    atomic_uint num_layers = 0;
    (void)state;
    begin(&world);
    check_ok(braid_graph_add_buffer(world.graph, "layer", NULL, 16, &layer));
    add_call(&world, &num_layers, (braid_access){ layer, BRAID_WRITE }, (braid_access){ 0 });
    const braid_kernel_node node = {
        .kernel = &kernel,
        BRAID_ACCESSES({ layer, BRAID_READ }, { world.image, BRAID_READ_WRITE }),
    };
    check_ok(braid_graph_add_kernel(world.graph, &node, &add));
    check_ok(braid_graph_add_parameter(world.graph, "width", 4, &width));
    check_ok(braid_graph_use_parameter(
        world.graph, width, &(braid_parameter_use){ .node = add, .target = BRAID_TARGET_GRID_X }));
    check_ok(braid_exec_create(world.device, world.graph, NULL, &exec));
    for (uint32_t i = 0; i < 2; i++) {
        check_ok(braid_exec_set_parameter(exec, width, &i));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(num_layers, i);
    }
    end(&world, exec);
}

// What it overwrites is not made, so a grid without a block would show what is not there.
static void a_node_that_overwrites_keeps_its_blocks(void **state)
{
    const braid_kernel kernel = { .name = "clear", .cpu = do_nothing };
    const braid_dim3 none = { 0 }, two = { 2, 1, 1 };
    struct world world;
    braid_node clear;
    braid_exec *exec;
    (void)state;
    begin(&world);
    const braid_kernel_node node = { .kernel = &kernel,
                                     BRAID_ACCESSES({ world.image, BRAID_WRITE }) };
    check_ok(braid_graph_add_kernel(world.graph, &node, &clear));
    check_ok(braid_exec_create(world.device, world.graph, NULL, &exec));
    check_fails(braid_exec_set(exec, clear, BRAID_TARGET_GRID, 0, &none), BRAID_UNSUPPORTED,
                "disable it by a parameter");
    check_ok(braid_exec_set(exec, clear, BRAID_TARGET_GRID, 0, &two));
    end(&world, exec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_bodies_run),
        cmocka_unit_test(what_a_kernel_without_a_block_reads_rests),
        cmocka_unit_test(a_node_that_overwrites_keeps_its_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
