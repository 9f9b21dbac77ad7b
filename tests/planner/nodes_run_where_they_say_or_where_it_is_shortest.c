// SPDX-License-Identifier: Apache-2.0
// A node runs on the device that it names, or where its memory keeps it; the others where the frame
// is shortest by the model, never longer than on one device. The plan tells of every copy.
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>
#include <braid/timeline.h>

#include "planner/places_testing.h"
#include "support/failing_memory.h"
#include "support/wide_plan.h"

static const braid_place_link slow = { .latency_ns = 100, .bytes_per_us = 1000, .wait_ns = 50 };

static uint32_t place_of(const braid_schedule *schedule, braid_node node)
{
    return placement_of(schedule, node).place;
}

static braid_planned_copy copy_at(const braid_schedule *schedule, size_t index)
{
    assert_true(index < info_of(schedule).num_copies);
    return info_of(schedule).copies[index];
}

static void a_copy_is_made_once_and_goes_home(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource field = add_home(graph, "velocity", 1000, 0);
    braid_node first =
        add_user(graph, &(struct user){ "first", 10, 1, { field }, { BRAID_READ_WRITE }, 1 });
    braid_node reads =
        add_user(graph, &(struct user){ "reads", 10, 2, { field }, { BRAID_READ }, 1 });
    braid_node again =
        add_user(graph, &(struct user){ "again", 10, 2, { field }, { BRAID_READ }, 1 });
    braid_node last =
        add_user(graph, &(struct user){ "last", 10, 2, { field }, { BRAID_WRITE }, 1 });
    braid_schedule *schedule = plan_on_devices(graph, 2, 1);
    braid_schedule_info info = info_of(schedule);
    assert_int_equal(info.num_places, 2);
    assert_int_equal(info.num_copies, 2);
    assert_int_equal(info.num_nodes, 6);
    assert_int_equal(info.copy_bytes, 2000);
    assert_int_equal(info.one_place_ns, 0);
    assert_int_equal(place_of(schedule, first), 1);
    assert_int_equal(place_of(schedule, reads), 2);
    assert_int_equal(place_of(schedule, again), 2);
    assert_int_equal(place_of(schedule, last), 2);
    braid_planned_copy there = copy_at(schedule, 0), back = copy_at(schedule, 1);
    assert_string_equal(there.resource_name, "velocity");
    assert_true(there.node == 4 && there.from == 1 && there.to == 2 && !there.is_return);
    assert_true(there.offset == 0 && there.bytes == 1000 && there.resource == field.index);
    assert_true(back.node == 5 && back.from == 2 && back.to == 1 && back.is_return);
    // 10, an edge of none, 100 + 1000 ns for the copy, 50 to the other device, 10.
    assert_int_equal(placement_of(schedule, reads).start_ns, 10 + 1100 + 50);
    assert_int_equal(info_of(schedule).num_copies, 2);
}

static void check_drawn(const braid_schedule *schedule, braid_drawing form,
                        const char *const texts[3])
{
    char *drawing = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&drawing, &length);
    assert_non_null(file);
    check_ok(braid_schedule_write(schedule, form, NULL, file));
    fclose(file);
    for (int i = 0; i < 3; i++) {
        if (texts[i] && !strstr(drawing, texts[i]))
            fail_msg("no '%s' in %s", texts[i], drawing);
    }
    free(drawing);
}

static void drawings_show_devices_and_copies(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource field = add_home(graph, "velocity", 1000, 0);
    braid_node first =
        add_user(graph, &(struct user){ "first", 10, 1, { field }, { BRAID_READ_WRITE }, 1 });
    braid_node reads =
        add_user(graph, &(struct user){ "reads", 10, 2, { field }, { BRAID_READ }, 1 });
    braid_schedule *schedule = plan_on_devices(graph, 2, 1);
    check_drawn(schedule, BRAID_DRAWING_DOT,
                (const char *const[3]){ "place 2, lane", "copy of velocity to place 2",
                                        "2 devices, 1000 bytes in 1 copies between them" });
    check_drawn(schedule, BRAID_DRAWING_SVG,
                (const char *const[3]){ "place 2, lane", "copy of velocity to place 2",
                                        "2 devices, 1000 bytes in 1 copies" });
    check_drawn(schedule, BRAID_DRAWING_TRACE,
                (const char *const[3]){ "place 2, lane", "copy of" });
    check_explains(schedule, first, reads, "ordered through copy of velocity to place 2");
}

// A part that is written elsewhere is copied, and no more.
static void parts_are_copied_alone(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource field = add_home(graph, "field", 1000, 2), left, right;
    check_ok(braid_graph_add_range(graph, field, 0, 400, &left));
    check_ok(braid_graph_add_range(graph, field, 400, 600, &right));
    add_user(graph, &(struct user){ "left", 10, 1, { left }, { BRAID_WRITE }, 1 });
    add_user(graph, &(struct user){ "right", 10, 2, { right }, { BRAID_WRITE }, 1 });
    add_user(graph, &(struct user){ "both", 10, 2, { field }, { BRAID_READ }, 1 });
    add_user(graph, &(struct user){ "other", 10, 1, { field }, { BRAID_READ }, 1 });
    braid_schedule *schedule = plan_on_devices(graph, 2, 4);
    assert_int_equal(info_of(schedule).num_copies, 2);
    braid_planned_copy first = copy_at(schedule, 0), second = copy_at(schedule, 1);
    assert_true(first.offset == 0 && first.bytes == 400 && first.from == 1 && first.to == 2);
    assert_true(second.offset == 400 && second.bytes == 600 && second.from == 2 && second.to == 1);
}

// Twelve nodes of 1000 ns with an output each.
static braid_graph *independent(uint32_t num, uint64_t cost_ns, uint64_t bytes)
{
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < num; i++) {
        braid_resource out = add_transient(graph, "out", bytes);
        add_user(graph, &(struct user){ "work", cost_ns, 0, { out }, { BRAID_WRITE }, 1 });
    }
    return graph;
}

static void work_is_shared_out_by_speed(void **state)
{
    (void)state;
    braid_graph *graph = independent(16, 1200, 8);
    const uint32_t speeds[] = { 1000, 3000 };
    const braid_place_model model = { .num_places = 2, .speeds = speeds, .link = slow };
    const braid_schedule_options options = { .costs = &(braid_cost_model){ .max_concurrent = 1 },
                                             .places = &model };
    braid_schedule *schedule = plan_with(graph, &options);
    // 4 of 1200 ns beside 12 of 400 ns.
    assert_int_equal(info_of(schedule).makespan_ns, 4800);
    assert_int_equal(info_of(schedule).one_place_ns, 16 * 400);
    assert_int_equal(info_of(schedule).num_copies, 0);
}

// A chain whose data is dear to move stays together; by itself it runs on the faster device.
static void a_chain_stays_together(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource data = add_transient(graph, "data", 100000);
    for (uint32_t i = 0; i < 10; i++)
        add_user(graph, &(struct user){
                            "link", 100, 0, { data }, { i ? BRAID_READ_WRITE : BRAID_WRITE }, 1 });
    const uint32_t speeds[] = { 1000, 2000 };
    const braid_place_model model = { .num_places = 2, .speeds = speeds, .link = slow };
    const braid_schedule_options options = { .costs = &free_costs, .places = &model };
    braid_schedule *schedule = plan_with(graph, &options);
    assert_int_equal(info_of(schedule).num_copies, 0);
    assert_int_equal(info_of(schedule).makespan_ns, 500);
    assert_int_equal(info_of(schedule).num_lanes, 1);
    assert_int_equal(place_of(schedule, braid_graph_get_node(graph, 0)), 2);
}

static void no_plan_is_longer_than_on_one_device(void **state)
{
    (void)state;
    struct random random = { 7 };
    for (int round = 0; round < 60; round++) {
        braid_graph *graph = new_graph();
        braid_resource outputs[30];
        uint32_t num = 2 + random_below(&random, 28), num_places = 2 + (uint32_t)round % 3;
        for (uint32_t i = 0; i < num; i++) {
            outputs[i] = add_transient(graph, "out", 1 + random_below(&random, 3000));
            struct user user = {
                "node", 1 + random_below(&random, 1000), 0, { outputs[i] }, { BRAID_WRITE }, 1
            };
            for (; i && user.num < 3 && random_chance(&random, 70); user.num++) {
                user.resources[user.num] = outputs[random_below(&random, i)];
                user.modes[user.num] = BRAID_READ;
            }
            add_user(graph, &user);
        }
        braid_schedule *schedule = plan_on_devices(graph, num_places, 1 + (uint32_t)round % 2);
        assert_true(info_of(schedule).one_place_ns > 0);
        assert_true(info_of(schedule).makespan_ns <= info_of(schedule).one_place_ns);
        destroy_now(schedule);
        destroy_now(graph);
    }
}

static void memory_that_must_stay_keeps_its_nodes(void **state)
{
    (void)state;
    braid_graph *graph = independent(6, 1000, 8);
    braid_resource fixed = add_home(graph, "fixed", 64, 2);
    braid_resource list = new_resource(graph, "list");
    braid_resource pinned = add_home(graph, "pinned", 64, BRAID_EVERYWHERE);
    check_ok(braid_graph_set_home(graph, list, 2));
    struct user user = { "stays", 10, 0, { fixed }, { BRAID_READ_WRITE }, 1, .by_pointer = true };
    braid_node stays = add_user(graph, &user);
    braid_node listed = new_user(graph, "listed", list, BRAID_EXCLUSIVE, NO_RESOURCE, 0);
    user =
        (struct user){ "anywhere", 10, 1, { pinned }, { BRAID_READ_WRITE }, 1, .by_pointer = true };
    braid_node anywhere = add_user(graph, &user);
    braid_schedule *schedule = plan_on_devices(graph, 2, 1);
    assert_int_equal(place_of(schedule, stays), 2);
    assert_int_equal(place_of(schedule, listed), 2);
    assert_int_equal(place_of(schedule, anywhere), 1);
    assert_int_equal(info_of(schedule).num_copies, 0);
    user = (struct user){ "astray", 10, 1, { fixed }, { BRAID_READ }, 1, .by_pointer = true };
    add_user(graph, &user);
    const braid_place_model model = { .num_places = 2 };
    const braid_schedule_options options = { .costs = &free_costs, .places = &model };
    check_fails(braid_schedule_create(graph, &options, &schedule), BRAID_INVALID_ARGUMENT,
                "cannot be on place 2, where 'fixed' is");
}

// The address of one part of a buffer leads to no other part, which the node then has a pointer to.
static braid_status queue_nothing(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream, (void)user;
    return BRAID_OK;
}

// By default it runs on the first place, and in a loop where the others are.
static void a_call_without_accesses_follows_its_loop(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource field = add_home(graph, "field", 1000, 0);
    braid_node call;
    const braid_queue_call queue = { .call = queue_nothing };
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 2 }, NULL));
    check_ok(braid_graph_add_queue_call(graph, &queue, &call));
    braid_node named =
        add_user(graph, &(struct user){ "named", 10, 2, { field }, { BRAID_READ }, 1 });
    check_ok(braid_graph_end(graph));
    braid_schedule *schedule = plan_on_devices(graph, 2, 1);
    assert_int_equal(place_of(schedule, named), 2);
    assert_int_equal(place_of(schedule, call), 2);
}

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static void the_address_of_a_part_is_of_no_other_part(void **state)
{
    (void)state;
    enum { low, high, middle, whole, num_parts };
    static const braid_kernel kernel = { .name = "user", .cpu = do_nothing };
    static const struct {
        int accessed, given, given_too;
        bool may_move;
    } cases[] = {
        { low, whole, whole, true },   { low, low, low, true },     { low, high, high, false },
        { middle, high, high, false }, { middle, high, low, true }, { whole, high, high, false },
        { whole, high, low, true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        braid_graph *graph = new_graph();
        braid_resource field = add_home(graph, "field", 16, 1);
        braid_resource parts[num_parts] = { [whole] = field };
        check_ok(braid_graph_add_range(graph, field, 0, 8, &parts[low]));
        check_ok(braid_graph_add_range(graph, field, 8, 8, &parts[high]));
        check_ok(braid_graph_add_range(graph, field, 4, 8, &parts[middle]));
        const braid_resource given = parts[cases[i].given], too = parts[cases[i].given_too];
        const braid_kernel_node user = {
            BRAID_ACCESSES({ parts[cases[i].accessed], BRAID_READ_WRITE }), .kernel = &kernel,
            .node.place = 2,
            BRAID_ARGS(braid_resource_address(&given), braid_resource_address(&too))
        };
        check_ok(braid_graph_add_kernel(graph, &user, NULL));
        const braid_place_model two = { .num_places = 2 };
        const braid_schedule_options options = { .costs = &free_costs, .places = &two };
        braid_schedule *schedule = NULL;
        braid_status status = braid_schedule_create(graph, &options, &schedule);
        if (cases[i].may_move)
            check_ok(status);
        else
            check_fails(status, BRAID_INVALID_ARGUMENT, "cannot be on place 1, where 'field");
        braid_schedule_destroy(schedule);
        destroy_now(graph);
    }
}

static void wrong_places_are_refused(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_schedule *schedule;
    braid_node main = add_user(graph, &(struct user){ .name = "third", .cost_ns = 1, .place = 3 });
    const uint32_t stopped[] = { 1000, 0 };
    const braid_place_model two = { .num_places = 2 }, many = { .num_places = 65 };
    const braid_place_model slow_two = { .num_places = 2, .speeds = stopped };
    check_fails(
        braid_schedule_create(
            graph, &(braid_schedule_options){ .costs = &free_costs, .places = &two }, &schedule),
        BRAID_INVALID_ARGUMENT, "is to run on place 3, and the plan is for 2 places");
    check_fails(
        braid_schedule_create(
            graph, &(braid_schedule_options){ .costs = &free_costs, .places = &many }, &schedule),
        BRAID_INVALID_ARGUMENT, "a plan for 65 devices");
    check_fails(braid_schedule_create(
                    graph, &(braid_schedule_options){ .costs = &free_costs, .places = &slow_two },
                    &schedule),
                BRAID_INVALID_ARGUMENT, "the speed of place 2 is 0");
    const braid_empty far = { .node.place = 65 };
    check_fails(braid_graph_add_empty(graph, &far, NULL), BRAID_INVALID_ARGUMENT,
                "its place is 65");
    const braid_empty before = { .node = { .place = 1, .prelude_of = main } };
    check_fails(braid_graph_add_empty(graph, &before, NULL), BRAID_INVALID_ARGUMENT,
                "runs on the device of its main node");
    braid_resource transient = add_transient(graph, "transient", 8);
    check_fails(braid_graph_set_home(graph, transient, 1), BRAID_INVALID_ARGUMENT,
                "'transient' is a transient buffer");
    // One device asks for none of it.
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    assert_int_equal(info_of(schedule).num_places, 1);
    assert_int_equal(place_of(schedule, main), 1);
    braid_schedule_destroy(schedule);
}

static void hints_share_a_device(void **state)
{
    (void)state;
    braid_graph *graph = independent(4, 1000, 8);
    for (uint32_t i = 0; i < 4; i++)
        add_user(graph,
                 &(struct user){
                     .name = "hinted", .cost_ns = 100, .lane_hint = 1, .place = i == 2 ? 2 : 0 });
    braid_schedule *schedule = plan_on_devices(graph, 2, 2);
    for (uint32_t i = 4; i < 8; i++)
        assert_int_equal(place_of(schedule, braid_graph_get_node(graph, i)), 2);
    add_user(graph, &(struct user){ .name = "apart", .cost_ns = 100, .lane_hint = 1, .place = 1 });
    const braid_place_model model = { .num_places = 2 };
    check_fails(
        braid_schedule_create(
            graph, &(braid_schedule_options){ .costs = &free_costs, .places = &model }, &schedule),
        BRAID_INVALID_ARGUMENT, "cannot be on one device");
}

static void chains_and_searches_know_places(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource field = add_home(graph, "field", 100, 0);
    for (uint32_t i = 0; i < 12; i++)
        add_user(
            graph,
            &(struct user){
                "step", 100, i % 2 + 1, { field }, { i % 3 ? BRAID_READ : BRAID_READ_WRITE }, 1 });
    const braid_place_model model = { .num_places = 2, .link = slow };
    for (int i = 0; i < 3; i++) {
        braid_cost_model costs = { 0 };
        braid_schedule_options options =
            i ? (braid_schedule_options){ .costs = &costs } : wide_plan();
        options.places = &model;
        costs.wait_ns = 5;
        destroy_now(plan_with(graph, &options));
    }
}

// Wide graphs with all that makes the planner try again.
static void no_device_has_more_lanes_than_allowed(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < 24; i++)
        add_user(graph, &(struct user){ "step", 40 + i * 7 % 30, i % 3 ? 0 : 2 });
    const braid_place_model model = { .num_places = 2, .link = slow };
    for (uint32_t most = 1; most <= 3; most++) {
        const braid_schedule_options options = {
            .costs = &free_costs, .places = &model, .max_lanes = most, .fixed_lanes = true
        };
        braid_schedule *schedule = plan_with(graph, &options);
        uint64_t lanes[2] = { 0 };
        for (uint32_t i = 0; i < 24; i++) {
            braid_placement placement = placement_of(schedule, braid_graph_get_node(graph, i));
            lanes[placement.place - 1] |= UINT64_C(1) << placement.lane;
        }
        for (int i = 0; i < 2; i++)
            assert_true((uint32_t)__builtin_popcountll(lanes[i]) <= most);
        assert_true(info_of(schedule).makespan_ns >= info_of(schedule).bound_ns);
        destroy_now(schedule);
    }
}

static void running_out_of_memory_leaks_nothing(void **state)
{
    (void)state;
    braid_graph *graph = independent(2, 100, 8);
    braid_resource field = add_home(graph, "field", 100, 0), part;
    check_ok(braid_graph_add_range(graph, field, 10, 20, &part));
    for (uint32_t i = 0; i < 3; i++)
        add_user(graph,
                 &(struct user){
                     "step", 100, i % 2 + 1, { i ? part : field }, { BRAID_READ_WRITE }, 1 });
    const braid_place_model model = { .num_places = 2, .link = slow };
    const braid_schedule_options options = { .costs = &(braid_cost_model){ .max_concurrent = 1 },
                                             .places = &model };
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        braid_schedule *schedule = NULL;
        failing_memory_arm(nth);
        braid_status status = braid_schedule_create(graph, &options, &schedule);
        if (!status)
            status = braid_schedule_verify(schedule, graph);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
        braid_schedule_destroy(schedule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_copy_is_made_once_and_goes_home),
        owning_test(drawings_show_devices_and_copies),
        owning_test(parts_are_copied_alone),
        owning_test(work_is_shared_out_by_speed),
        owning_test(a_chain_stays_together),
        owning_test(no_plan_is_longer_than_on_one_device),
        owning_test(memory_that_must_stay_keeps_its_nodes),
        owning_test(a_call_without_accesses_follows_its_loop),
        owning_test(the_address_of_a_part_is_of_no_other_part),
        owning_test(wrong_places_are_refused),
        owning_test(hints_share_a_device),
        owning_test(chains_and_searches_know_places),
        owning_test(no_device_has_more_lanes_than_allowed),
        owning_test(running_out_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
