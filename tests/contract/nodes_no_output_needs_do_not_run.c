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

static void check_numbers(struct contract *contract, const struct frame *frame, uint32_t made,
                          uint32_t shown)
{
    const struct numbers *numbers = &frame->numbers;
    assert_int_equal(contract_number(contract, numbers->made), made);
    assert_int_equal(contract_number(contract, numbers->copied), made);
    assert_int_equal(contract_number(contract, numbers->drawn), made);
    assert_int_equal(contract_number(contract, numbers->shown), shown);
    assert_int_equal(contract_number(contract, numbers->lost), 0);
}

static void nodes_left_out_never_run(void **state)
{
    struct contract *contract = *state;
    struct frame frame = make_frame(contract);
    add_rest(&frame, false);
    braid_exec *exec = contract_exec(contract, frame.graph);
    braid_schedule_info info;
    braid_schedule_get_info(braid_exec_schedule(exec), &info);
    assert_int_equal(info.num_left_out, 1);
    for (int i = 0; i < NUM_FRAMES; i++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    check_numbers(contract, &frame, NUM_FRAMES, 3 * NUM_FRAMES);
}

static void nodes_rest_with_the_last_reader(void **state)
{
    struct contract *contract = *state;
    struct frame frame = make_frame(contract);
    add_rest(&frame, true);
    braid_exec *exec = contract_exec(contract, frame.graph);
    uint32_t num_drawn = 0;
    for (uint32_t i = 0; i < NUM_FRAMES; i++) {
        const uint32_t draws = i % 3 == 0 || i + 1 == NUM_FRAMES;
        check_ok(braid_exec_set_param(exec, frame.draws, &draws));
        check_ok(braid_exec_launch(exec, NULL));
        num_drawn += draws;
    }
    check_ok(braid_exec_wait(exec));
    bool is_group = contract_place(0); // on several devices no node rests
    check_numbers(contract, &frame, is_group ? NUM_FRAMES : num_drawn, 3 * NUM_FRAMES);
}

int run_outputs(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(nodes_left_out_never_run),
        contract_test(nodes_rest_with_the_last_reader),
    };
    return contract_run("nodes no output needs do not run", tests);
}
