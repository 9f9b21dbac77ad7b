// SPDX-License-Identifier: Apache-2.0
// In frames in which a parameter disables the last reader of a result, the nodes that make it rest
// as well. To set a value of a node that is left out has no effect.
#include <braid/braid.h>

#include "exec/exec.h"
#include "outputs/model.h"
#include "support/wide_plan.h"

struct drawing {
    atomic_uint num_makes, num_refines, num_draws, num_prints;
    braid_graph *graph;
    braid_resource raw, fine, image;
    braid_node make, refine, draw, fill, lost;
    braid_parameter draws;
    uint32_t bytes[4];
};

static void count(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

static braid_node add_call(struct drawing *frame, const char *name, atomic_uint *num,
                           braid_access first, braid_access second)
{
    braid_node node;
    const braid_access accesses[] = { first, second };
    const braid_host_call call = {
        .node = { .name = name, .accesses = accesses, .num_accesses = second.mode ? 2 : 1 },
        .call = count,
        .user = num
    };
    check_ok(braid_graph_add_host_call(frame->graph, &call, &node));
    return node;
}

static void enable_by(struct drawing *frame, braid_parameter parameter, braid_node node)
{
    check_ok(braid_graph_use_parameter(
        frame->graph, parameter,
        &(braid_parameter_use){ .node = node, .target = BRAID_TARGET_ENABLED }));
}

// Makes, refines and draws an image, whose drawing a parameter may disable.
static void begin(struct drawing *frame)
{
    *frame = (struct drawing){ .graph = new_graph() };
    const braid_access none = { 0 };
    check_ok(braid_graph_add_buffer(frame->graph, "raw", NULL, 16, &frame->raw));
    check_ok(braid_graph_add_buffer(frame->graph, "fine", NULL, 16, &frame->fine));
    check_ok(braid_graph_add_buffer(frame->graph, "image", frame->bytes, 16, &frame->image));
    frame->make =
        add_call(frame, "make", &frame->num_makes, (braid_access){ frame->raw, BRAID_WRITE }, none);
    frame->refine =
        add_call(frame, "refine", &frame->num_refines, (braid_access){ frame->raw, BRAID_READ },
                 (braid_access){ frame->fine, BRAID_WRITE });
    frame->draw =
        add_call(frame, "draw", &frame->num_draws, (braid_access){ frame->fine, BRAID_READ },
                 (braid_access){ frame->image, BRAID_WRITE });
    frame->lost = add_call(frame, "lost", &frame->num_prints,
                           (braid_access){ frame->raw, BRAID_WRITE }, none);
    check_ok(braid_graph_add_parameter(frame->graph, "draws", 4, &frame->draws));
    enable_by(frame, frame->draws, frame->draw);
    check_ok(braid_graph_set_output(frame->graph, frame->image));
}

static braid_exec *make_exec(struct drawing *frame, braid_device *device,
                             braid_exec_options options)
{
    braid_exec *exec;
    check_ok(braid_exec_create(device, frame->graph, &options, &exec));
    return exec;
}

static void run(braid_exec *exec, braid_stream *stream, braid_parameter parameter, uint32_t value)
{
    check_ok(braid_exec_set_parameter(exec, parameter, &value));
    check_ok(braid_exec_launch(exec, stream));
}

static void check_runs(const struct drawing *frame, uint32_t makes, uint32_t draws)
{
    assert_int_equal(frame->num_makes, makes);
    assert_int_equal(frame->num_refines, makes);
    assert_int_equal(frame->num_draws, draws);
    assert_int_equal(frame->num_prints, 0);
}

struct field {
    struct drawing frame;
    braid_device *device;
    braid_stream *stream;
};

static int set_up(void **state)
{
    static struct field field;
    const braid_device_options options = { .backend = "cpu", .num_workers = 2 };
    check_ok(braid_device_open(&options, &field.device));
    check_ok(braid_stream_create(field.device, NULL, &field.stream));
    begin(&field.frame);
    *state = &field;
    return 0;
}

static int tear_down(void **state)
{
    struct field *field = *state;
    destroy_now(field->frame.graph);
    braid_stream_destroy(field->stream);
    check_ok(braid_device_close(field->device));
    return 0;
}

static void run_in_mode(struct field *field, braid_exec_options options)
{
    struct drawing *frame = &field->frame;
    braid_exec *exec = make_exec(frame, field->device, options);
    static const uint32_t values[] = { 1, 0, 0, 1, 0 };
    for (size_t i = 0; i < 5; i++)
        run(exec, field->stream, frame->draws, values[i]);
    check_ok(braid_exec_wait(exec));
    check_runs(frame, 2, 2);
    braid_exec_destroy(exec);
}

static void nodes_rest_on_lanes(void **state)
{
    run_in_mode(*state, (braid_exec_options){ 0 });
}

static void nodes_rest_on_streams(void **state)
{
    run_in_mode(*state, (braid_exec_options){ .mode = BRAID_MODE_STREAMS });
}

static void nodes_rest_in_some_frames_in_flight(void **state)
{
    run_in_mode(*state, (braid_exec_options){ .frames_in_flight = 3 });
}

static void nodes_rest_by_rows(void **state)
{
    struct field *field = *state;
    static const uint32_t rows[] = { 0, 1, 0, 0 };
    braid_exec *exec = make_exec(&field->frame, field->device, (braid_exec_options){ 0 });
    check_ok(braid_exec_launch_many(exec, field->stream, 4,
                                    &(braid_parameter_rows){ field->frame.draws, rows, 4 }, 1));
    check_ok(braid_exec_wait(exec));
    check_runs(&field->frame, 1, 1);
    braid_exec_destroy(exec);
}

// So does what another parameter enables.
static void resting_nodes_may_be_enabled_in_vain(void **state)
{
    struct field *field = *state;
    struct drawing *frame = &field->frame;
    const uint32_t no = 0, yes = 1;
    braid_parameter makes;
    check_ok(braid_graph_add_parameter(frame->graph, "makes", 4, &makes));
    enable_by(frame, makes, frame->make);
    braid_exec *exec = make_exec(frame, field->device, (braid_exec_options){ 0 });
    check_ok(braid_exec_set_parameter(exec, makes, &yes));
    run(exec, field->stream, frame->draws, 0);
    check_ok(braid_exec_set_parameter(exec, makes, &no));
    run(exec, field->stream, frame->draws, 1);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(frame->num_makes, 0);
    assert_int_equal(frame->num_refines, 1);
    run(exec, field->stream, makes, 1);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(frame->num_makes, 1);
    braid_exec_destroy(exec);
}

// An output that is not drawn keeps what it had, which the earlier writer must then make.
static void nodes_that_cover_others_stay_enabled(void **state)
{
    struct field *field = *state;
    struct drawing *frame = &field->frame;
    const bool no = false;
    add_call(frame, "clear", &frame->num_prints, (braid_access){ frame->image, BRAID_WRITE },
             (braid_access){ 0 });
    braid_exec *exec = make_exec(frame, field->device, (braid_exec_options){ 0 });
    braid_node clear = braid_graph_get_node(frame->graph, 4);
    check_fails(braid_exec_set(exec, clear, BRAID_TARGET_ENABLED, 0, &no), BRAID_UNSUPPORTED,
                "disable it by a parameter");
    braid_exec_destroy(exec);
}

// So does a node that hides the result of one that may rest.
static void nodes_that_hide_resting_ones_stay_enabled(void **state)
{
    struct field *field = *state;
    struct drawing *frame = &field->frame;
    const bool no = false;
    braid_node hide = add_call(frame, "hide", &frame->num_prints,
                               (braid_access){ frame->fine, BRAID_WRITE }, (braid_access){ 0 });
    check_ok(braid_graph_set_output(frame->graph, frame->fine));
    braid_exec *exec = make_exec(frame, field->device, (braid_exec_options){ 0 });
    check_fails(braid_exec_set(exec, hide, BRAID_TARGET_ENABLED, 0, &no), BRAID_UNSUPPORTED,
                "disable it by a parameter");
    check_ok(braid_exec_set(exec, frame->refine, BRAID_TARGET_ENABLED, 0, &no));
    braid_exec_destroy(exec);
}

// Hides a result of which a copy is drawn now and then, behind an empty node that changes nothing.
static braid_node hide_behind_empty(struct drawing *frame, braid_resource result)
{
    const braid_access changes = { result, BRAID_READ_WRITE };
    const braid_empty join = { .node = { .accesses = &changes, .num_accesses = 1 } };
    check_ok(braid_graph_add_empty(frame->graph, &join, NULL));
    braid_node draw =
        add_call(frame, "draw on it", &frame->num_draws, (braid_access){ result, BRAID_READ },
                 (braid_access){ frame->image, BRAID_READ_WRITE });
    enable_by(frame, frame->draws, draw);
    check_ok(braid_graph_set_output(frame->graph, result));
    return add_call(frame, "hide", &frame->num_prints, (braid_access){ result, BRAID_WRITE },
                    (braid_access){ 0 });
}

// Also where an empty node is between them, which leaves the result as it was.
static void nodes_that_hide_resting_ones_behind_empty_ones_stay_enabled(void **state)
{
    struct field *field = *state;
    const bool no = false;
    braid_node hide = hide_behind_empty(&field->frame, field->frame.fine);
    braid_exec *exec = make_exec(&field->frame, field->device, (braid_exec_options){ 0 });
    check_fails(braid_exec_set(exec, hide, BRAID_TARGET_ENABLED, 0, &no), BRAID_UNSUPPORTED,
                "disable it by a parameter");
    braid_exec_destroy(exec);
}

// So does a node that may rest: its result of the frame before may be missing.
static void nodes_that_may_rest_stay_enabled(void **state)
{
    struct field *field = *state;
    const bool no = false;
    braid_exec *exec = make_exec(&field->frame, field->device, (braid_exec_options){ 0 });
    check_fails(braid_exec_set(exec, field->frame.refine, BRAID_TARGET_ENABLED, 0, &no),
                BRAID_UNSUPPORTED, "disable it by a parameter");
    braid_exec_destroy(exec);
}

// Also where it reads another result of the node that it hides.
static void nodes_that_hide_one_that_they_read_stay_enabled(void **state)
{
    struct field *field = *state;
    struct drawing *frame = &field->frame;
    const bool no = false;
    braid_resource result;
    check_ok(braid_graph_add_buffer(frame->graph, "result", NULL, 16, &result));
    add_call(frame, "both", &frame->num_makes, (braid_access){ frame->raw, BRAID_WRITE },
             (braid_access){ result, BRAID_WRITE });
    braid_node hide =
        add_call(frame, "hide", &frame->num_makes, (braid_access){ frame->raw, BRAID_READ },
                 (braid_access){ result, BRAID_WRITE });
    braid_node draw =
        add_call(frame, "draw", &frame->num_draws, (braid_access){ result, BRAID_READ },
                 (braid_access){ frame->image, BRAID_WRITE });
    add_call(frame, "last", &frame->num_prints, (braid_access){ result, BRAID_WRITE },
             (braid_access){ 0 });
    enable_by(frame, frame->draws, draw);
    braid_exec *exec = make_exec(frame, field->device, (braid_exec_options){ 0 });
    check_fails(braid_exec_set(exec, hide, BRAID_TARGET_ENABLED, 0, &no), BRAID_UNSUPPORTED,
                "disable it by a parameter");
    braid_exec_destroy(exec);
}

// Only a parameter may make others rest: a node that a setter disables hides no need of others.
static void setters_of_other_nodes_let_nothing_rest(void **state)
{
    struct field *field = *state;
    struct drawing *frame = &field->frame;
    const bool no = false;
    braid_resource ink;
    check_ok(braid_graph_add_buffer(frame->graph, "ink", NULL, 16, &ink));
    const braid_access mixes[] = { { frame->fine, BRAID_READ },
                                   { ink, BRAID_READ_WRITE },
                                   { frame->image, BRAID_READ_WRITE } };
    const braid_host_call mix = { .node = { .name = "mix", .accesses = mixes, .num_accesses = 3 },
                                  .call = count,
                                  .user = &frame->num_draws };
    braid_node node;
    check_ok(braid_graph_add_host_call(frame->graph, &mix, &node));
    enable_by(frame, frame->draws, node);
    node = add_call(frame, "frame", &frame->num_prints, (braid_access){ ink, BRAID_READ },
                    (braid_access){ frame->image, BRAID_WRITE });
    add_call(frame, "dry", &frame->num_prints, (braid_access){ ink, BRAID_WRITE },
             (braid_access){ 0 });
    braid_exec *exec = make_exec(frame, field->device, (braid_exec_options){ 0 });
    check_ok(braid_exec_set(exec, node, BRAID_TARGET_ENABLED, 0, &no));
    run(exec, field->stream, frame->draws, 1);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(frame->num_draws, 2);
    assert_int_equal(frame->num_makes, 1);
    assert_int_equal(frame->num_refines, 1);
    braid_exec_destroy(exec);
}

// The mark of the frame's end is taken away, and only a walk puts it back.
static void only_what_may_disable_nodes_has_them_looked_for(void **state)
{
    struct field *field = *state;
    struct drawing *frame = &field->frame;
    void *user = &frame->num_draws;
    braid_exec *exec = make_exec(frame, field->device, (braid_exec_options){ 0 });
    bool *mark = &exec->idle.needed[exec->culled.reach.num_nodes];
    run(exec, field->stream, frame->draws, 1);
    *mark = false;
    check_ok(braid_exec_set(exec, frame->draw, BRAID_TARGET_USER, 0, &user));
    check_ok(braid_exec_launch(exec, field->stream));
    assert_false(*mark);
    run(exec, field->stream, frame->draws, 0);
    assert_true(*mark);
    check_ok(braid_exec_wait(exec));
    braid_exec_destroy(exec);
}

// Their nodes draw the image, which another hid.
static void schedules_older_than_a_parameter_are_refused(void **state)
{
    struct field *field = *state;
    struct drawing *frame = &field->frame;
    braid_schedule *schedule;
    braid_exec *exec = NULL;
    braid_node over = add_call(frame, "over", &frame->num_prints,
                               (braid_access){ frame->image, BRAID_WRITE }, (braid_access){ 0 });
    check_ok(braid_schedule_create(frame->graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &schedule));
    enable_by(frame, frame->draws, over);
    const braid_exec_options options = { .schedule = schedule };
    check_fails(braid_exec_create(field->device, frame->graph, &options, &exec),
                BRAID_INVALID_ARGUMENT,
                "the schedule was made before a parameter could disable a node, and leaves out "
                "node 0 'make'");
    assert_null(exec);
    braid_schedule_destroy(schedule);
}

// No driver's graph can disable a fill.
static braid_resource add_fill(struct drawing *frame, uint32_t *ground)
{
    braid_resource filled;
    check_ok(braid_graph_add_buffer(frame->graph, "ground", ground, 16, &filled));
    const braid_access writes = { filled, BRAID_WRITE };
    const braid_fill fill = { .node = { .accesses = &writes, .num_accesses = 1 },
                              .to = ground,
                              .value = 7,
                              .value_bytes = 4,
                              .num_values = 4 };
    check_ok(braid_graph_add_fill(frame->graph, &fill, NULL));
    return filled;
}

static void fills_do_not_rest(void **state)
{
    struct field *field = *state;
    struct drawing *frame = &field->frame;
    static uint32_t ground[4];
    braid_resource filled = add_fill(frame, ground);
    braid_node draw =
        add_call(frame, "draw on it", &frame->num_draws, (braid_access){ filled, BRAID_READ },
                 (braid_access){ frame->image, BRAID_READ_WRITE });
    enable_by(frame, frame->draws, draw);
    braid_exec *exec = make_exec(frame, field->device, (braid_exec_options){ 0 });
    run(exec, field->stream, frame->draws, 0);
    check_ok(braid_exec_wait(exec));
    check_runs(frame, 0, 0);
    assert_int_equal(ground[3], 7);
    braid_exec_destroy(exec);
}

// So nodes that hide one may be disabled, also behind an empty node.
static void nodes_that_hide_fills_may_be_disabled(void **state)
{
    struct field *field = *state;
    const bool no = false;
    static uint32_t ground[4];
    braid_node hide = hide_behind_empty(&field->frame, add_fill(&field->frame, ground));
    braid_exec *exec = make_exec(&field->frame, field->device, (braid_exec_options){ 0 });
    check_ok(braid_exec_set(exec, hide, BRAID_TARGET_ENABLED, 0, &no));
    run(exec, field->stream, field->frame.draws, 0);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(ground[3], 7);
    assert_int_equal(field->frame.num_prints, 0);
    braid_exec_destroy(exec);
}

static void values_of_nodes_left_out_are_set_in_vain(void **state)
{
    struct field *field = *state;
    struct drawing *frame = &field->frame;
    atomic_uint other = 0;
    void *user = &other;
    const bool yes = true;
    enable_by(frame, frame->draws, frame->lost);
    braid_exec *exec = make_exec(frame, field->device, (braid_exec_options){ 0 });
    check_ok(braid_exec_set(exec, frame->lost, BRAID_TARGET_USER, 0, &user));
    check_ok(braid_exec_set(exec, frame->lost, BRAID_TARGET_ENABLED, 0, &yes));
    run(exec, field->stream, frame->draws, 1);
    check_ok(braid_exec_wait(exec));
    check_runs(frame, 1, 1);
    assert_int_equal(other, 0);
    braid_exec_destroy(exec);
}

static void loops_left_out_have_no_iterations(void **state)
{
    struct field *field = *state;
    struct drawing *frame = &field->frame;
    const braid_access none = { 0 };
    braid_node loop;
    uint64_t num = 7;
    check_ok(braid_graph_begin_loop(frame->graph, &(braid_loop){ .times = 3 }, &loop));
    add_call(frame, "lost", &frame->num_prints, (braid_access){ frame->raw, BRAID_WRITE }, none);
    check_ok(braid_graph_end(frame->graph));
    braid_exec *exec = make_exec(frame, field->device, (braid_exec_options){ 0 });
    run(exec, field->stream, frame->draws, 1);
    check_ok(braid_exec_wait(exec));
    check_ok(braid_exec_get_iterations(exec, loop, &num));
    assert_int_equal(num, 0);
    check_fails(braid_exec_get_iterations(exec, frame->lost, &num), BRAID_INVALID_ARGUMENT,
                "is no loop or branch");
    braid_exec_destroy(exec);
}

static void frames_without_nodes_have_times(void **state)
{
    skip_if_left_out(braid_exec_get_timings(NULL, NULL));
    struct field *field = *state;
    braid_graph *graph = new_graph();
    braid_resource other;
    check_ok(braid_graph_add_resource(graph, "other", &other));
    check_ok(braid_graph_set_output(graph, other));
    for (braid_exec_mode mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        const braid_exec_options options = { .mode = mode, .frames_kept = 3 };
        braid_timings timings;
        braid_exec *exec;
        check_ok(braid_exec_create(field->device, graph, &options, &exec));
        for (int i = 0; i < 2; i++)
            check_ok(braid_exec_launch(exec, i ? field->stream : NULL));
        check_ok(braid_exec_wait(exec));
        check_ok(braid_exec_get_timings(exec, &timings));
        assert_int_equal(timings.frames_kept, 2);
        braid_exec_destroy(exec);
    }
    destroy_now(graph);
}

static void times_of_nodes_left_out_are_none(void **state)
{
    skip_if_left_out(braid_exec_get_timings(NULL, NULL));
    struct field *field = *state;
    braid_timings timings;
    braid_exec *exec =
        make_exec(&field->frame, field->device, (braid_exec_options){ .frames_kept = 2 });
    run(exec, field->stream, field->frame.draws, 1);
    check_ok(braid_exec_wait(exec));
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_int_equal(timings.num_nodes, 4);
    assert_int_equal(timings.nodes[field->frame.lost.index].time.most_ns, 0);
    braid_exec_destroy(exec);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nodes_rest_on_lanes),
        TEST(nodes_rest_on_streams),
        TEST(nodes_rest_in_some_frames_in_flight),
        TEST(nodes_rest_by_rows),
        TEST(resting_nodes_may_be_enabled_in_vain),
        TEST(nodes_that_cover_others_stay_enabled),
        TEST(nodes_that_hide_resting_ones_stay_enabled),
        TEST(nodes_that_hide_resting_ones_behind_empty_ones_stay_enabled),
        TEST(nodes_that_may_rest_stay_enabled),
        TEST(nodes_that_hide_one_that_they_read_stay_enabled),
        TEST(setters_of_other_nodes_let_nothing_rest),
        TEST(only_what_may_disable_nodes_has_them_looked_for),
        TEST(schedules_older_than_a_parameter_are_refused),
        TEST(fills_do_not_rest),
        TEST(nodes_that_hide_fills_may_be_disabled),
        TEST(values_of_nodes_left_out_are_set_in_vain),
        TEST(loops_left_out_have_no_iterations),
        TEST(frames_without_nodes_have_times),
        TEST(times_of_nodes_left_out_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
