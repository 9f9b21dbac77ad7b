// SPDX-License-Identifier: Apache-2.0
// Whichever allocation fails while a node gets the accesses of its code, or while these are
// compared, the call fails and leaves the graph as it was. It works when it is tried again. The
// code is PTX, or source that the stand-in for NVRTC compiles.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/graph_state.h"
#include "support/check.h"
#include "support/failing_memory.h"
#include "support/owner.h"

enum { BYTES = 64, MOST_TEXT = 512 };

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 count;\n"

// Kernels that were read are kept, so each world has a text of its own.
static char steps[] =
    "// 0000\n" HEAD ".func (.param .b64 got) next(.param .b64 at) {\nld.param.u64 %d0, [at];\n"
    "add.s64 %d1, %d0, 4;\nst.param.b64 [got], %d1;\nret;\n}\n"
    ".entry step(.param .u64 from, .param .align 8 .b8 to[16]) {\n"
    "ld.param.u64 %d0, [from];\nld.param.u64 %d1, [to+8];\n{\n.param .b64 a;\n.param .b64 r;\n"
    "st.param.b64 [a], %d0;\ncall.uni (r), next, (a);\nld.param.b64 %d2, [r];\n}\n"
    "ld.global.u32 %r0, [%d2];\nst.global.u32 [%d1], %r0;\nred.global.add.u32 [count], 1;\n"
    "ret;\n}\n";
static const char source[] = "extern \"C\" __global__ void compiled(const int *from, int *to)\n"
                             "{ to[0] = from[0]; }\n";

static const braid_kernel step = { .name = "step", .cuda.data = steps },
                          compiled = { .name = "compiled", .source = source };

struct world {
    braid_graph *graph;
    braid_resource a, b;
};

static void *memory[2];

static struct world make_world(void)
{
    static int number;
    char digits[8];
    snprintf(digits, sizeof(digits), "%04d", ++number % 10000);
    memcpy(steps + 3, digits, 4);
    struct world world = { .graph = own_graph() };
    check_ok(braid_graph_add_buffer(world.graph, "a", memory[0], BYTES, &world.a));
    check_ok(braid_graph_add_buffer(world.graph, "b", memory[1], BYTES, &world.b));
    return world;
}

static braid_status add_step(struct world *world, const braid_node *after, uint32_t use)
{
    const struct {
        const void *unused, *used;
    } to = { NULL, memory[1] };
    const braid_access accesses[] = { { world->a, BRAID_READ_WRITE }, { world->b, BRAID_WRITE } };
    braid_kernel_node launch = { .kernel = &step,
                                 .code_use = (braid_code_use)use,
                                 .node = { .after = after, .num_after = after ? 1 : 0 },
                                 BRAID_ARGS(BRAID_ARG(memory[0]), BRAID_ARG(to)) };
    launch.node.accesses = use == BRAID_CODE_DECLARES ? NULL : accesses;
    launch.node.num_accesses = use == BRAID_CODE_DECLARES ? 0 : 2;
    return braid_graph_add_kernel(world->graph, &launch, NULL);
}

static braid_status add_compiled(struct world *world)
{
    return braid_graph_add_kernel(
        world->graph,
        &(braid_kernel_node){ .kernel = &compiled,
                              .code_use = BRAID_CODE_DECLARES,
                              BRAID_ARGS(BRAID_ARG(memory[0]), BRAID_ARG(memory[1])) },
        NULL);
}

static void arm(uint64_t nth, bool for_good)
{
    if (for_good)
        failing_memory_arm(nth);
    else
        failing_memory_arm_once(nth);
}

static void check_same(const braid_graph *graph, const char *before)
{
    char *now = graph_state(graph);
    assert_string_equal(now, before);
    free(now);
}

// Returns whether an allocation failed.
static bool try_adding(braid_status (*add)(struct world *world), uint64_t nth, bool for_good)
{
    struct world world = make_world();
    char *before = graph_state(world.graph);
    arm(nth, for_good);
    braid_status status = add(&world);
    const bool has_failed = failing_memory_disarm();
    if (status) {
        assert_int_equal(status, BRAID_NO_MEMORY);
        check_same(world.graph, before);
        check_ok(add(&world));
    }
    if (add != add_compiled) // the stand-in for NVRTC compiles no accesses
        assert_int_equal(graph_nodes(world.graph)[0].num_accesses, 3);
    free(before);
    destroy_now(world.graph);
    return has_failed;
}

static void sweep(braid_status (*add)(struct world *world), uint64_t least)
{
    for (int for_good = 0; for_good < 2; for_good++) {
        uint64_t nth = 1;
        while (try_adding(add, nth, for_good))
            nth++;
        assert_true(nth > least);
    }
}

static braid_status add_derived(struct world *world)
{
    return add_step(world, NULL, BRAID_CODE_DECLARES);
}

static void ptx_may_be_read_again(void **state)
{
    (void)state;
    sweep(add_derived, 20);
}

static void source_may_be_compiled_again(void **state)
{
    (void)state;
    sweep(add_compiled, 10);
}

static void a_node_that_is_refused_leaves_no_resource(void **state)
{
    (void)state;
    struct world world = make_world();
    const braid_node none = { 7, 0 };
    char *before = graph_state(world.graph);
    const size_t num_resources = world.graph->resources.num;
    check_fails(add_step(&world, &none, BRAID_CODE_DECLARES), BRAID_INVALID_ARGUMENT, "'step'");
    check_same(world.graph, before);
    check_ok(add_derived(&world));
    check_ok(add_derived(&world));
    assert_int_equal(world.graph->resources.num, num_resources + 1);
    free(before);
}

// Compares, and explains what is remarked.
static bool try_planning(braid_device *device, uint64_t nth, bool for_good)
{
    char text[MOST_TEXT];
    struct world world = make_world();
    braid_schedule *schedule;
    const braid_node first = { 0, world.graph->id };
    check_ok(add_step(&world, NULL, BRAID_CODE_CHECKS));
    arm(nth, for_good);
    braid_status status = braid_schedule_create(
        world.graph, &(braid_schedule_options){ .device = device }, &schedule);
    const bool has_failed = failing_memory_disarm();
    if (status) {
        assert_int_equal(status, BRAID_NO_MEMORY);
        check_ok(braid_schedule_create(world.graph, &(braid_schedule_options){ .device = device },
                                       &schedule));
    }
    check_ok(braid_schedule_explain(schedule, &first, 1, text, sizeof(text)));
    assert_non_null(strstr(text, "its code never writes 'a', as it declares"));
    braid_schedule_destroy(schedule);
    destroy_now(world.graph);
    return has_failed;
}

static bool try_exec(braid_device *device, uint64_t nth, bool for_good)
{
    struct world world = make_world();
    braid_exec *exec;
    check_ok(add_compiled(&world));
    arm(nth, for_good);
    braid_status status = braid_exec_create(device, world.graph, NULL, &exec);
    const bool has_failed = failing_memory_disarm();
    if (status)
        check_ok(braid_exec_create(device, world.graph, NULL, &exec));
    braid_exec_destroy(exec);
    destroy_now(world.graph);
    return has_failed;
}

static void sweep_on_device(bool (*try_one)(braid_device *, uint64_t, bool), uint64_t step_by)
{
    braid_device *device = own_device("cuda");
    for (int for_good = 0; for_good < 2; for_good++) {
        uint64_t nth = 1;
        while (try_one(device, nth, for_good))
            nth += step_by;
        assert_true(nth > 40);
    }
}

static void plans_may_be_compared_again(void **state)
{
    (void)state;
    sweep_on_device(try_planning, 1);
}

static void execs_may_be_compared_again(void **state)
{
    (void)state;
    sweep_on_device(try_exec, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_node_that_is_refused_leaves_no_resource),
        owning_test(ptx_may_be_read_again),
        owning_test(source_may_be_compiled_again),
        owning_test(plans_may_be_compared_again),
        owning_test(execs_may_be_compared_again),
    };
    static char all[2 * BYTES];
    memory[0] = all;
    memory[1] = all + BYTES;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
