// SPDX-License-Identifier: Apache-2.0
// Memory on a device that no frame copies, or that a disabled node leaves as it was.
#include "groups/memory_cases.h"

#include <string.h>

#include "groups/field.h"
#include "support/check.h"
#include "support/kernels.h"
#include "support/wide_plan.h"

// Weights have memory of their own at the last place, where a node reads them into `found`.
static braid_exec *make_reader(struct field *field)
{
    braid_graph *graph;
    braid_exec *exec;
    braid_resource weights, found;
    const uint64_t bytes = PLACED_WORDS * sizeof(uint32_t);
    uint32_t last = field->test->num_places - 1;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "weights", field->buffers[last][0], bytes, &weights));
    check_ok(braid_graph_add_buffer(graph, "found", field->buffers[last][1], bytes, &found));
    check_ok(braid_graph_set_home(graph, weights, last + 1));
    check_ok(braid_graph_set_home(graph, found, last + 1));
    const braid_copy copy = { BRAID_ACCESSES({ weights, BRAID_READ }, { found, BRAID_WRITE }),
                              .to_resource = found, .from_resource = weights, .bytes = bytes };
    check_ok(braid_graph_add_copy(graph, &copy, NULL));
    const braid_exec_options options = { .mode = field->test->mode,
                                         .frames_in_flight = field->test->frames };
    check_ok(braid_exec_create(field->test->group, graph, &options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

// The program has one copy of the weights on each device, and makes it anew when they change.
void weights_that_the_program_copies_are_copied_by_no_frame(void **state)
{
    struct field *field = *state;
    braid_exec *exec = make_reader(field);
    uint32_t last = field->test->num_places - 1;
    const uint64_t bytes = PLACED_WORDS * sizeof(uint32_t);
    braid_schedule_info plan;
    braid_schedule_get_info(braid_exec_get_schedule(exec), &plan);
    assert_int_equal(plan.num_copies, 0);
    for (uint32_t i = 0; i < 4; i++) {
        check_ok(braid_stream_fill(field->stream, field->buffers[0][0], 11 + i, 4, PLACED_WORDS));
        if (i % 2 == 0)
            check_ok(braid_stream_copy(field->stream, field->buffers[last][0], field->buffers[0][0],
                                       bytes));
        check_ok(braid_exec_launch(exec, field->stream));
        check_ok(braid_stream_copy(field->stream, &field->staged[i], field->buffers[last][1],
                                   sizeof(uint32_t)));
    }
    check_ok(braid_stream_wait(field->stream));
    check_ok(braid_exec_wait(exec));
    const uint32_t expected[] = { 11, 11, 13, 13 };
    assert_memory_equal(field->staged, expected, sizeof(expected));
    braid_exec_destroy(exec);
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
    const braid_kernel_node launch = {
        .node = { .accesses = accesses, .num_accesses = 2, .place = field->test->num_places },
        .kernel = &test_axpy,
        .grid = { 1, 1, 1 },
        .block = { PLACED_WORDS, 1, 1 },
        .args = args,
        .num_args = 5
    };
    check_ok(braid_graph_add_kernel(graph, &launch, out_node));
    const braid_parameter_use use = { .node = *out_node, .target = BRAID_TARGET_ENABLED };
    if (by_parameter)
        check_ok(braid_graph_use_parameter(graph, *on, &use));
    const braid_exec_options options = { .mode = field->test->mode,
                                         .frames_in_flight = field->test->frames };
    check_ok(braid_exec_create(field->test->group, graph, &options, &exec));
    check_ok(braid_schedule_verify(braid_exec_get_schedule(exec), graph));
    braid_graph_destroy(graph);
    return exec;
}

static void run_writer(struct field *field, braid_exec *exec, uint32_t expected)
{
    const uint64_t bytes = PLACED_WORDS * sizeof(uint32_t);
    for (uint32_t i = 0; i < 2; i++)
        check_ok(braid_stream_fill(field->stream, field->buffers[0][i], i ? 1 : BEFORE, 4,
                                   PLACED_WORDS));
    check_ok(braid_exec_launch(exec, field->stream));
    check_ok(braid_stream_copy(field->stream, field->staged, field->buffers[0][0], bytes));
    check_ok(braid_stream_wait(field->stream));
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
            check_ok(braid_exec_set_parameter(exec, on, &enabled));
            run_writer(field, exec, enabled ? WRITTEN : BEFORE);
        }
        const braid_dim3 none = { 0 }, one = { 1 };
        check_ok(braid_exec_set(exec, node, BRAID_TARGET_ENABLED, 0, &(bool){ true }));
        if (by_parameter) {
            check_ok(braid_exec_set(exec, node, BRAID_TARGET_GRID, 0, &none));
            run_writer(field, exec, BEFORE);
        } else {
            check_fails(braid_exec_set(exec, node, BRAID_TARGET_ENABLED, 0, &(bool){ false }),
                        BRAID_UNSUPPORTED, "disable it by a parameter");
            check_fails(braid_exec_set(exec, node, BRAID_TARGET_GRID, 0, &none), BRAID_UNSUPPORTED,
                        "disable it by a parameter");
        }
        check_ok(braid_exec_set(exec, node, BRAID_TARGET_ENABLED, 0, &(bool){ true }));
        check_ok(braid_exec_set(exec, node, BRAID_TARGET_GRID, 0, &one));
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
    braid_device_info info;
    braid_device_get_info(field->test->group, &info);
    const braid_schedule_options options = { .costs = &free_costs, .places = info.place_model };
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "to", field->buffers[0][0], 64, &to));
    const braid_fill fill = { BRAID_ACCESSES({ to, BRAID_WRITE }),
                              .node.place = field->test->num_places, .to_resource = to,
                              .num_values = 64 };
    check_ok(braid_graph_add_fill(graph, &fill, &node));
    check_ok(braid_graph_add_parameter(graph, "on", sizeof(bool), &on));
    check_ok(braid_schedule_create(graph, &options, &schedule));
    const braid_parameter_use use = { .node = node, .target = BRAID_TARGET_ENABLED };
    check_ok(braid_graph_use_parameter(graph, on, &use));
    const braid_exec_options given = { .schedule = schedule };
    check_fails(braid_exec_create(field->test->group, graph, &given, &exec), BRAID_INVALID_ARGUMENT,
                "made before a parameter could disable node 0 'fill'");
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}
