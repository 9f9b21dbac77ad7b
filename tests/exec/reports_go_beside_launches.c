// SPDX-License-Identifier: Apache-2.0
// A thread asks for running nodes while another launches frames with other values.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"

enum { NUM_FRAMES = 300, NUM_NODES = 100, ROOM = 8 };

struct fixture {
    braid_device *device;
    braid_exec *exec;
    braid_parameter value;
    braid_node loop;
    atomic_bool has_ended;
};

static void spin(const braid_blocks *blocks, void *const *args)
{
    volatile uint32_t left = *(const uint32_t *)args[0] % 64;
    (void)blocks;
    while (left)
        left--;
}

// Kernels, and a loop of as many. Each launch writes new arguments for all of them, and the loop's
// iterations.
static void set_up(struct fixture *fixture)
{
    static const braid_kernel kernel = { .name = "spin", .cpu = spin };
    const braid_device_options cpu = { .backend = "cpu", .num_workers = 2 };
    const uint32_t value = 0;
    const braid_kernel_node spins = { .kernel = &kernel, BRAID_ARGS(BRAID_ARG(value)) };
    braid_graph *graph;
    braid_node node;
    *fixture = (struct fixture){ 0 };
    check_ok(braid_device_open(&cpu, &fixture->device));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_parameter(graph, "value", sizeof(value), &fixture->value));
    for (int i = 0; i < 2 * NUM_NODES; i++) {
        if (i == NUM_NODES)
            check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 3 }, &fixture->loop));
        check_ok(braid_graph_add_kernel(graph, &spins, &node));
        check_ok(braid_graph_use_parameter(graph, fixture->value,
                                           &(braid_parameter_use){ .node = node }));
    }
    check_ok(braid_graph_end(graph));
    check_ok(braid_exec_create(fixture->device, graph,
                               &(braid_exec_options){ .frames_in_flight = 2, .black_box = true },
                               &fixture->exec));
    braid_graph_destroy(graph);
}

static void *launch(void *user)
{
    struct fixture *fixture = user;
    for (uint32_t i = 0; i < NUM_FRAMES; i++) {
        const uint64_t times = 1 + i % 3;
        check_ok(braid_exec_set(fixture->exec, fixture->loop, BRAID_TARGET_TIMES, 0, &times));
        check_ok(braid_exec_set_parameter(fixture->exec, fixture->value, &i));
        check_ok(braid_exec_launch(fixture->exec, NULL));
    }
    atomic_store(&fixture->has_ended, true);
    return NULL;
}

static void what_runs_is_told_beside_launches(void **state)
{
    struct fixture fixture;
    braid_running_node nodes[ROOM];
    pthread_t thread;
    size_t num = 0;
    (void)state;
    set_up(&fixture);
    assert_int_equal(pthread_create(&thread, NULL, launch, &fixture), 0);
    while (!atomic_load(&fixture.has_ended)) {
        check_ok(braid_exec_get_running(fixture.exec, nodes, ROOM, &num));
        for (size_t i = 0; i < num && i < ROOM; i++) {
            assert_true(nodes[i].frame < NUM_FRAMES && nodes[i].iteration <= 3);
            assert_true(strcmp(nodes[i].name, "spin") == 0 || strcmp(nodes[i].name, "loop") == 0);
        }
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    check_ok(braid_exec_wait(fixture.exec));
    braid_exec_destroy(fixture.exec);
    check_ok(braid_device_close(fixture.device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_runs_is_told_beside_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
