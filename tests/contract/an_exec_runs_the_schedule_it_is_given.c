// SPDX-License-Identifier: Apache-2.0
// An exec runs the schedule it is given, refuses one of another graph, and gives the same results
// whatever the plan.
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/wide_plan.h"

enum { width = 5, depth = 4, MOST_CHAINS = 16 };

static braid_graph *mesh(struct contract *contract, uint32_t *data)
{
    braid_graph *graph = contract_graph(contract);
    braid_resource cells[width];
    for (uint32_t i = 0; i < width; i++)
        cells[i] = add_resource(graph, "cell");
    for (uint32_t row = 0; row < depth; row++)
        for (uint32_t i = 0; i < width; i++) {
            uint32_t next = (i + 1) % width;
            add_add(graph,
                    (braid_node_options){
                        USES({ cells[i], BRAID_READ_WRITE }, { cells[next], BRAID_READ }) },
                    data + i, data + i, data + next, 1);
        }
    return graph;
}

static void expect_mesh(uint32_t *cells)
{
    for (uint32_t row = 0; row < depth; row++)
        for (uint32_t i = 0; i < width; i++)
            cells[i] += cells[(i + 1) % width];
}

static braid_exec *exec_of(struct contract *contract, const braid_graph *graph,
                           braid_schedule *schedule)
{
    const braid_exec_options options = { .mode = contract->mode, .schedule = schedule };
    braid_exec *exec;
    braid_status status = braid_exec_create(contract->device, graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED && contract->mode == BRAID_MODE_GRAPH) {
        braid_schedule_destroy(schedule);
        skip_because(braid_error_get_message());
    }
    check_ok(status);
    contract_own_exec(contract, exec);
    return exec;
}

static void every_plan_gives_the_same_results(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, width);
    uint32_t expected[width] = { 1, 2, 3, 4, 5 }, seen[width];
    contract_write(contract, data, expected, sizeof(expected));
    braid_graph *graph = mesh(contract, data);
    const braid_schedule_options plans[] = {
        { .costs = &free_costs },
        { .device = contract->device, .max_lanes = 1 },
        { .costs = &free_costs, .max_lanes = 2, .fixed_lanes = true },
        { .costs = &free_costs, .max_lanes = 5, .fixed_lanes = true },
        wide_plan(),
    };
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
        braid_schedule *schedule;
        check_ok(braid_schedule_create(graph, &plans[i], &schedule));
        braid_schedule_info info;
        braid_schedule_get_info(schedule, &info);
        assert_true(!plans[i].max_lanes || info.num_lanes <= plans[i].max_lanes);
        braid_exec *exec = exec_of(contract, graph, schedule);
        braid_schedule_destroy(schedule); // the exec has its own
        braid_schedule_info kept;
        braid_schedule_get_info(braid_exec_get_schedule(exec), &kept);
        assert_int_equal(kept.num_lanes, info.num_lanes);
        assert_int_equal(kept.num_waits, info.num_waits);
        for (int frame = 0; frame < 3; frame++) {
            check_ok(braid_exec_launch(exec, NULL));
            expect_mesh(expected);
        }
        check_ok(braid_exec_wait(exec));
        contract_read(contract, seen, data, sizeof(seen));
        assert_memory_equal(seen, expected, sizeof(seen));
    }
}

static bool steps_are_equal(const braid_schedule *a, const braid_schedule *b)
{
    braid_schedule_info of_a, of_b;
    braid_schedule_get_info(a, &of_a);
    braid_schedule_get_info(b, &of_b);
    const braid_step *steps_a = of_a.steps, *steps_b = of_b.steps;
    size_t num_a = of_a.num_steps, num_b = of_b.num_steps;
    return num_a == num_b && memcmp(steps_a, steps_b, num_a * sizeof(*steps_a)) == 0;
}

static void a_saved_plan_gives_the_same_results(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 2 * width);
    uint32_t expected[width] = { 1, 2, 3, 4, 5 }, seen[width];
    contract_write(contract, data + width, expected, sizeof(expected));
    braid_graph *graph = mesh(contract, data), *equal = mesh(contract, data + width);
    braid_schedule *schedule, *loaded;
    const braid_schedule_options plan = wide_plan();
    check_ok(braid_schedule_create(graph, &plan, &schedule));
    braid_status status = contract_load_saved(schedule, graph, equal, &loaded);
    bool is_equal = !status && steps_are_equal(schedule, loaded);
    braid_schedule_destroy(schedule);
    check_ok(status);
    assert_true(is_equal);
    braid_exec *exec = exec_of(contract, equal, loaded);
    braid_schedule_destroy(loaded);
    for (int frame = 0; frame < 3; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        expect_mesh(expected);
    }
    check_ok(braid_exec_wait(exec));
    contract_read(contract, seen, data + width, sizeof(seen));
    assert_memory_equal(seen, expected, sizeof(seen));
}

static void two_execs_can_share_one_schedule(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, width);
    uint32_t expected[width] = { 5, 4, 3, 2, 1 }, seen[width];
    contract_write(contract, data, expected, sizeof(expected));
    braid_graph *graph = mesh(contract, data);
    braid_schedule *schedule;
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    braid_exec *execs[2] = { exec_of(contract, graph, schedule),
                             exec_of(contract, graph, schedule) };
    braid_schedule_destroy(schedule);
    for (int frame = 0; frame < 4; frame++) {
        check_ok(braid_exec_launch(execs[frame % 2], NULL)); // one stream, so in this order
        expect_mesh(expected);
    }
    contract_destroy_exec(contract, execs[0]);
    check_ok(braid_exec_wait(execs[1]));
    contract_read(contract, seen, data, sizeof(seen));
    assert_memory_equal(seen, expected, sizeof(seen));
}

static void a_schedule_of_another_graph_is_refused(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, width);
    braid_graph *graph = mesh(contract, data), *other = mesh(contract, data);
    braid_schedule *schedule;
    check_ok(
        braid_schedule_create(other, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    braid_device_info before, after;
    braid_device_get_info(contract->device, &before);
    const braid_exec_options options = { .mode = contract->mode, .schedule = schedule };
    braid_exec *exec = NULL;
    check_fails(braid_exec_create(contract->device, graph, &options, &exec), BRAID_INVALID_ARGUMENT,
                "graph");
    assert_null(exec);
    check_fails(braid_schedule_verify(schedule, graph), BRAID_INVALID_ARGUMENT, "graph");
    braid_device_get_info(contract->device, &after);
    assert_memory_equal(&before, &after, sizeof(before));
    braid_schedule_destroy(schedule);
}

static void a_schedule_from_before_the_graph_changed_is_refused(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, width);
    braid_graph *graph = mesh(contract, data);
    braid_schedule *schedule;
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    check_ok(braid_graph_add_edge(graph, braid_graph_get_node(graph, 0),
                                  braid_graph_get_node(graph, 9)));
    const braid_exec_options options = { .mode = contract->mode, .schedule = schedule };
    braid_exec *exec;
    check_fails(braid_exec_create(contract->device, graph, &options, &exec), BRAID_INVALID_ARGUMENT,
                "graph");
    braid_schedule_destroy(schedule);
}

static braid_schedule *plan_free_nodes(struct contract *contract, uint32_t hint, uint32_t max_lanes)
{
    braid_graph *graph = contract_graph(contract);
    for (uint32_t i = 0; i < 4; i++)
        add_empty(graph, (braid_node_options){ .lane_hint = hint, .cost_ns = 1000 });
    const braid_schedule_options plan = { .costs = &free_costs,
                                          .max_lanes = max_lanes,
                                          .fixed_lanes = true };
    braid_schedule *schedule;
    check_ok(braid_schedule_create(graph, &plan, &schedule));
    return schedule;
}

// All that steers the planner is part of what a schedule is made from; the same input gives the
// same plan again.
static void hints_and_lane_limits_give_schedules_of_their_own(void **state)
{
    struct contract *contract = *state;
    braid_schedule *plain = plan_free_nodes(contract, 0, 4);
    braid_schedule *others[] = { plan_free_nodes(contract, 0, 4), plan_free_nodes(contract, 1, 4),
                                 plan_free_nodes(contract, 0, 2) };
    for (int i = 0; i < 3; i++) {
        assert_true(steps_are_equal(plain, others[i]) == (i == 0));
        braid_schedule_destroy(others[i]);
    }
    braid_schedule_destroy(plain);
}

static void an_exec_is_not_touched_by_later_changes_of_its_graph(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 2);
    braid_graph *graph = contract_graph(contract);
    add_axpy(graph, (braid_node_options){ 0 }, data, data, 1, 1, 1);
    braid_exec *exec = contract_exec(contract, graph);
    add_axpy(graph, (braid_node_options){ 0 }, data + 1, data + 1, 1, 1, 1);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data), 1);
    assert_int_equal(contract_number(contract, data + 1), 0);
}

static bool tells_of_other_costs(struct contract *contract, const braid_graph *graph,
                                 const braid_schedule_options *plan)
{
    braid_schedule *schedule;
    braid_exec_info info;
    check_ok(braid_schedule_create(graph, plan, &schedule));
    braid_exec *exec = exec_of(contract, graph, schedule);
    braid_schedule_destroy(schedule);
    braid_exec_get_info(exec, &info);
    bool tells = strstr(info.reason, "planned for other costs than those of ") != NULL;
    contract_destroy_exec(contract, exec);
    return tells;
}

static void a_schedule_for_other_costs_is_told(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    add_empty(graph, (braid_node_options){ .cost_ns = 1000 });
    braid_device_info device;
    braid_device_get_info(contract->device, &device);
    const braid_schedule_options own = { .costs = device.costs[contract->mode], .max_lanes = 1 };
    braid_cost_model other = *own.costs;
    other.wait_ns++;
    assert_false(tells_of_other_costs(contract, graph, &own));
    assert_true(
        tells_of_other_costs(contract, graph, &(braid_schedule_options){ .costs = &other }));
    assert_true(
        tells_of_other_costs(contract, graph, &(braid_schedule_options){ .costs = &free_costs }));
}

// Both name the costs; those that are given count.
static void a_schedule_is_for_a_device_or_for_costs(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    braid_schedule *schedules[3];
    braid_schedule_info infos[3];
    for (int i = 0; i < 2; i++)
        add_empty(graph, (braid_node_options){ .cost_ns = 1000, .lane_hint = 1 });
    check_fails(braid_schedule_create(graph, NULL, &schedules[0]), BRAID_INVALID_ARGUMENT,
                "options name neither the device nor the costs");
    braid_device_info device;
    braid_device_get_info(contract->device, &device);
    const braid_cost_model dear = { .node_ns = 123456 };
    const braid_schedule_options options[] = {
        { .device = contract->device },
        { .costs = device.costs[BRAID_MODE_AUTO] },
        { .device = contract->device, .costs = &dear },
    };
    for (int i = 0; i < 3; i++) {
        check_ok(braid_schedule_create(graph, &options[i], &schedules[i]));
        braid_schedule_get_info(schedules[i], &infos[i]);
        braid_schedule_destroy(schedules[i]);
    }
    assert_int_equal(infos[0].makespan_ns, infos[1].makespan_ns);
    assert_int_not_equal(infos[2].makespan_ns, infos[0].makespan_ns);
}

// By default a plan for a device has as many lanes as that of an exec, whose mode the device
// chooses.
static void a_plan_for_a_device_has_the_lanes_of_an_exec(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, MOST_CHAINS);
    for (uint32_t num = 1; num <= MOST_CHAINS; num *= 2) {
        braid_graph *graph = contract_graph(contract);
        for (uint32_t i = 0; i < num; i++) {
            braid_resource cell = add_resource(graph, "cell");
            for (uint32_t k = 0; k < depth; k++)
                add_add(graph,
                        (braid_node_options){ USES({ cell, BRAID_READ_WRITE }), .cost_ns = 100000 },
                        data + i, data + i, data + i, 1);
        }
        braid_schedule *schedule;
        braid_schedule_info planned, run;
        check_ok(braid_schedule_create(
            graph, &(braid_schedule_options){ .device = contract->device }, &schedule));
        braid_schedule_get_info(schedule, &planned);
        braid_schedule_destroy(schedule);
        braid_exec *exec;
        check_ok(braid_exec_create(contract->device, graph, NULL, &exec));
        contract_own_exec(contract, exec);
        braid_schedule_get_info(braid_exec_get_schedule(exec), &run);
        assert_int_equal(planned.num_lanes, run.num_lanes);
        assert_int_equal(planned.num_lanes > 1, num > 1);
    }
}

// A model of zeros is given like any other; without one the device's own counts.
static void an_exec_plans_with_the_costs_it_is_given(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    for (int i = 0; i < 2; i++)
        add_empty(graph, (braid_node_options){ .cost_ns = 1000, .lane_hint = 1 });
    const braid_cost_model dear = { .node_ns = 123 };
    const braid_cost_model *costs[] = { &free_costs, &dear };
    for (int i = 0; i < 2; i++) {
        braid_exec *exec = NULL;
        braid_schedule_info info;
        const braid_exec_options options = { .mode = contract->mode, .costs = costs[i] };
        check_ok(braid_exec_create(contract->device, graph, &options, &exec));
        contract_own_exec(contract, exec);
        braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
        assert_int_equal(info.makespan_ns, 2 * 1000 + costs[i]->node_ns); // added to the second
    }
}

static void bad_arguments_are_refused(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    braid_exec *exec;
    check_fails(braid_exec_create(NULL, graph, NULL, &exec), BRAID_INVALID_ARGUMENT, "device");
    check_fails(braid_exec_create(contract->device, NULL, NULL, &exec), BRAID_INVALID_ARGUMENT,
                "graph");
    check_fails(braid_exec_create(contract->device, graph, NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_exec_launch(NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_exec_wait(NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_exec_wait_for(NULL, BRAID_LAST_FRAME, 0), BRAID_INVALID_ARGUMENT, "");
}

int run_schedules(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(every_plan_gives_the_same_results),
        contract_test(a_saved_plan_gives_the_same_results),
        contract_test(two_execs_can_share_one_schedule),
        contract_test(a_schedule_of_another_graph_is_refused),
        contract_test(a_schedule_from_before_the_graph_changed_is_refused),
        contract_test(hints_and_lane_limits_give_schedules_of_their_own),
        contract_test(an_exec_is_not_touched_by_later_changes_of_its_graph),
        contract_test(a_schedule_for_other_costs_is_told),
        contract_test(a_schedule_is_for_a_device_or_for_costs),
        contract_test(a_plan_for_a_device_has_the_lanes_of_an_exec),
        contract_test(an_exec_plans_with_the_costs_it_is_given),
        contract_test(bad_arguments_are_refused),
    };
    return contract_run("an exec runs the schedule it is given", tests);
}
