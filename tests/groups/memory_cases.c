// SPDX-License-Identifier: Apache-2.0
// Memory that stays on a device from frame to frame, or that a disabled node leaves as it was.
#include "groups/memory_cases.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "groups/field.h"
#include "support/check.h"
#include "support/kernels.h"

// Reads `weights` on the last place and writes what it found, to a buffer there.
static braid_exec *make_reader(struct field *field, braid_resource *out_weights,
                               braid_resource *out_other)
{
    braid_graph *graph;
    braid_exec *exec;
    const uint64_t bytes = PLACED_WORDS * sizeof(uint32_t);
    uint32_t last = field->test->num_places - 1;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "weights", field->buffers[0][0], bytes, out_weights));
    check_ok(braid_graph_add_buffer(graph, "found", field->buffers[last][1], bytes, out_other));
    check_ok(braid_graph_set_home(graph, *out_other, BRAID_PLACE(last)));
    check_ok(braid_graph_keep_replicas(graph, *out_weights));
    const braid_copy copy = { BRAID_ACCESSES({ *out_weights, BRAID_READ },
                                             { *out_other, BRAID_WRITE }),
                              .node.place = BRAID_PLACE(last), .to_resource = *out_other,
                              .from_resource = *out_weights, .bytes = bytes };
    check_ok(braid_graph_add_copy(graph, &copy, NULL));
    const braid_exec_options options = { .mode = field->test->mode, .frames = field->test->frames };
    check_ok(braid_exec_create_on_group(field->test->group, graph, &options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

// On the caller's stream: the program writes the weights, tells of it or not, and a frame runs.
static void queue_reader(struct field *field, braid_exec *exec, uint32_t weight,
                         const braid_resource *changed, uint32_t *found)
{
    braid_device *device = field->test->devices[0];
    uint32_t *memory = field->buffers[field->test->num_places - 1][1];
    check_ok(
        braid_stream_fill(device, field->stream, field->buffers[0][0], weight, 4, PLACED_WORDS));
    if (changed)
        check_ok(braid_exec_set_changed(exec, *changed));
    check_ok(braid_exec_launch(exec, field->stream));
    if (found)
        check_ok(braid_stream_copy(device, field->stream, found, memory, sizeof(*found)));
}

// No frame copies them; the program's own writes are seen when it tells of them, and not before.
void weights_are_copied_when_they_change(void **state)
{
    struct field *field = *state;
    braid_resource weights, other;
    braid_exec *exec = make_reader(field, &weights, &other);
    braid_schedule_info plan;
    braid_exec_info info;
    braid_schedule_get_info(braid_exec_schedule(exec), &plan);
    braid_exec_get_info(exec, &info);
    assert_int_equal(plan.num_copies, 0);
    assert_true(info.memory_bytes >= PLACED_WORDS * sizeof(uint32_t));
    uint32_t *found = field->staged;
    queue_reader(field, exec, 11, NULL, &found[0]); // filled before the first frame
    queue_reader(field, exec, 12, NULL, &found[1]);
    queue_reader(field, exec, 13, &other, &found[2]); // of which no replica is kept
    queue_reader(field, exec, 14, &weights, &found[3]);
    queue_reader(field, exec, 15, NULL, &found[4]);
    check_ok(braid_stream_synchronize(field->test->devices[0], field->stream));
    check_ok(braid_exec_wait(exec));
    const uint32_t expected[] = { 11, 11, 11, 14, 14 };
    assert_memory_equal(found, expected, sizeof(expected));
    check_fails(
        braid_exec_set_changed(exec, (braid_resource){ .index = 900, .graph = weights.graph }),
        BRAID_INVALID_ARGUMENT, "resource 900");
    check_fails(braid_exec_set_changed(exec, (braid_resource){ 0 }), BRAID_INVALID_ARGUMENT,
                "not a resource of");
    braid_exec_destroy(exec);
}

// A frame on another stream waits for what fills the replicas on the first.
void another_stream_finds_weights_filled(void **state)
{
    struct field *field = *state;
    braid_resource weights, other;
    braid_exec *exec = make_reader(field, &weights, &other);
    braid_device *device = field->test->devices[0];
    braid_stream *second;
    uint32_t *found = field->staged, *memory = field->buffers[field->test->num_places - 1][1];
    check_ok(braid_stream_create(device, NULL, &second));
    for (uint32_t i = 0; i < 20; i++) {
        queue_reader(field, exec, 100 + i, &weights, NULL);
        check_ok(braid_exec_launch(exec, second));
        check_ok(braid_stream_copy(device, second, &found[i], memory, sizeof(*found)));
        check_ok(braid_exec_wait(exec));
        check_ok(braid_stream_synchronize(device, second));
        check_ok(braid_stream_synchronize(device, field->stream));
        assert_int_equal(found[i], 100 + i);
    }
    braid_stream_destroy(second);
    braid_exec_destroy(exec);
}

static void wait_until_opened(void *user)
{
    while (!atomic_load((_Atomic uint32_t *)user))
        sched_yield();
}

// Where a frame waits before it reads the weights.
struct hold {
    _Atomic uint32_t entered, opened;
};

static void stand_at(void *user)
{
    struct hold *hold = user;
    atomic_store(&hold->entered, 1);
    wait_until_opened((void *)&hold->opened);
}

static void add_hold(struct field *field, braid_graph *graph, struct hold *hold,
                     braid_node *out_node)
{
    braid_resource none;
    check_ok(braid_graph_add_resource(graph, "none", &none));
    const braid_host_call call = { BRAID_ACCESSES({ none, BRAID_READ }),
                                   .node.place = BRAID_PLACE(field->test->num_places - 1),
                                   .call = stand_at, .user = hold };
    check_ok(braid_graph_add_host_call(graph, &call, out_node));
}

// Each frame writes a version of its own, so that frames are ordered by nothing but the weights.
// `hold`: where each waits before it reads them, by the node. NULL: nowhere.
static braid_exec *make_free_reader(struct field *field, uint32_t frames, struct hold *hold,
                                    braid_resource *out_weights, uint32_t **out_found,
                                    braid_node *out_node)
{
    braid_graph *graph;
    braid_exec *exec;
    braid_resource found;
    uint32_t last = field->test->num_places - 1;
    void *versions[4];
    for (uint32_t i = 0; i < 4; i++)
        versions[i] = out_found[i] = field->buffers[last][1] + i;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "weights", field->buffers[0][0], 4, out_weights));
    check_ok(braid_graph_keep_replicas(graph, *out_weights));
    check_ok(braid_graph_add_versioned_buffer(graph, "found", versions, 4, 4, &found));
    check_ok(braid_graph_set_home(graph, found, BRAID_PLACE(last)));
    if (hold)
        add_hold(field, graph, hold, out_node);
    const braid_copy copy = { BRAID_ACCESSES({ *out_weights, BRAID_READ }, { found, BRAID_WRITE }),
                              .node.place = BRAID_PLACE(last),
                              .node.after = out_node,
                              .node.num_after = hold ? 1 : 0,
                              .to_resource = found,
                              .from_resource = *out_weights,
                              .bytes = 4 };
    check_ok(braid_graph_add_copy(graph, &copy, NULL));
    const braid_exec_options options = { .mode = field->test->mode, .frames = frames };
    check_ok(braid_exec_create_on_group(field->test->group, graph, &options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

static void check_found(struct field *field, uint32_t *const *found, const uint32_t *expected,
                        uint32_t num)
{
    braid_device *device = field->test->devices[0];
    for (uint32_t i = 0; i < num; i++)
        check_ok(braid_stream_copy(device, field->stream, &field->staged[i], found[i], 4));
    check_ok(braid_stream_synchronize(device, field->stream));
    assert_memory_equal(field->staged, expected, num * sizeof(*expected));
}

// Where nothing stands on that stream between its launches, either.
void frames_on_two_streams_find_weights_filled(void **state)
{
    struct field *field = *state;
    braid_resource weights;
    uint32_t *found[4];
    braid_exec *exec = make_free_reader(field, field->test->frames, NULL, &weights, found, NULL);
    braid_device *device = field->test->devices[0];
    _Atomic uint32_t opened = 0;
    braid_stream *second;
    check_ok(braid_stream_create(device, NULL, &second));
    for (uint32_t i = 0; i < 2; i++) {
        check_ok(braid_stream_fill(device, field->stream, field->buffers[0][0], 7 + i, 4, 1));
        if (i) {
            check_ok(
                braid_stream_host_call(device, field->stream, wait_until_opened, (void *)&opened));
            check_ok(braid_exec_set_changed(exec, weights));
        } else {
            check_ok(braid_stream_synchronize(device, field->stream));
        }
        check_ok(braid_exec_launch(exec, field->stream));
        check_ok(braid_exec_launch(exec, second));
        if (!i)
            check_ok(braid_exec_wait(exec));
    }
    for (int i = 0; i < 1000; i++) // what would not wait begins
        sched_yield();
    atomic_store(&opened, 1);
    check_ok(braid_exec_wait(exec));
    check_ok(braid_stream_synchronize(device, field->stream));
    const uint32_t expected[] = { 7, 7, 8, 8 };
    check_found(field, found, expected, 4);
    braid_stream_destroy(second);
    braid_exec_destroy(exec);
}

// What was queued and does not wait begins while other work is done again and again.
static void let_begin(struct field *field)
{
    enum { num_rounds = 64 };
    braid_device *device = field->test->devices[0];
    braid_stream *stream;
    check_ok(braid_stream_create(device, NULL, &stream));
    for (int i = 0; i < num_rounds; i++) {
        check_ok(braid_stream_fill(device, stream, field->staged, 0, 4, 1));
        while (braid_stream_query(device, stream) == BRAID_NOT_READY)
            sched_yield();
    }
    braid_stream_destroy(stream);
}

// The frame of that number is held up before it reads the weights, and those before have ended. The
// next is on another stream, and the weights are others by then.
static void check_held_frame(struct field *field, uint32_t held)
{
    struct hold passed = { .opened = 1 }, hold = { 0 };
    braid_device *device = field->test->devices[0];
    braid_resource weights;
    uint32_t *found[4], expected[4];
    braid_node node;
    braid_stream *second;
    braid_exec *exec = make_free_reader(field, 3, &passed, &weights, found, &node);
    check_ok(braid_stream_create(device, NULL, &second));
    check_ok(braid_stream_fill(device, field->stream, field->buffers[0][0], 7, 4, 1));
    check_ok(braid_stream_synchronize(device, field->stream));
    for (uint32_t i = 0; i < held; i++)
        check_ok(braid_exec_launch(exec, field->stream));
    check_ok(braid_exec_wait(exec));
    check_ok(braid_exec_set_user(exec, node, &hold));
    check_ok(braid_exec_launch(exec, field->stream));
    check_ok(braid_exec_set_user(exec, node, &passed));
    while (!atomic_load(&hold.entered)) // then the weights are filled, too
        sched_yield();
    check_ok(braid_stream_fill(device, second, field->buffers[0][0], 8, 4, 1));
    check_ok(braid_exec_set_changed(exec, weights));
    check_ok(braid_exec_launch(exec, second));
    let_begin(field);
    atomic_store(&hold.opened, 1);
    check_ok(braid_exec_wait(exec));
    check_ok(braid_stream_synchronize(device, second));
    for (uint32_t i = 0; i < held + 2; i++)
        expected[i] = i <= held ? 7 : 8;
    check_found(field, found, expected, held + 2);
    braid_stream_destroy(second);
    braid_exec_destroy(exec);
}

// Whichever of the places for frames it has. The first launch fills the weights, behind no frame.
void a_frame_in_flight_reads_the_weights_it_was_launched_with(void **state)
{
    for (uint32_t held = 0; held < 3; held++)
        check_held_frame(*state, held);
}

enum { BEFORE = 41, WRITTEN = 3 };

// Writes a buffer of the first place on the last one, from another that holds ones.
static braid_exec *make_writer(struct field *field, bool by_parameter, braid_parameter *on,
                               braid_node *out_node)
{
    braid_graph *graph;
    braid_resource to, from;
    braid_exec *exec;
    const uint64_t bytes = PLACED_WORDS * sizeof(uint32_t);
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "to", field->buffers[0][0], bytes, &to));
    check_ok(braid_graph_add_buffer(graph, "from", field->buffers[0][1], bytes, &from));
    check_ok(braid_graph_add_parameter(graph, "on", sizeof(bool), on));
    const uint32_t factor = 2, addend = 1, num = PLACED_WORDS;
    const braid_arg args[] = { braid_resource_address(&to), braid_resource_address(&from),
                               BRAID_ARG(factor), BRAID_ARG(addend), BRAID_ARG(num) };
    const braid_access accesses[] = { { from, BRAID_READ }, { to, BRAID_WRITE } };
    const braid_kernel_node launch = { .node = { .accesses = accesses,
                                                 .num_accesses = 2,
                                                 .place =
                                                     BRAID_PLACE(field->test->num_places - 1) },
                                       .kernel = &test_axpy,
                                       .grid = { 1, 1, 1 },
                                       .block = { PLACED_WORDS, 1, 1 },
                                       .args = args,
                                       .num_args = 5 };
    check_ok(braid_graph_add_kernel(graph, &launch, out_node));
    const braid_parameter_use use = { .node = *out_node, .target = BRAID_TARGET_ENABLED };
    if (by_parameter)
        check_ok(braid_graph_use_parameter(graph, *on, &use));
    const braid_exec_options options = { .mode = field->test->mode, .frames = field->test->frames };
    check_ok(braid_exec_create_on_group(field->test->group, graph, &options, &exec));
    check_ok(braid_schedule_verify(braid_exec_schedule(exec), graph));
    braid_graph_destroy(graph);
    return exec;
}

static void run_writer(struct field *field, braid_exec *exec, uint32_t expected)
{
    const uint64_t bytes = PLACED_WORDS * sizeof(uint32_t);
    braid_device *device = field->test->devices[0];
    for (uint32_t i = 0; i < 2; i++)
        check_ok(braid_stream_fill(device, field->stream, field->buffers[0][i], i ? 1 : BEFORE, 4,
                                   PLACED_WORDS));
    check_ok(braid_exec_launch(exec, field->stream));
    check_ok(braid_stream_copy(device, field->stream, field->staged, field->buffers[0][0], bytes));
    check_ok(braid_stream_synchronize(device, field->stream));
    assert_int_equal(field->staged[PLACED_WORDS - 1], expected);
}

void a_disabled_node_leaves_what_was_there(void **state)
{
    struct field *field = *state;
    for (int by_parameter = 0; by_parameter < 2; by_parameter++) {
        braid_parameter on;
        braid_node node;
        braid_exec *exec = make_writer(field, by_parameter, &on, &node);
        run_writer(field, exec, WRITTEN);
        for (int i = 0; i < 3 && by_parameter; i++) {
            bool enabled = i == 1;
            check_ok(braid_exec_set_param(exec, on, &enabled));
            run_writer(field, exec, enabled ? WRITTEN : BEFORE);
        }
        const braid_dim3 none = { 0 }, one = { 1 };
        check_ok(braid_exec_set_enabled(exec, node, true));
        if (by_parameter) {
            check_ok(braid_exec_set_grid(exec, node, none));
            run_writer(field, exec, BEFORE);
        } else {
            check_fails(braid_exec_set_enabled(exec, node, false), BRAID_UNSUPPORTED,
                        "disable it by a parameter");
            check_fails(braid_exec_set_grid(exec, node, none), BRAID_UNSUPPORTED,
                        "disable it by a parameter");
        }
        check_ok(braid_exec_set_enabled(exec, node, true));
        check_ok(braid_exec_set_grid(exec, node, one));
        run_writer(field, exec, WRITTEN);
        braid_exec_destroy(exec);
    }
}

// A plan that did not know of it.
void a_parameter_that_came_late_is_refused(void **state)
{
    struct field *field = *state;
    braid_graph *graph;
    braid_resource to;
    braid_parameter on;
    braid_node node;
    braid_schedule *schedule;
    braid_exec *exec;
    braid_place_model model;
    braid_device_group_get_place_model(field->test->group, &model);
    const braid_schedule_options options = { .places = &model };
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "to", field->buffers[0][0], 64, &to));
    const braid_fill fill = { BRAID_ACCESSES({ to, BRAID_WRITE }),
                              .node.place = BRAID_PLACE(field->test->num_places - 1),
                              .to_resource = to, .num_values = 64 };
    check_ok(braid_graph_add_fill(graph, &fill, &node));
    check_ok(braid_graph_add_parameter(graph, "on", sizeof(bool), &on));
    check_ok(braid_schedule_create(graph, &options, &schedule));
    const braid_parameter_use use = { .node = node, .target = BRAID_TARGET_ENABLED };
    check_ok(braid_graph_use_parameter(graph, on, &use));
    const braid_exec_options given = { .schedule = schedule };
    check_fails(braid_exec_create_on_group(field->test->group, graph, &given, &exec),
                BRAID_INVALID_ARGUMENT, "made before a parameter could disable node 0 'fill'");
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}
