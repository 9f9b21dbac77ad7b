// SPDX-License-Identifier: Apache-2.0
// Law 7: a launch after the first creates, allocates and frees nothing; streams and events come
// from bounded pools and go back to them.
#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/failing_memory.h"

enum { width = 6, depth = 4 };

// A graph that needs lanes, events and arguments.
static braid_graph *mesh(struct contract *contract, uint32_t *data)
{
    braid_graph *graph = contract_graph(contract);
    braid_node above[width];
    for (uint32_t row = 0; row < depth; row++) {
        braid_node nodes[width];
        for (uint32_t i = 0; i < width; i++) {
            braid_node_options options = { 0 };
            braid_node after[2];
            if (row) {
                after[0] = above[i];
                after[1] = above[(i + 1) % width];
                options.after = after;
                options.num_after = 2;
            }
            nodes[i] = add_axpy(graph, options, data + i, data + i, 1, 1, 1);
        }
        for (uint32_t i = 0; i < width; i++)
            above[i] = nodes[i];
    }
    return graph;
}

static void check_same_stats(const braid_device_info *a, const braid_device_info *b)
{
    assert_int_equal(a->streams_created, b->streams_created);
    assert_int_equal(a->streams_live, b->streams_live);
    assert_int_equal(a->streams_leased, b->streams_leased);
    assert_int_equal(a->events_created, b->events_created);
    assert_int_equal(a->events_live, b->events_live);
    assert_int_equal(a->events_leased, b->events_leased);
}

static void a_thousand_frames_create_no_streams_or_events(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, width);
    braid_stream *stream = contract_stream(contract);
    braid_exec *exec = contract_exec(contract, mesh(contract, data));
    braid_device_info first, last;
    check_ok(braid_exec_launch(exec, stream));
    braid_device_get_info(contract->device, &first);
    for (int frame = 1; frame < 1000; frame++) {
        check_ok(braid_exec_launch(exec, stream));
        if (frame % 10 == 0) // some frames in flight, some waited for
            check_ok(braid_exec_wait(exec));
    }
    braid_device_get_info(contract->device, &last);
    check_same_stats(&first, &last);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data), 1000 * depth);
    assert_true(last.streams_created > 0);
}

static void check_allocations(struct contract *contract, braid_exec_options options)
{
    uint32_t *data = contract_numbers(contract, width);
    braid_stream *stream = contract_stream(contract);
    braid_exec *exec = contract_exec_with(contract, mesh(contract, data), options);
    check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_exec_wait(exec));
    uint64_t before = failing_memory_num_calls();
    for (int frame = 1; frame < 200; frame++) {
        check_ok(braid_exec_launch(exec, stream));
        check_ok(braid_exec_wait(exec));
    }
    assert_int_equal(failing_memory_num_calls() - before, 0);
}

static void a_launch_after_the_first_allocates_and_frees_nothing(void **state)
{
    check_allocations(*state,
                      (braid_exec_options){ .max_lanes = BRAID_ALL_LANES, .fixed_lanes = true });
}

static void tell_nothing(uint64_t frame, const braid_running_node *nodes, size_t num_nodes,
                         void *user)
{
    (void)frame;
    (void)nodes;
    (void)num_nodes;
    (void)user;
}

static void a_launch_with_a_deadline_allocates_and_frees_nothing(void **state)
{
    check_allocations(*state, (braid_exec_options){ .max_lanes = BRAID_ALL_LANES,
                                                    .fixed_lanes = true,
                                                    .deadline_ns = TEST_TIMEOUT_NS,
                                                    .on_deadline = tell_nothing });
}

static void check_leases(struct contract *contract, uint64_t deadline_ns)
{
    uint32_t *data = contract_numbers(contract, width);
    braid_graph *graph = mesh(contract, data);
    braid_device_info before, during, after;
    if (contract->others[1])
        skip_because("an exec leases of several devices");
    braid_device_get_info(contract->device, &before);
    braid_exec *exec =
        contract_exec_with(contract, graph, (braid_exec_options){ .deadline_ns = deadline_ns });
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    check_ok(braid_exec_launch(exec, NULL));
    braid_device_get_info(contract->device, &during);
    assert_int_equal(during.streams_leased - before.streams_leased, info.num_streams);
    assert_int_equal(during.events_leased - before.events_leased, info.num_events);
    assert_true(info.argument_bytes >= (uint64_t)width * depth * (2 * sizeof(void *) + 3 * 4));
    contract_destroy_exec(contract, exec);
    braid_device_get_info(contract->device, &after);
    assert_int_equal(after.streams_leased, before.streams_leased);
    assert_int_equal(after.events_leased, before.events_leased);
}

static void an_exec_leases_what_it_says_and_gives_it_back(void **state)
{
    check_leases(*state, 0);
    check_leases(*state, TEST_TIMEOUT_NS);
}

static void execs_that_come_and_go_share_one_pool(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, width);
    braid_graph *graph = mesh(contract, data);
    braid_device_info first = { 0 }, last;
    for (int i = 0; i < 30; i++) {
        braid_exec *exec = contract_exec(contract, graph);
        check_ok(braid_exec_launch(exec, NULL));
        contract_destroy_exec(contract, exec);
        contract->num_execs = 0;
        if (i == 0)
            braid_device_get_info(contract->device, &first);
    }
    braid_device_get_info(contract->device, &last);
    check_same_stats(&first, &last);
    assert_int_equal(contract_number(contract, data), 30 * depth);
}

static void public_streams_and_events_are_counted(void **state)
{
    struct contract *contract = *state;
    braid_device_info before, during, after;
    braid_device_get_info(contract->device, &before);
    braid_stream *stream;
    braid_event *event;
    check_ok(braid_stream_create(contract->device, NULL, &stream));
    check_ok(braid_event_create(contract->device, NULL, &event));
    braid_device_get_info(contract->device, &during);
    assert_int_equal(during.streams_live, before.streams_live + 1);
    assert_int_equal(during.events_live, before.events_live + 1);
    braid_event_destroy(event);
    braid_stream_destroy(stream);
    braid_device_get_info(contract->device, &after);
    assert_int_equal(after.streams_live, before.streams_live);
    assert_int_equal(after.events_live, before.events_live);
}

int run_growth(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_thousand_frames_create_no_streams_or_events),
        contract_test(a_launch_after_the_first_allocates_and_frees_nothing),
        contract_test(a_launch_with_a_deadline_allocates_and_frees_nothing),
        contract_test(an_exec_leases_what_it_says_and_gives_it_back),
        contract_test(execs_that_come_and_go_share_one_pool),
        contract_test(public_streams_and_events_are_counted),
    };
    return contract_run("frames make nothing grow", tests);
}
