// SPDX-License-Identifier: Apache-2.0
// Frames on a group of devices compute what their nodes do one after the other, wherever nodes and
// buffers are; and execs on a group keep the laws of execs. BRAID_TEST_SEED=N runs one graph.
#include <stdlib.h>
#include <string.h>

#include "groups/field.h"
#include "groups/loop_cases.h"
#include "groups/memory_cases.h"
#include "groups/placed_graph.h"
#include "support/check.h"
#include "support/kernels.h"
#include "support/wide_plan.h"

enum { NUM_GRAPHS = 30 };

// Copies on the caller's stream: those of a frame lie between launches.
static void copy_buffers(struct field *field, const struct placed_model *model, uint32_t *words,
                         bool to_devices)
{
    const uint64_t bytes = PLACED_WORDS * sizeof(uint32_t);
    for (uint32_t i = 0; i < model->num_buffers - model->num_transients; i++) {
        uint32_t *host = words + i * PLACED_WORDS;
        check_ok(braid_stream_copy(field->stream, to_devices ? field->addresses[i] : host,
                                   to_devices ? host : field->addresses[i], bytes));
    }
}

// Some plans are made apart from their exec.
static braid_exec *make_exec(struct field *field, braid_graph *graph, struct random *random)
{
    braid_device_info info;
    braid_device_get_info(field->test->group, &info);
    braid_schedule *schedule = NULL;
    braid_exec_options options = {
        .mode = field->test->mode,
        .frames_in_flight = field->test->frames,
        .max_lanes = 1 + random_below(random, 4),
        .fixed_lanes = true,
        .places = info.place_model,
    };
    braid_exec *exec;
    braid_device_info alone;
    braid_device_get_info(field->test->devices[0], &alone);
    if (random_chance(random, 50)) // what device there is has islands in its model, or not
        options.costs = alone.costs[options.mode];
    const braid_schedule_options plan = { .device = field->test->group,
                                          .costs = options.costs,
                                          .max_lanes = options.max_lanes,
                                          .fixed_lanes = true };
    if (random_chance(random, 30))
        check_ok(braid_schedule_create(graph, &plan, &schedule));
    options.schedule = schedule;
    check_ok(braid_exec_create(field->test->group, graph, &options, &exec));
    check_ok(braid_schedule_verify(braid_exec_get_schedule(exec), graph));
    braid_schedule_destroy(schedule);
    return exec;
}

// Each frame begins with other values of a kernel, and with one buffer that the program has
// written.
static void queue_frames(struct field *field, struct placed_model *model, braid_exec *exec,
                         const uint32_t *addends)
{
    copy_buffers(field, model, field->staged, true);
    for (uint32_t frame = 0; frame < NUM_FRAMES; frame++) {
        const struct placed_node *node = &model->nodes[model->num_nodes - 1];
        if (node->kind == PLACED_AXPY || node->kind == PLACED_CHANGE)
            check_ok(braid_exec_set_arg(exec, node->handle, 3, BRAID_ARG(addends[frame])));
        check_ok(
            braid_stream_fill(field->stream, field->addresses[0], addends[frame], 4, PLACED_WORDS));
        check_ok(braid_exec_launch(exec, field->stream));
        copy_buffers(field, model, field->staged + (1 + frame) * MODEL_WORDS, false);
    }
    check_ok(braid_stream_wait(field->stream));
    check_ok(braid_exec_wait(exec));
}

static void check_frames(const struct field *field, struct placed_model *model, uint32_t *words,
                         const uint32_t *addends, uint64_t seed)
{
    uint32_t num = (model->num_buffers - model->num_transients) * PLACED_WORDS;
    for (uint32_t frame = 0; frame < NUM_FRAMES; frame++) {
        const uint32_t *seen = field->staged + (1 + frame) * MODEL_WORDS;
        struct placed_node *node = &model->nodes[model->num_nodes - 1];
        if (node->kind == PLACED_AXPY || node->kind == PLACED_CHANGE)
            node->addend = addends[frame];
        for (uint32_t i = 0; i < PLACED_WORDS; i++)
            words[i] = addends[frame];
        placed_model_run(model, words);
        for (uint32_t i = 0; i < num; i++) {
            if (seen[i] != words[i])
                fail_msg("seed %llu, frame %u: word %u of buffer %u is %u, not %u",
                         (unsigned long long)seed, frame, i % PLACED_WORDS, i / PLACED_WORDS,
                         seen[i], words[i]);
        }
    }
}

// One kernel is left out, where it may be: what it would write is what was there before.
static void run_without_one(struct field *field, struct placed_model *model, braid_exec *exec,
                            struct random *random, uint64_t seed)
{
    struct placed_node *node = &model->nodes[random_below(random, model->num_nodes)];
    uint32_t words[MODEL_WORDS], addends[NUM_FRAMES] = { 1, 2, 3 };
    bool is_kernel = node->kind != PLACED_COPY && node->kind != PLACED_FILL;
    if (!is_kernel || node->to.buffer >= model->num_buffers - model->num_transients)
        return;
    braid_status status =
        braid_exec_set(exec, node->handle, BRAID_TARGET_ENABLED, 0, &(bool){ false });
    if (status == BRAID_UNSUPPORTED)
        return;
    check_ok(status);
    node->rests = true;
    memcpy(words, field->staged, sizeof(words));
    queue_frames(field, model, exec, addends);
    check_frames(field, model, words, addends, seed);
}

// Returns how many copies the plan has.
static uint32_t run_graph(struct field *field, uint64_t seed)
{
    struct random random = { seed };
    struct placed_model model;
    uint32_t words[MODEL_WORDS], addends[NUM_FRAMES];
    placed_model_make(&model, &random, field->test->num_places, random_below(&random, 101));
    for (uint32_t i = 0; i < model.num_buffers; i++)
        field->addresses[i] = field->buffers[model.homes[i]][i];
    for (uint32_t i = 0; i < MODEL_WORDS; i++)
        words[i] = field->staged[i] = random_below(&random, 1000);
    for (uint32_t i = 0; i < NUM_FRAMES; i++)
        addends[i] = random_below(&random, 1000);
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    placed_model_build(&model, field->addresses, graph);
    braid_exec *exec = make_exec(field, graph, &random);
    braid_graph_destroy(graph);
    braid_schedule_info info;
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    queue_frames(field, &model, exec, addends);
    check_frames(field, &model, words, addends, seed);
    run_without_one(field, &model, exec, &random, seed);
    braid_exec_destroy(exec);
    return info.num_copies;
}

static void random_graphs_compute_what_their_nodes_say(void **state)
{
    const char *seed = getenv("BRAID_TEST_SEED");
    if (seed) {
        run_graph(*state, strtoull(seed, NULL, 10));
        return;
    }
    uint32_t num_copies = 0;
    for (uint64_t i = 1; i <= NUM_GRAPHS; i++)
        num_copies += run_graph(*state, i);
    print_message("%u copies between places in %u plans\n", num_copies, (unsigned)NUM_GRAPHS);
    assert_true(num_copies > NUM_GRAPHS); // else they have shown little
}

// Two nodes on two places, the second on what the first has written.
static braid_exec *make_pair(struct field *field, const braid_exec_options *options,
                             braid_status *out_status)
{
    braid_graph *graph;
    braid_resource first, second;
    braid_exec *exec = NULL;
    const uint64_t bytes = PLACED_WORDS * sizeof(uint32_t);
    uint32_t last = field->test->num_places - 1;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "first", field->buffers[0][0], bytes, &first));
    check_ok(braid_graph_add_buffer(graph, "second", field->buffers[last][1], bytes, &second));
    check_ok(braid_graph_set_home(graph, second, last + 1));
    const braid_fill fill = { BRAID_ACCESSES({ first, BRAID_WRITE }),
                              .node.place = 1,
                              .to_resource = first,
                              .value = 7,
                              .value_bytes = 4,
                              .num_values = PLACED_WORDS };
    check_ok(braid_graph_add_fill(graph, &fill, NULL));
    const uint32_t factor = 2, addend = 1, num = PLACED_WORDS;
    const braid_arg args[] = { braid_resource_address(&second), braid_resource_address(&first),
                               BRAID_ARG(factor), BRAID_ARG(addend), BRAID_ARG(num) };
    const braid_access accesses[] = { { first, BRAID_READ }, { second, BRAID_WRITE } };
    const braid_kernel_node launch = {
        .node = { .accesses = accesses, .num_accesses = 2, .place = last + 1 },
        .kernel = &test_axpy,
        .grid = { 1, 1, 1 },
        .block = { PLACED_WORDS, 1, 1 },
        .args = args,
        .num_args = 5
    };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    braid_exec_options own = options ? *options : (braid_exec_options){ 0 };
    if (!options)
        own.mode = field->test->mode;
    *out_status = braid_exec_create(field->test->group, graph, &own, &exec);
    braid_graph_destroy(graph);
    return exec;
}

static void an_exec_says_where_it_runs(void **state)
{
    struct field *field = *state;
    braid_status status;
    braid_exec *exec = make_pair(field, NULL, &status);
    check_ok(status);
    braid_exec_info info;
    braid_schedule_info plan;
    braid_exec_get_info(exec, &info);
    braid_schedule_get_info(braid_exec_get_schedule(exec), &plan);
    assert_int_equal(plan.num_places, field->test->num_places);
    assert_int_equal(plan.num_copies, 1);
    assert_int_equal(info.num_islands, 0);
    assert_non_null(strstr(info.reason, "places, without islands"));
    braid_exec_destroy(exec);
}

static void what_several_devices_do_not_have_is_refused(void **state)
{
    struct field *field = *state;
    braid_status status;
    const braid_exec_options timed = { .mode = field->test->mode, .frames_kept = 2 };
    assert_null(make_pair(field, &timed, &status));
    check_fails(status, BRAID_UNSUPPORTED, "several devices has no times of frames");
    const braid_exec_options island = { .mode = field->test->mode, .islands = BRAID_ISLANDS_WHOLE };
    assert_null(make_pair(field, &island, &status));
    check_fails(status, BRAID_UNSUPPORTED, "several devices has no islands");
    const braid_place_model more = { .num_places = field->test->num_places + 1 };
    const braid_exec_options wide = { .mode = field->test->mode, .places = &more };
    assert_null(make_pair(field, &wide, &status));
    check_fails(status, BRAID_INVALID_ARGUMENT, "options.places has");
    braid_graph *graph;
    braid_schedule *schedule;
    braid_exec *exec;
    const braid_place_model two = { .num_places = 2 };
    const braid_schedule_options for_two = { .costs = &free_costs, .places = &two };
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, NULL));
    check_ok(braid_schedule_create(graph, &for_two, &schedule));
    const braid_exec_options given = { .schedule = schedule };
    check_fails(braid_exec_create(field->test->devices[0], graph, &given, &exec),
                BRAID_INVALID_ARGUMENT, "the schedule is for 2 places, there is 1");
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

// While an exec or a group has them, devices stay open.
static void a_device_in_use_stays_open(void **state)
{
    struct field *field = *state;
    struct group_under_test *test = field->test;
    braid_status status;
    braid_device *last = test->devices[test->num_devices - 1];
    check_fails(braid_device_close(last), BRAID_IN_USE, "1 group");
    braid_exec *exec = make_pair(field, NULL, &status);
    check_ok(status);
    check_fails(braid_device_close(last), BRAID_IN_USE, "1 exec");
    check_fails(braid_device_close(test->group), BRAID_IN_USE, "1 exec");
    check_ok(braid_exec_launch(exec, field->stream));
    check_ok(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    check_ok(braid_device_close(test->group));
    braid_device *members[GROUP_MOST];
    for (uint32_t i = 0; i < test->num_places; i++)
        members[i] = group_under_test_device(test, i);
    check_ok(braid_device_open_group(members, test->num_places, &test->group));
}

// A device of the group works for others meanwhile, and its streams are not the group's.
static void a_device_of_a_group_has_execs_of_its_own(void **state)
{
    struct field *field = *state;
    struct group_under_test *test = field->test;
    braid_device *last = test->devices[test->num_devices - 1];
    braid_status status;
    braid_exec *exec = make_pair(field, NULL, &status), *other;
    check_ok(status);
    braid_graph *graph;
    uint32_t *words = field->buffers[test->num_places - 1][2];
    const braid_fill fill = { .to = words, .value = 5, .value_bytes = 4, .num_values = 4 };
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_fill(graph, &fill, NULL));
    check_ok(braid_exec_create(last, graph, NULL, &other));
    braid_graph_destroy(graph);
    for (int i = 0; i < 20; i++) {
        check_ok(braid_exec_launch(exec, field->stream));
        check_ok(braid_exec_launch(other, NULL));
    }
    check_ok(braid_exec_wait(exec));
    check_ok(braid_exec_wait(other));
    if (test->num_devices > 1) {
        braid_stream *stream;
        check_ok(braid_stream_create(last, NULL, &stream));
        check_fails(braid_exec_launch(exec, stream), BRAID_INVALID_ARGUMENT, "another device");
        braid_stream_destroy(stream);
    }
    braid_exec_destroy(exec);
    braid_exec_destroy(other);
}

static void groups_are_checked(void **state)
{
    struct field *field = *state;
    struct group_under_test *test = field->test;
    braid_device *group;
    braid_device *devices[2] = { test->devices[0], NULL };
    check_fails(braid_device_open_group(devices, 0, &group), BRAID_INVALID_ARGUMENT,
                "0 members, not 1 to 64");
    check_fails(braid_device_open_group(devices, 2, &group), BRAID_INVALID_ARGUMENT,
                "member 1 is NULL");
    const braid_device_options options = { .backend = "cpu", .num_workers = 1 };
    check_ok(braid_device_open(&options, &devices[1]));
    check_fails(braid_device_open_group(devices, 2, &group), BRAID_INVALID_ARGUMENT, "member 1 is");
    check_ok(braid_device_close(devices[1]));
    devices[1] = test->group;
    check_fails(braid_device_open_group(devices, 2, &group), BRAID_INVALID_ARGUMENT,
                "is a group itself");
    check_fails(braid_device_open_group(devices, 65, &group), BRAID_INVALID_ARGUMENT,
                "65 members, not 1 to 64");
}

static void a_group_tells_of_its_members(void **state)
{
    struct field *field = *state;
    struct group_under_test *test = field->test;
    braid_device_info info, first;
    braid_device_get_info(test->group, &info);
    braid_device_get_info(test->devices[0], &first);
    assert_int_equal(info.num_members, test->num_places);
    assert_int_equal(first.num_members, 1);
    assert_string_equal(info.name, first.name);
    assert_int_equal(info.num_units, first.num_units * test->num_devices);
    assert_true(info.streams_live >= first.streams_live);
    assert_int_equal(info.place_model->num_places, test->num_places);
    assert_true(info.place_model->links[0].is_direct);
    assert_int_equal(info.place_model->speeds[0], 1000);
    assert_null(first.place_model);
}

static void the_default_stream_is_the_first_members(void **state)
{
    struct field *field = *state;
    struct group_under_test *test = field->test;
    braid_stream *stream = braid_device_get_default_stream(test->group);
    braid_graph *graph;
    braid_exec *exec;
    assert_non_null(stream);
    assert_ptr_equal(stream, braid_device_get_default_stream(test->devices[0]));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, NULL));
    check_ok(braid_exec_create(test->group, graph, NULL, &exec));
    check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_stream_wait(stream));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
}

static void what_belongs_to_a_member_is_refused_on_a_group(void **state)
{
    struct field *field = *state;
    struct group_under_test *test = field->test;
    braid_device *group = test->group;
    braid_stream *stream;
    braid_event *event;
    braid_graph *graph;
    braid_exec_options way;
    void *memory;
    check_ok(braid_graph_create(&graph));
#define refused(call) check_fails((call), BRAID_INVALID_ARGUMENT, "is a group: give a member")
    refused(braid_memory_allocate(group, BRAID_MEMORY_HOST, 8, &memory));
    refused(braid_stream_create(group, NULL, &stream));
    refused(braid_event_create(group, NULL, &event));
    refused(braid_graph_tune(graph, group, NULL, &way));
    refused(braid_graph_save_costs(graph, group, "/nowhere/costs.json"));
#undef refused
    braid_graph_destroy(graph);
}

int main(void)
{
    struct group_under_test test;
    if (group_under_test_open(&test)) {
        print_message("1..0 # skip there are not so many devices: %s\n", braid_error_get_message());
        return 77;
    }
    group_under_test_close(&test);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_compute_what_their_nodes_say),
        cmocka_unit_test(weights_that_the_program_copies_are_copied_by_no_frame),
        cmocka_unit_test(an_exec_says_where_it_runs),
        cmocka_unit_test(what_several_devices_do_not_have_is_refused),
        cmocka_unit_test(a_disabled_node_leaves_what_was_there),
        cmocka_unit_test(a_parameter_that_came_late_is_refused),
        cmocka_unit_test(a_device_in_use_stays_open),
        cmocka_unit_test(a_device_of_a_group_has_execs_of_its_own),
        cmocka_unit_test(a_loop_has_its_data_brought),
        cmocka_unit_test(what_a_body_may_write_stays_where_it_does_not_run),
        cmocka_unit_test(a_branch_runs_one_arm_elsewhere),
        cmocka_unit_test(loops_inside_are_on_the_same_device),
        cmocka_unit_test(loops_run_on_two_devices),
        cmocka_unit_test(a_body_on_two_devices_is_refused),
        cmocka_unit_test(random_loops_on_devices_run_as_written),
        cmocka_unit_test(groups_are_checked),
        cmocka_unit_test(a_group_tells_of_its_members),
        cmocka_unit_test(the_default_stream_is_the_first_members),
        cmocka_unit_test(what_belongs_to_a_member_is_refused_on_a_group),
    };
    return cmocka_run_group_tests(tests, field_open, field_close);
}
