// SPDX-License-Identifier: Apache-2.0
// A tuning tries no more lanes than nodes may run at once, however many the program allows.
#include <braid/braid.h>
#include <braid/tune.h>

#include "support/check.h"
#include "support/failing_memory.h"

enum { NUM_NODES = 32 };

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static braid_graph *make_graph(bool is_chain)
{
    static const braid_kernel kernel = { .name = "nothing", .cpu = do_nothing };
    braid_graph *graph;
    braid_node node = { 0 };
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < NUM_NODES; i++)
        check_ok(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){
                .node = { .cost_ns = 100000, .after = &node, .num_after = is_chain && i },
                .kernel = &kernel },
            &node));
    return graph;
}

static void note_most(const braid_tune_trial *trial, void *user)
{
    uint32_t *most = user;
    *most = trial->num_lanes > *most ? trial->num_lanes : *most;
}

// How much memory is asked for, by which plans are counted; and the most lanes of a way.
static uint64_t tune(bool is_chain, uint32_t max_lanes, uint32_t *out_most)
{
    const braid_device_options options = { .backend = "cpu", .num_workers = 2 };
    braid_device *device;
    check_ok(braid_device_open(&options, &device));
    braid_graph *graph = make_graph(is_chain);
    *out_most = 0;
    const braid_tune_options tuning = { .budget_ns = 1,
                                        .max_lanes = max_lanes,
                                        .keep_costs = true,
                                        .report = note_most,
                                        .user = out_most };
    braid_exec_options way;
    const uint64_t before = failing_memory_num_calls();
    check_ok(braid_graph_tune(graph, device, &tuning, &way));
    const uint64_t num_calls = failing_memory_num_calls() - before;
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
    return num_calls;
}

static void a_chain_is_tried_on_one_lane(void **state)
{
    (void)state;
    uint32_t most;
    (void)tune(true, 1, &most);
    assert_int_equal(most, 1);
    const uint64_t num_calls = tune(true, NUM_NODES, &most);
    assert_int_equal(most, 1);
    assert_true(tune(true, 1 << 20, &most) < num_calls + num_calls / 4);
    assert_int_equal(most, 1);
}

static void any_number_of_lanes_may_be_allowed(void **state)
{
    (void)state;
    static const uint32_t allowed[] = { 1 << 30, 3221225472, UINT32_MAX };
    uint32_t most;
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        tune(false, allowed[i], &most);
        assert_int_equal(most, NUM_NODES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_tried_on_one_lane),
        cmocka_unit_test(any_number_of_lanes_may_be_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
