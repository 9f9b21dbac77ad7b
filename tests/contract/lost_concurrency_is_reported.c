// SPDX-License-Identifier: Apache-2.0
// Law 10: concurrency is never lost in silence. What can overlap does, and where a resource, a lane
// limit or a hint serialises two free nodes, the schedule says which pair and why.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/wide_plan.h"

enum { busy_ns = 1000000 };

static braid_schedule_info info_of(const braid_exec *exec)
{
    braid_schedule_info info;
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    return info;
}

// The pair as the schedule reports it; fails the test when it does not.
static braid_serialisation find_pair(const braid_exec *exec, braid_node a, braid_node b)
{
    braid_serialisation found = { 0 };
    for (size_t i = 0; i < info_of(exec).num_serialisations; i++) {
        found = info_of(exec).serialisations[i];
        if ((found.first == a.index && found.second == b.index) ||
            (found.first == b.index && found.second == a.index))
            return found;
    }
    fail_msg("the schedule does not report the pair");
    return found;
}

static bool overlap(const uint64_t *a, const uint64_t *b)
{
    return a[0] < b[1] && b[0] < a[1];
}

// Two busy nodes as the caller describes them; runs them once and says whether they overlapped.
static bool run_pair(struct contract *contract, braid_graph *graph, uint64_t *intervals,
                     const braid_schedule_options *plan, braid_exec **out_exec)
{
    *out_exec = contract_exec_planned(contract, graph, plan);
    check_ok(braid_exec_launch(*out_exec, NULL));
    check_ok(braid_exec_wait(*out_exec));
    uint64_t seen[4];
    contract_read(contract, seen, intervals, sizeof(seen));
    assert_true(seen[0] < seen[1] && seen[2] < seen[3]);
    return overlap(seen, seen + 2);
}

static void free_nodes_overlap(void **state)
{
    struct contract *contract = *state;
    uint32_t *flags = contract_numbers(contract, 2), *met = contract_numbers(contract, 2);
    braid_graph *graph = contract_graph(contract);
    for (uint32_t i = 0; i < 2; i++)
        add_handshake(graph, (braid_node_options){ .cost_ns = busy_ns }, flags, met, i);
    const braid_schedule_options plan = { .costs = &free_costs,
                                          .max_lanes = 2,
                                          .fixed_lanes = true };
    braid_exec *exec = contract_exec_planned(contract, graph, &plan);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    for (int i = 0; i < 2; i++)
        assert_int_equal(contract_number(contract, met + i), 1);
    assert_int_equal(info_of(exec).num_serialisations, 0);
    assert_int_equal(info_of(exec).num_lanes, 2);
}

// Two that add to one list run at once; who reads it runs after both.
static void nodes_that_accumulate_overlap_and_a_reader_follows_both(void **state)
{
    struct contract *contract = *state;
    uint32_t *flags = contract_numbers(contract, 2), *met = contract_numbers(contract, 3);
    braid_graph *graph = contract_graph(contract);
    braid_resource list = add_resource(graph, "list");
    for (uint32_t i = 0; i < 2; i++)
        add_handshake(graph,
                      (braid_node_options){ .cost_ns = busy_ns, USES({ list, BRAID_ACCUMULATE }) },
                      flags, met, i);
    add_add(graph, (braid_node_options){ USES({ list, BRAID_READ }) }, met + 2, met, met + 1, 1);
    const braid_schedule_options plan = { .costs = &free_costs,
                                          .max_lanes = 2,
                                          .fixed_lanes = true };
    braid_exec *exec = contract_exec_planned(contract, graph, &plan);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, met + 2), 2); // both had met when it read
    assert_int_equal(info_of(exec).num_serialisations, 0);
}

static void two_users_of_one_scratch_are_serialised_and_the_schedule_says_so(void **state)
{
    struct contract *contract = *state;
    uint64_t *intervals = contract_memory(contract, BRAID_MEMORY_DEVICE, 4 * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    braid_resource scratch = add_resource(graph, "scratch:tmp");
    braid_node nodes[2];
    for (uint32_t i = 0; i < 2; i++)
        nodes[i] = add_busy(graph,
                            (braid_node_options){ .name = i ? "right" : "left",
                                                  USES({ scratch, BRAID_EXCLUSIVE }) },
                            intervals + 2 * i, busy_ns);
    const braid_schedule_options plan = wide_plan();
    braid_exec *exec;
    assert_false(run_pair(contract, graph, intervals, &plan, &exec));
    braid_serialisation pair = find_pair(exec, nodes[0], nodes[1]);
    assert_int_equal(pair.cause, BRAID_SERIALISED_BY_RESOURCE);
    assert_string_equal(pair.resource_name, "scratch:tmp");
    char text[256];
    check_ok(braid_schedule_explain(braid_exec_get_schedule(exec), nodes, 2, text, sizeof(text)));
    assert_non_null(strstr(text, "scratch:tmp"));
}

// Two handshakes meet in two slots; then four users have them in turn.
static void slots_let_as_many_nodes_run_at_once(void **state)
{
    struct contract *contract = *state;
    uint32_t *flags = contract_numbers(contract, 2), *met = contract_numbers(contract, 2);
    uint64_t *intervals = contract_memory(contract, BRAID_MEMORY_DEVICE, 8 * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    braid_resource slots;
    check_ok(braid_graph_add_slots(graph, "two at once", 2, &slots));
    for (uint32_t i = 0; i < 2; i++)
        add_handshake(graph,
                      (braid_node_options){ .cost_ns = busy_ns, USES({ slots, BRAID_EXCLUSIVE }) },
                      flags, met, i);
    for (uint32_t i = 0; i < 4; i++)
        add_busy(graph,
                 (braid_node_options){ .cost_ns = busy_ns, USES({ slots, BRAID_EXCLUSIVE }) },
                 intervals + 2 * i, busy_ns);
    const braid_schedule_options plan = wide_plan();
    braid_exec *exec = contract_exec_planned(contract, graph, &plan);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    for (int i = 0; i < 2; i++)
        assert_int_equal(contract_number(contract, met + i), 1);
    uint64_t seen[8];
    contract_read(contract, seen, intervals, sizeof(seen));
    assert_true(seen[0] < seen[1] && seen[2] < seen[3]);
    if (contract_places() == 1) // one clock: the next two hold the same slots
        assert_true(seen[1] <= seen[4] && seen[3] <= seen[6]);
    assert_string_equal(
        find_pair(exec, braid_graph_get_node(graph, 2), braid_graph_get_node(graph, 4))
            .resource_name,
        "two at once");
}

// The refusal of a larger grid tells the largest. 0: a refusal has another reason.
static uint32_t find_largest_grid(struct contract *contract)
{
    static const char before[] = "room for a grid of ";
    braid_graph *graph = contract_graph(contract);
    add_meet(graph, (braid_node_options){ .name = "meet" }, contract_numbers(contract, 3), 1 << 24);
    const braid_exec_options options = { .mode = contract->mode, .islands = contract_islands() };
    braid_exec *exec;
    braid_status status = braid_exec_create(contract->device, graph, &options, &exec);
    if (status == BRAID_OK) { // one call has all blocks
        braid_exec_destroy(exec);
        return 64;
    }
    const char *message = braid_error_get_message(), *number = strstr(message, before);
    assert_int_equal(status, BRAID_UNSUPPORTED);
    assert_non_null(strstr(message, "'meet'"));
    assert_true(number || strstr(message, "cooperative"));
    return number ? (uint32_t)strtoul(number + strlen(before), NULL, 10) : 0;
}

static void check_meeting(struct contract *contract, braid_exec *exec, const uint32_t *numbers,
                          uint32_t blocks)
{
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    uint32_t seen[8];
    contract_read(contract, seen, numbers, sizeof(seen));
    assert_int_equal(seen[1], blocks);
    assert_int_equal(seen[2], 0);
    assert_int_equal(seen[5], blocks);
    assert_int_equal(seen[6], 0);
}

// Each of two lanes has a kernel that fills the device.
static void all_blocks_of_a_cooperative_kernel_meet(void **state)
{
    struct contract *contract = *state;
    uint32_t largest = find_largest_grid(contract);
    if (!largest)
        skip_because("the device has no cooperative launches, or this mode plays none");
    uint32_t *numbers = contract_numbers(contract, 8);
    braid_graph *graph = contract_graph(contract);
    braid_node nodes[2];
    for (uint32_t i = 0; i < 2; i++)
        nodes[i] = add_meet(
            graph,
            (braid_node_options){ AFTER(add_fill(graph, (braid_node_options){ .cost_ns = busy_ns },
                                                 numbers + 4 * i, 0, 3)),
                                  .cost_ns = busy_ns },
            numbers + 4 * i, largest);
    const braid_schedule_options plan = wide_plan();
    braid_exec *exec = contract_exec_planned(contract, graph, &plan);
    for (int frame = 0; frame < 3; frame++)
        check_meeting(contract, exec, numbers, largest);
    const braid_dim3 more = { largest + 1, 1, 1 }, fewer = { largest - 1, 1, 1 };
    if (!contract_is_on_host())
        check_fails(braid_exec_set(exec, nodes[0], BRAID_TARGET_GRID, 0, &more), BRAID_UNSUPPORTED,
                    "blocks at once");
    for (uint32_t i = 0; i < 2; i++)
        check_ok(braid_exec_set(exec, nodes[i], BRAID_TARGET_GRID, 0, &fewer));
    check_meeting(contract, exec, numbers, largest - 1);
}

static void two_users_of_one_random_state_are_serialised(void **state)
{
    struct contract *contract = *state;
    uint64_t *intervals = contract_memory(contract, BRAID_MEMORY_DEVICE, 4 * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    braid_resource random = add_resource(graph, "rng");
    braid_node nodes[2];
    for (uint32_t i = 0; i < 2; i++)
        nodes[i] = add_busy(graph, (braid_node_options){ USES({ random, BRAID_WRITE }) },
                            intervals + 2 * i, busy_ns);
    const braid_schedule_options plan = wide_plan();
    braid_exec *exec;
    assert_false(run_pair(contract, graph, intervals, &plan, &exec));
    assert_string_equal(find_pair(exec, nodes[0], nodes[1]).resource_name, "rng");
}

static void data_flow_is_not_reported_as_a_loss(void **state)
{
    struct contract *contract = *state;
    uint64_t *intervals = contract_memory(contract, BRAID_MEMORY_DEVICE, 4 * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    braid_resource image = add_resource(graph, "image");
    add_busy(graph, (braid_node_options){ USES({ image, BRAID_WRITE }) }, intervals, busy_ns);
    add_busy(graph, (braid_node_options){ USES({ image, BRAID_READ }) }, intervals + 2, busy_ns);
    const braid_schedule_options plan = wide_plan();
    braid_exec *exec;
    assert_false(run_pair(contract, graph, intervals, &plan, &exec));
    assert_int_equal(info_of(exec).num_serialisations, 0);
}

static void a_lane_limit_is_reported(void **state)
{
    struct contract *contract = *state;
    uint64_t *intervals = contract_memory(contract, BRAID_MEMORY_DEVICE, 4 * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    braid_node nodes[2];
    for (uint32_t i = 0; i < 2; i++)
        nodes[i] =
            add_busy(graph, (braid_node_options){ .cost_ns = busy_ns }, intervals + 2 * i, busy_ns);
    const braid_schedule_options plan = { .costs = &free_costs, .max_lanes = 1 };
    braid_exec *exec;
    if (contract_places() > 1)
        skip_because("the limit is of each device");
    assert_false(run_pair(contract, graph, intervals, &plan, &exec));
    assert_int_equal(find_pair(exec, nodes[0], nodes[1]).cause, BRAID_SERIALISED_BY_LANES);
}

static void a_lane_hint_is_reported(void **state)
{
    struct contract *contract = *state;
    uint64_t *intervals = contract_memory(contract, BRAID_MEMORY_DEVICE, 4 * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    braid_node nodes[2];
    for (uint32_t i = 0; i < 2; i++)
        nodes[i] = add_busy(graph, (braid_node_options){ .cost_ns = busy_ns, .lane_hint = 1 },
                            intervals + 2 * i, busy_ns);
    const braid_schedule_options plan = { .costs = &free_costs,
                                          .max_lanes = 2,
                                          .fixed_lanes = true };
    braid_exec *exec;
    assert_false(run_pair(contract, graph, intervals, &plan, &exec));
    assert_int_equal(find_pair(exec, nodes[0], nodes[1]).cause, BRAID_SERIALISED_BY_HINT);
}

static void an_exec_says_which_mode_it_uses_and_why(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1);
    braid_graph *graph = contract_graph(contract);
    add_axpy(graph, (braid_node_options){ 0 }, data, data, 1, 1, 1);
    const braid_exec_mode modes[] = { BRAID_MODE_AUTO, contract->mode };
    for (int i = 0; i < 2; i++) {
        braid_exec_options options = { .mode = modes[i] };
        braid_exec *exec;
        check_ok(braid_exec_create(contract->device, graph, &options, &exec));
        contract_own_exec(contract, exec);
        braid_exec_info info;
        braid_exec_get_info(exec, &info);
        assert_int_not_equal(info.mode, BRAID_MODE_AUTO);
        if (modes[i] != BRAID_MODE_AUTO)
            assert_int_equal(info.mode, modes[i]);
        assert_true(strlen(info.reason) > 0);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
    }
    assert_int_equal(contract_number(contract, data), 2);
}

static braid_status refuse(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    (void)user;
    return BRAID_UNSUPPORTED;
}

static void count_message(braid_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    ++*(int *)user;
}

// Where a call cannot be part of a driver graph, streams are the answer and not an error.
static void an_exec_that_falls_back_to_streams_says_why_and_logs_nothing(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    add_queue_call(graph, (braid_node_options){ .name = "solver" }, refuse, NULL);
    assert_int_not_equal(braid_graph_create(NULL), BRAID_OK);
    char before[256];
    snprintf(before, sizeof(before), "%s", braid_error_get_message());
    int num_logged = 0;
    braid_exec *exec;
    braid_log_set(count_message, &num_logged);
    braid_status status = braid_exec_create(contract->device, graph, NULL, &exec);
    braid_log_set(NULL, NULL);
    check_ok(status);
    contract_own_exec(contract, exec);
    assert_int_equal(num_logged, 0);
    assert_string_equal(braid_error_get_message(), before);
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    assert_int_equal(info.mode, BRAID_MODE_STREAMS);
    assert_true(strstr(info.reason, "solver") || strstr(info.reason, "default"));
}

// Any other failure of the graph is the call's own.
static void a_creation_that_fails_logs_its_message_once(void **state)
{
    struct contract *contract = *state;
    int num_logged = 0;
    braid_graph *graph = contract_graph(contract);
    braid_node load = add_empty(graph, (braid_node_options){ .name = "load" });
    check_ok(braid_graph_add_edge(
        graph, add_empty(graph, (braid_node_options){ .name = "mix", AFTER(load) }), load));
    braid_exec *exec;
    braid_log_set(count_message, &num_logged);
    braid_status status = braid_exec_create(contract->device, graph, NULL, &exec);
    braid_log_set(NULL, NULL);
    check_fails(status, BRAID_CYCLE, "mix");
    assert_int_equal(num_logged, 1);
}

int run_concurrency(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(free_nodes_overlap),
        contract_test(nodes_that_accumulate_overlap_and_a_reader_follows_both),
        contract_test(two_users_of_one_scratch_are_serialised_and_the_schedule_says_so),
        contract_test(slots_let_as_many_nodes_run_at_once),
        contract_test(all_blocks_of_a_cooperative_kernel_meet),
        contract_test(two_users_of_one_random_state_are_serialised),
        contract_test(data_flow_is_not_reported_as_a_loss),
        contract_test(a_lane_limit_is_reported),
        contract_test(a_lane_hint_is_reported),
        contract_test(an_exec_says_which_mode_it_uses_and_why),
        contract_test(an_exec_that_falls_back_to_streams_says_why_and_logs_nothing),
        contract_test(a_creation_that_fails_logs_its_message_once),
    };
    return contract_run("lost concurrency is reported", tests);
}
