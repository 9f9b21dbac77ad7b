// SPDX-License-Identifier: Apache-2.0
// Nodes that no output needs run in no frame. In frames in which a parameter disables the last
// reader of a result, the kernels and copies that make it do not run, and nothing else changes.
#include "contract/groups.h"
#include "contract/nodes.h"

enum { NUM_FRAMES = 12 };

// Numbers on the device, each a buffer.
struct numbers {
    uint32_t *made, *copied, *drawn, *shown, *lost;
};

struct frame {
    braid_graph *graph;
    struct numbers numbers;
    braid_resource made, copied, drawn, shown, lost;
    braid_parameter draws;
};

static braid_resource number(const struct frame *frame, const char *name, uint32_t *address)
{
    braid_resource resource;
    check_ok(braid_graph_add_buffer(frame->graph, name, address, sizeof(*address), &resource));
    return resource;
}

// made += 1; copied = made; drawn = copied; shown += 3; lost += 1. Outputs are drawn and shown.
static struct frame make_frame(struct contract *contract)
{
    uint32_t *all = contract_numbers(contract, 5 * 16);
    struct frame frame = { .graph = contract_graph(contract),
                           .numbers = { all, all + 16, all + 32, all + 48, all + 64 } };
    const struct numbers *numbers = &frame.numbers;
    frame.made = number(&frame, "made", numbers->made);
    frame.copied = number(&frame, "copied", numbers->copied);
    frame.drawn = number(&frame, "drawn", numbers->drawn);
    frame.shown = number(&frame, "shown", numbers->shown);
    frame.lost = number(&frame, "lost", numbers->lost);
    add_axpy(frame.graph, (braid_node_options){ USES({ frame.made, BRAID_READ_WRITE }) },
             numbers->made, numbers->made, 1, 1, 1);
    add_copy(
        frame.graph,
        (braid_node_options){ USES({ frame.made, BRAID_READ }, { frame.copied, BRAID_WRITE }) },
        numbers->copied, numbers->made, sizeof(uint32_t));
    return frame;
}

static void add_rest(struct frame *frame, bool is_drawn_by_parameter)
{
    const struct numbers *numbers = &frame->numbers;
    braid_node draw = add_axpy(
        frame->graph,
        (braid_node_options){ USES({ frame->copied, BRAID_READ }, { frame->drawn, BRAID_WRITE }) },
        numbers->drawn, numbers->copied, 1, 0, 1);
    add_axpy(frame->graph, (braid_node_options){ USES({ frame->shown, BRAID_READ_WRITE }) },
             numbers->shown, numbers->shown, 1, 3, 1);
    add_axpy(frame->graph, (braid_node_options){ USES({ frame->lost, BRAID_READ_WRITE }) },
             numbers->lost, numbers->lost, 1, 1, 1);
    check_ok(braid_graph_set_output(frame->graph, frame->drawn));
    check_ok(braid_graph_set_output(frame->graph, frame->shown));
    if (!is_drawn_by_parameter)
        return;
    check_ok(braid_graph_add_parameter(frame->graph, "draws", 4, &frame->draws));
    check_ok(braid_graph_use_parameter(
        frame->graph, frame->draws,
        &(braid_parameter_use){ .node = draw, .target = BRAID_TARGET_ENABLED }));
}

static void check_numbers(struct contract *contract, const struct frame *frame, uint32_t copied,
                          uint32_t drawn)
{
    const struct numbers *numbers = &frame->numbers;
    assert_int_equal(contract_number(contract, numbers->made), NUM_FRAMES);
    assert_int_equal(contract_number(contract, numbers->copied), copied);
    assert_int_equal(contract_number(contract, numbers->drawn), drawn);
    assert_int_equal(contract_number(contract, numbers->shown), 3 * NUM_FRAMES);
    assert_int_equal(contract_number(contract, numbers->lost), 0);
}

static void nodes_left_out_never_run(void **state)
{
    struct contract *contract = *state;
    struct frame frame = make_frame(contract);
    add_rest(&frame, false);
    braid_exec *exec = contract_exec(contract, frame.graph);
    braid_schedule_info info;
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    assert_int_equal(info.num_left_out, 1);
    for (int i = 0; i < NUM_FRAMES; i++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    check_numbers(contract, &frame, NUM_FRAMES, NUM_FRAMES);
}

// The copy rests. `made` counts frames, and a later frame may read it.
static void nodes_rest_with_the_last_reader(void **state)
{
    struct contract *contract = *state;
    struct frame frame = make_frame(contract);
    add_rest(&frame, true);
    braid_exec *exec = contract_exec(contract, frame.graph);
    uint32_t last_drawn = 0;
    for (uint32_t i = 0; i < NUM_FRAMES; i++) {
        const uint32_t draws = i % 3 == 0;
        check_ok(braid_exec_set_parameter(exec, frame.draws, &draws));
        check_ok(braid_exec_launch(exec, NULL));
        last_drawn = draws ? i + 1 : last_drawn;
    }
    check_ok(braid_exec_wait(exec));
    bool is_group = contract_place(0); // on several devices no node rests
    check_numbers(contract, &frame, is_group ? NUM_FRAMES : last_drawn, last_drawn);
}

static struct frame begin_frame(struct contract *contract)
{
    uint32_t *all = contract_numbers(contract, 3 * 16);
    struct frame frame = { .graph = contract_graph(contract),
                           .numbers = { .made = all, .copied = all + 16, .drawn = all + 32 } };
    frame.made = number(&frame, "made", all);
    frame.copied = number(&frame, "copied", all + 16);
    frame.drawn = number(&frame, "drawn", all + 32);
    check_ok(braid_graph_set_output(frame.graph, frame.drawn));
    return frame;
}

static void add_count(const struct frame *frame)
{
    add_axpy(frame->graph, (braid_node_options){ USES({ frame->made, BRAID_READ_WRITE }) },
             frame->numbers.made, frame->numbers.made, 1, 1, 1);
}

// As the node of this index in the graph, which a parameter may disable.
static void add_draw(struct frame *frame, braid_resource from, uint32_t index)
{
    add_axpy_of(frame->graph, frame->drawn, from, 1, 0, 1);
    check_ok(braid_graph_add_parameter(frame->graph, "draws", 4, &frame->draws));
    check_ok(braid_graph_use_parameter(
        frame->graph, frame->draws,
        &(braid_parameter_use){ .node = braid_graph_get_node(frame->graph, index),
                                .target = BRAID_TARGET_ENABLED }));
}

// The second of three frames draws nothing.
static void check_drawn(struct contract *contract, const struct frame *frame, uint32_t drawn)
{
    braid_exec *exec = contract_exec(contract, frame->graph);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t draws = i != 1;
        check_ok(braid_exec_set_parameter(exec, frame->draws, &draws));
        check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, frame->numbers.drawn), drawn);
}

static void states_miss_no_step(void **state)
{
    struct contract *contract = *state;
    struct frame frame = begin_frame(contract);
    add_count(&frame);
    add_draw(&frame, frame.made, 1);
    check_drawn(contract, &frame, 3);
}

static void results_for_the_next_frame_are_made(void **state)
{
    struct contract *contract = *state;
    struct frame frame = begin_frame(contract);
    add_draw(&frame, frame.copied, 0);
    add_count(&frame);
    add_axpy_of(frame.graph, frame.copied, frame.made, 1, 0, 1);
    check_drawn(contract, &frame, 2);
}

static void versions_for_the_next_frame_are_made(void **state)
{
    struct contract *contract = *state;
    struct frame frame = begin_frame(contract);
    braid_resource now, before;
    check_ok(
        braid_graph_add_versioned_buffer(frame.graph, "state", NULL, 2, sizeof(uint32_t), &now));
    check_ok(braid_graph_add_earlier_version(frame.graph, now, 1, &before));
    add_count(&frame);
    add_axpy_of(frame.graph, now, frame.made, 1, 0, 1);
    add_draw(&frame, before, 2);
    check_drawn(contract, &frame, 2);
}

// A copy of memory that the driver does not know is made by a host call, which no driver disables.
static void nodes_that_cannot_be_disabled_stay(void **state)
{
    struct contract *contract = *state;
    struct frame frame = begin_frame(contract);
    static uint32_t own = 7;
    braid_resource given = number(&frame, "given", &own);
    braid_exec *exec;
    add_copy(frame.graph,
             (braid_node_options){ USES({ given, BRAID_READ }, { frame.copied, BRAID_WRITE }) },
             frame.numbers.copied, &own, sizeof(own));
    check_ok(contract_create_exec(contract, frame.graph,
                                  &(braid_exec_options){ .mode = contract->mode }, &exec));
    braid_exec_destroy(exec);
    add_draw(&frame, frame.copied, 1);
    check_ok(contract_create_exec(contract, frame.graph,
                                  &(braid_exec_options){ .mode = contract->mode }, &exec));
    braid_exec_destroy(exec);
    check_drawn(contract, &frame, 7);
}

int run_outputs(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(nodes_left_out_never_run),
        contract_test(nodes_rest_with_the_last_reader),
        contract_test(states_miss_no_step),
        contract_test(results_for_the_next_frame_are_made),
        contract_test(versions_for_the_next_frame_are_made),
        contract_test(nodes_that_cannot_be_disabled_stay),
    };
    return contract_run("nodes no output needs do not run", tests);
}
