// SPDX-License-Identifier: Apache-2.0
// Nodes that were measured alone and then beside each other keep their costs alone, and plans take
// no lanes for nodes that gain nothing together.
#include <stdatomic.h>

#include <braid/braid.h>

#include "base/clock.h"
#include "graph/graph.h"
#include "support/check.h"

enum { NUM_NODES = 2, NUM_FRAMES = 3, TOGETHER_NS = 100000, ALONE_NS = TOGETHER_NS / 2 };

static bool meets;
static atomic_uint num_here, num_gone;

static void meet(atomic_uint *num)
{
    const unsigned all = (atomic_fetch_add(num, 1) / NUM_NODES + 1) * NUM_NODES;
    while (atomic_load(num) < all)
        continue;
}

// Alone it does nothing. Together, each is beside the other for at least half of its time.
static void run(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
    if (!meets)
        return;
    const uint64_t begin_ns = clock_now_ns();
    meet(&num_here);
    const uint64_t met_ns = clock_now_ns();
    while (clock_now_ns() < 2 * met_ns - begin_ns + TOGETHER_NS)
        continue;
    meet(&num_gone);
}

static braid_device *open_device(void)
{
    braid_device *device;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    return device;
}

static braid_graph *make_graph(void)
{
    static const braid_kernel kernel = { .name = "run", .cpu = run };
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < NUM_NODES; i++)
        check_ok(braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &kernel }, NULL));
    return graph;
}

static void measure(braid_device *device, braid_graph *graph, bool together)
{
    braid_exec_options options = { .profile = NUM_FRAMES };
    if (together)
        options.plan.policy = BRAID_POLICY_MAX_CONCURRENCY;
    else
        options.plan = (braid_schedule_options){ .max_lanes = 1, .fixed_lanes = true };
    braid_exec *exec;
    meets = together;
    check_ok(braid_exec_create(device, graph, &options, &exec));
    check_ok(braid_exec_measure(exec, graph, 0));
    braid_exec_destroy(exec);
}

static uint32_t num_lanes_chosen(const braid_device *device, const braid_graph *graph)
{
    braid_device_info on;
    braid_schedule *schedule;
    braid_schedule_info info;
    braid_device_get_info(device, &on);
    const braid_schedule_options options = { .costs = on.costs[BRAID_MODE_GRAPH] };
    check_ok(braid_schedule_create(graph, &options, &schedule));
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    return info.num_lanes;
}

static void alone_and_then_together(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_graph *graph = make_graph();
    measure(device, graph, false);
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        struct graph_measured measured = graph_measured_of(graph, i);
        assert_int_equal(graph_nodes(graph)[i].cost_ns, measured.alone_ns);
        measured.alone_ns = ALONE_NS; // as if that had been measured
        graph_keep_measured(graph, i, measured);
        braid_graph_set_measured(graph, i, ALONE_NS, 0);
    }
    assert_int_equal(num_lanes_chosen(device, graph), NUM_NODES);
    measure(device, graph, true);
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        assert_int_equal(graph_nodes(graph)[i].cost_ns, ALONE_NS);
        assert_true(graph_nodes(graph)[i].crowding >= GRAPH_CROWDING_ONE);
    }
    assert_int_equal(num_lanes_chosen(device, graph), 1);
    measure(device, graph, false); // from which nothing new of being together comes
    assert_true(graph_nodes(graph)[0].crowding >= GRAPH_CROWDING_ONE);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

static void together_only(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_graph *graph = make_graph();
    measure(device, graph, true);
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        assert_true(graph_nodes(graph)[i].cost_ns >= TOGETHER_NS); // all of the time
        assert_int_equal(graph_nodes(graph)[i].crowding, 0);
    }
    assert_int_equal(num_lanes_chosen(device, graph), NUM_NODES);
    // Nodes that are added later are not known yet.
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, NULL));
    measure(device, graph, false);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_and_then_together),
        cmocka_unit_test(together_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
