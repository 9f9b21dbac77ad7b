// SPDX-License-Identifier: Apache-2.0
// Law 8: a launch or a creation that fails leaves no half-made state, and its error names the node.
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/failing_memory.h"

// A queue call that queues a fill, or fails without queueing anything when told to.
struct moody {
    uint32_t *data;
    uint32_t value;
    bool fails;
    uint32_t num_calls;
};

static braid_status fill_or_fail(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    struct moody *moody = user;
    moody->num_calls++;
    if (moody->fails)
        return BRAID_DEVICE_ERROR;
    return braid_stream_fill(stream, moody->data, moody->value, 4, 1);
}

// slow -> before -> [moody] -> after on one lane; on another a slower branch, which the plan takes
// for a short one and has queued long before the call is due.
static braid_graph *moody_graph(struct contract *contract, struct moody *moody, uint32_t *data)
{
    uint64_t *intervals = contract_memory(contract, BRAID_MEMORY_DEVICE, 4 * sizeof(uint64_t));
    const uint64_t slow_ns = 2000000, slower_ns = 6000000;
    braid_graph *graph = contract_graph(contract);
    braid_node slow =
        add_busy(graph, (braid_node_options){ .cost_ns = slow_ns }, intervals, slow_ns);
    braid_node before =
        add_axpy(graph, (braid_node_options){ AFTER(slow), .cost_ns = 1000 }, data, data, 1, 1, 1);
    braid_node queued = add_queue_call(
        graph, (braid_node_options){ .name = "gemm", AFTER(before), .cost_ns = 2 * slower_ns },
        fill_or_fail, moody);
    add_axpy(graph, (braid_node_options){ AFTER(queued), .cost_ns = 1000 }, data + 1, data + 1, 1,
             1, 1);
    add_axpy(graph,
             (braid_node_options){ .epilogue_of =
                                       add_busy(graph, (braid_node_options){ .cost_ns = 1000 },
                                                intervals + 2, slower_ns) },
             data + 2, data + 2, 1, 1, 1);
    return graph;
}

static braid_exec *exec_on_streams(struct contract *contract, const braid_graph *graph)
{
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS,
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true };
    braid_exec *exec;
    check_ok(braid_exec_create(contract->device, graph, &options, &exec));
    contract_own_exec(contract, exec);
    return exec;
}

static void a_queue_call_that_fails_is_named_and_the_next_launch_works(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 4), *seen = contract_host_numbers(contract, 4);
    struct moody moody = { .data = data + 3, .value = 42 };
    braid_stream *stream = contract_stream(contract);
    braid_exec *exec = exec_on_streams(contract, moody_graph(contract, &moody, data));
    check_ok(braid_exec_launch(exec, stream));
    braid_device_info before, after;
    braid_device_get_info(contract->device, &before);
    for (int i = 0; i < 3; i++) {
        moody.fails = true;
        check_fails(braid_exec_launch(exec, stream), BRAID_DEVICE_ERROR, "gemm");
        // What was queued is joined to the stream: a copy there comes behind it.
        check_ok(braid_stream_copy(stream, seen, data, 4 * sizeof(uint32_t)));
        check_ok(braid_stream_wait(stream));
        assert_int_equal(seen[0], 2 * i + 2);
        assert_int_equal(seen[1], i + 1); // behind the failed node: never queued
        assert_int_equal(seen[2], 2 * i + 2);
        moody.fails = false;
        check_ok(braid_exec_launch(exec, stream));
        check_ok(braid_exec_wait(exec));
    }
    braid_device_get_info(contract->device, &after);
    assert_memory_equal(&before, &after, sizeof(before));
    contract_read(contract, seen, data, 4 * sizeof(uint32_t));
    assert_int_equal(seen[1], 4);
    assert_int_equal(seen[3], 42);
}

// In a driver graph the call is made once, under capture: there it is the creation that fails.
static braid_status queue_nothing(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream, (void)user;
    return BRAID_OK;
}

// Where the first player refuses the exec that this makes, another one takes it.
static braid_status make_an_exec_and_fail(braid_device *device, braid_stream *stream, void *graph)
{
    braid_exec *exec;
    (void)stream;
    check_ok(braid_exec_create(device, graph, NULL, &exec));
    braid_exec_destroy(exec);
    return BRAID_BUSY;
}

static void a_queue_call_without_an_error_of_braid_is_told_without_one(void **state)
{
    struct contract *contract = *state;
    braid_graph *inner = contract_graph(contract), *graph = contract_graph(contract);
    add_queue_call(inner, (braid_node_options){ 0 }, queue_nothing, NULL);
    add_queue_call(graph, (braid_node_options){ .name = "maker" }, make_an_exec_and_fail, inner);
    braid_exec *exec = exec_on_streams(contract, graph);
    check_fails(braid_exec_set(exec, (braid_node){ 0 }, BRAID_TARGET_GRID, 0, NULL),
                BRAID_INVALID_ARGUMENT, "braid_exec_set");
    check_fails(braid_exec_launch(exec, NULL), BRAID_BUSY, "'maker' (");
    assert_null(strstr(braid_error_get_message(), "braid_exec_set"));
}

static void a_queue_call_that_fails_when_the_exec_is_made_is_named(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 4);
    struct moody moody = { .data = data + 3, .value = 42, .fails = true };
    braid_graph *graph = moody_graph(contract, &moody, data);
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH };
    braid_exec *exec = NULL;
    braid_status status = braid_exec_create(contract->device, graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED)
        skip_because(braid_error_get_message());
    if (status == BRAID_OK) { // a replay that calls at every launch: the launch fails instead
        contract_own_exec(contract, exec);
        check_fails(braid_exec_launch(exec, NULL), BRAID_DEVICE_ERROR, "gemm");
    } else {
        check_fails(status, BRAID_DEVICE_ERROR, "gemm");
        moody.fails = false;
        check_ok(braid_exec_create(contract->device, graph, &options, &exec));
        contract_own_exec(contract, exec);
    }
    moody.fails = false;
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data + 3), 42);
}

static void a_kernel_without_code_for_the_device_is_named(void **state)
{
    struct contract *contract = *state;
    const bool on_cpu = contract_is_on_host();
    const braid_kernel nowhere = { .name = "nowhere",
                                   .cpu = on_cpu ? NULL : test_axpy.cpu,
                                   .source = on_cpu ? test_axpy.source : NULL };
    uint32_t *data = contract_numbers(contract, 1);
    braid_graph *graph = contract_graph(contract);
    add_axpy(graph, (braid_node_options){ 0 }, data, data, 1, 1, 1);
    check_ok(braid_graph_add_kernel(
        graph, &(braid_kernel_node){ .node.name = "lost", .kernel = &nowhere }, NULL));
    const braid_exec_options options = { .mode = contract->mode };
    braid_device_info before, after;
    braid_device_get_info(contract->device, &before);
    braid_exec *exec;
    check_fails(braid_exec_create(contract->device, graph, &options, &exec), BRAID_UNSUPPORTED,
                "nowhere");
    braid_device_get_info(contract->device, &after);
    assert_int_equal(before.streams_leased, after.streams_leased);
    assert_int_equal(before.events_leased, after.events_leased);
}

static void a_block_larger_than_the_device_has_is_named(void **state)
{
    struct contract *contract = *state;
    braid_device_info info;
    braid_device_get_info(contract->device, &info);
    if (!info.max_threads_per_block)
        skip_because("this device has no limit on the size of a block");
    uint32_t *data = contract_numbers(contract, 1), one = 1;
    braid_graph *graph = contract_graph(contract);
    braid_kernel_node launch = { .node.name = "giant",
                                 .kernel = &test_axpy,
                                 .block = { 2 * info.max_threads_per_block, 1, 1 },
                                 BRAID_ARGS(BRAID_ARG(data), BRAID_ARG(data), BRAID_ARG(one),
                                            BRAID_ARG(one), BRAID_ARG(one)) };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    const braid_exec_options options = { .mode = contract->mode };
    braid_exec *exec;
    braid_status status = braid_exec_create(contract->device, graph, &options, &exec);
    if (status == BRAID_OK) {
        contract_own_exec(contract, exec);
        status = braid_exec_launch(exec, NULL);
    }
    assert_int_not_equal(status, BRAID_OK);
    assert_non_null(strstr(braid_error_get_message(), "giant"));
    check_ok(braid_stream_wait(braid_device_get_default_stream(contract->device)));
}

static void a_cycle_is_named(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    braid_node load = add_empty(graph, (braid_node_options){ .name = "load" });
    braid_node mix = add_empty(graph, (braid_node_options){ .name = "mix", AFTER(load) });
    check_ok(braid_graph_add_edge(graph, mix, load));
    braid_exec *exec;
    check_fails(braid_exec_create(contract->device, graph, NULL, &exec), BRAID_CYCLE, "load");
    check_fails(braid_exec_create(contract->device, graph, NULL, &exec), BRAID_CYCLE, "mix");
}

// Two lanes, waits, a copy and a fill: something of everything that an exec allocates for.
static braid_graph *counting_graph(struct contract *contract, uint32_t *data)
{
    braid_graph *graph = contract_graph(contract);
    braid_node left = add_axpy(graph, (braid_node_options){ 0 }, data, data, 1, 1, 1);
    braid_node right = add_axpy(graph, (braid_node_options){ 0 }, data + 1, data + 1, 1, 1, 1);
    braid_node both =
        add_add(graph, (braid_node_options){ AFTER(left, right) }, data + 2, data, data + 1, 1);
    add_copy(graph, (braid_node_options){ AFTER(both) }, data + 3, data + 2, 4);
    add_fill(graph, (braid_node_options){ .prelude_of = both }, data + 2, 0, 1);
    return graph;
}

// Whichever allocation fails while an exec is made: no leases are lost, and the next try works.
static void running_out_of_memory_while_an_exec_is_made_leaves_nothing_behind(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 4);
    braid_graph *graph = counting_graph(contract, data);
    // Once without failures, so that pools are filled and kernels are loaded.
    braid_exec *first = contract_exec(contract, graph);
    braid_device_info before, after;
    braid_device_get_info(contract->device, &before);
    const braid_exec_options options = { .mode = contract->mode,
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true };
    bool failed = true;
    for (uint32_t nth = 1; failed; nth++) {
        braid_exec *exec = NULL;
        failing_memory_arm(nth);
        braid_status status = braid_exec_create(contract->device, graph, &options, &exec);
        failed = failing_memory_disarm();
        if (!failed)
            check_ok(status);
        else if (status) // a failure may be got round: a smaller cache, say
            check_fails(status, BRAID_NO_MEMORY, "memory");
        braid_exec_destroy(exec);
        braid_device_get_info(contract->device, &after);
        assert_int_equal(before.streams_leased, after.streams_leased);
        assert_int_equal(before.events_leased, after.events_leased);
    }
    check_ok(braid_exec_launch(first, NULL));
    check_ok(braid_exec_wait(first));
    assert_int_equal(contract_number(contract, data + 3), 2);
}

// Memory that runs out during a launch, where it needs any, fails that launch and no later one.
static void running_out_of_memory_in_a_launch_leaves_the_exec_usable(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 4);
    braid_exec *exec = contract_exec(contract, counting_graph(contract, data));
    for (uint32_t nth = 1; nth < 4; nth++) {
        failing_memory_arm(nth);
        braid_status status = braid_exec_launch(exec, NULL);
        bool failed = failing_memory_disarm();
        if (status)
            assert_true(failed && status == BRAID_NO_MEMORY);
    }
    check_ok(braid_stream_wait(braid_device_get_default_stream(contract->device)));
    uint32_t value = contract_number(contract, data);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data), value + 1);
}

int run_failures(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_queue_call_that_fails_is_named_and_the_next_launch_works),
        contract_test(a_queue_call_without_an_error_of_braid_is_told_without_one),
        contract_test(a_queue_call_that_fails_when_the_exec_is_made_is_named),
        contract_test(a_kernel_without_code_for_the_device_is_named),
        contract_test(a_block_larger_than_the_device_has_is_named),
        contract_test(a_cycle_is_named),
        contract_test(running_out_of_memory_while_an_exec_is_made_leaves_nothing_behind),
        contract_test(running_out_of_memory_in_a_launch_leaves_the_exec_usable),
    };
    return contract_run("a failed launch leaves no trace", tests);
}
