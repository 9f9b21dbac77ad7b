// SPDX-License-Identifier: Apache-2.0
// Where memory runs out for what an island takes, an exec whose program did not ask for islands is
// played without them, and any is without the notes that name nodes after a fault. The log tells.
#include <string.h>

#include "gpu/gpu_testing.h"
#include "gpu/island_graph.h"
#include "support/check.h"

enum { FRAMES = 3 };

static char logged[8192];

static void take_log(braid_status status, const char *message, void *user)
{
    (void)user;
    assert_int_equal(status, BRAID_NO_MEMORY);
    strncat(logged, message, sizeof(logged) - strlen(logged) - 1);
}

static braid_status create(braid_device *device, const struct island_graph *made,
                           braid_islands islands, const char *rule, braid_exec **out_exec)
{
    const braid_exec_options options = { .islands = islands, .max_lanes = made->has_outsiders };
    logged[0] = '\0';
    braid_log_set(take_log, NULL);
    fail_calls(rule);
    braid_status status = braid_exec_create(device, made->graph, &options, out_exec);
    fail_calls(NULL);
    braid_log_set(NULL, NULL);
    return status;
}

// The graph's counters were allocated before.
static uint32_t run(const struct island_graph *graph, braid_islands islands, const char *rule)
{
    struct island_graph made = *graph;
    braid_exec *exec;
    braid_exec_info info;
    reset_standin();
    braid_device *device = own_device("cuda");
    island_graph_make(&made, device);
    check_ok(create(device, &made, islands, rule, &exec));
    for (int frame = 0; frame < FRAMES; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    island_graph_check(&made, FRAMES);
    braid_exec_get_info(exec, &info);
    braid_exec_destroy(exec);
    finish_standin();
    return info.num_islands;
}

static void refuse(const struct island_graph *graph, braid_islands islands, const char *rule)
{
    struct island_graph made = *graph;
    braid_exec *exec;
    reset_standin();
    braid_device *device = own_device("cuda");
    island_graph_make(&made, device);
    check_fails(create(device, &made, islands, rule, &exec), BRAID_NO_MEMORY, "cuMemAlloc");
    finish_standin();
}

#define NO_HOST_MEMORY "cuMemHostAlloc:1+=2"
#define NO_DEVICE_MEMORY "cuMemAlloc:1+=2"

static const struct island_graph whole = { .seed = 3, .most_before = 3 };
static const struct island_graph stretches = { .seed = 1, .has_outsiders = true };

static void without_notes(void **state)
{
    (void)state;
    static const braid_islands all[] = { BRAID_ISLANDS_AUTO, BRAID_ISLANDS_ALWAYS };
    for (int i = 0; i < 2; i++) {
        assert_true(run(&stretches, all[i], NO_HOST_MEMORY) > 0);
        assert_non_null(strstr(logged, "no memory for the notes of islands"));
    }
    assert_int_equal(run(&whole, BRAID_ISLANDS_WHOLE, NO_HOST_MEMORY), 1);
    assert_non_null(strstr(logged, "no memory for the notes of islands"));
}

static void without_islands(void **state)
{
    (void)state;
    assert_int_equal(run(&stretches, BRAID_ISLANDS_AUTO, NO_DEVICE_MEMORY), 0);
    assert_non_null(strstr(logged, "nodes stay outside of an island: "));
    assert_int_equal(run(&whole, BRAID_ISLANDS_AUTO, NO_DEVICE_MEMORY), 0);
    assert_non_null(strstr(logged, "the graph is not made one island: "));
}

static void but_not_without_those_that_were_asked_for(void **state)
{
    (void)state;
    refuse(&stretches, BRAID_ISLANDS_ALWAYS, NO_DEVICE_MEMORY);
    refuse(&whole, BRAID_ISLANDS_WHOLE, NO_DEVICE_MEMORY);
}

static void add_empty_nodes(braid_graph *graph)
{
    braid_node nodes[4];
    for (size_t i = 0; i < 4; i++) {
        const braid_empty empty = { .node = { .after = nodes, .num_after = i } };
        check_ok(braid_graph_add_empty(graph, &empty, &nodes[i]));
    }
}

// A kernel of no call would not even be compiled.
static void empty_nodes_alone_are_no_island(void **state)
{
    (void)state;
    for (int in_loop = 0; in_loop < 2; in_loop++) {
        braid_exec_info info;
        reset_standin();
        braid_device *device = own_device("cuda");
        braid_graph *graph = own_graph();
        if (in_loop)
            check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 3 }, NULL));
        add_empty_nodes(graph);
        if (in_loop)
            check_ok(braid_graph_end(graph));
        braid_exec *exec = own_exec(device, graph, NULL);
        braid_exec_get_info(exec, &info);
        assert_int_equal(info.num_islands, 0);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        destroy_now(exec);
        const braid_exec_options whole_one = { .islands = BRAID_ISLANDS_WHOLE };
        check_fails(braid_exec_create(device, graph, &whole_one, &exec), BRAID_UNSUPPORTED,
                    in_loop ? "plays no loop" : "there is nothing to put into an island");
        finish_standin();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(without_notes),
        standin_test(without_islands),
        standin_test(but_not_without_those_that_were_asked_for),
        standin_test(empty_nodes_alone_are_no_island),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
