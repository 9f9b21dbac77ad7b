// SPDX-License-Identifier: Apache-2.0
// Frames end in launch order, whichever is done first and on whatever streams they are: by their
// callbacks, by waits for the exec, and by what stands behind them on their streams.
#include <stdatomic.h>
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/clock.h"

enum { depth = 3 };

// Static: the exec of a test that fails goes on calling until it is destroyed.
static struct {
    struct gate gates[depth]; // one a frame
    struct gate held;         // where the first callback stands
    _Atomic uint32_t num_told, num_inside, num_wrong;
} ends;

static void begin(struct contract *contract)
{
    memset(&ends, 0, sizeof(ends));
    for (uint32_t i = 0; i < depth; i++)
        ends.gates[i] = contract_gate(contract);
    ends.held = contract_gate(contract);
}

static void count_wrong(bool is_wrong)
{
    atomic_fetch_add(&ends.num_wrong, is_wrong);
}

// A gate in each frame, which shares nothing with those of others. Frames are given their own.
static braid_exec *make_exec(struct contract *contract, uint32_t frames,
                             braid_frame_function *on_end, braid_node *out_node)
{
    braid_graph *graph = contract_graph(contract);
    braid_resource read = add_resource(graph, "read");
    *out_node = add_gate(graph, (braid_node_options){ USES({ read, BRAID_READ }) }, ends.gates[0]);
    return contract_exec_with(
        contract, graph,
        (braid_exec_options){ .frames_in_flight = frames, .on_frame_end = on_end });
}

static void launch(braid_exec *exec, braid_node node, uint32_t frame, braid_stream *stream)
{
    const struct gate *gate = &ends.gates[frame];
    check_ok(braid_exec_set_arg(exec, node, 0, BRAID_ARG(gate->open)));
    check_ok(braid_exec_set_arg(exec, node, 1, BRAID_ARG(gate->report)));
    check_ok(braid_exec_launch(exec, stream));
}

static void wait_until_passed(struct gate gate)
{
    uint64_t start = clock_now_ns();
    while (gate_state(gate) != GATE_PASSED) {
        assert_true(clock_now_ns() - start < TEST_TIMEOUT_NS);
        clock_nap();
    }
}

static void tell_of_passed(uint64_t frame, void *user)
{
    (void)user;
    count_wrong(frame != atomic_fetch_add(&ends.num_told, 1));
    count_wrong(gate_state(ends.gates[frame]) != GATE_PASSED);
}

// The first frame is held up, and those behind it, which share nothing with it, are done.
static void check_frames_behind(struct contract *contract, bool on_one_stream)
{
    begin(contract);
    braid_node node;
    braid_exec *exec = make_exec(contract, depth, tell_of_passed, &node);
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    if (info.whole_frames)
        skip_because(info.frames_reason);
    braid_stream *stream = contract_stream(contract);
    braid_event *behind = contract_event(contract);
    for (uint32_t i = 0; i < depth; i++) {
        if (i)
            gate_open(ends.gates[i]);
        launch(exec, node, i, stream);
        if (!on_one_stream && i + 1 < depth)
            stream = contract_stream(contract);
    }
    check_ok(braid_event_record(behind, stream));
    for (uint32_t i = 1; i < depth; i++)
        wait_until_passed(ends.gates[i]);
    contract_let_begin(contract);
    assert_int_equal(braid_event_query(behind), BRAID_NOT_READY);
    assert_int_equal(atomic_load(&ends.num_told), 0);
    check_still_closed(ends.gates[0]);
    gate_open(ends.gates[0]);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(atomic_load(&ends.num_told), depth);
    assert_int_equal(atomic_load(&ends.num_wrong), 0);
}

static void no_frame_on_another_stream_ends_before_the_one_before(void **state)
{
    check_frames_behind(*state, false);
}

static void no_frame_on_the_same_stream_ends_before_the_one_before(void **state)
{
    check_frames_behind(*state, true);
}

static void stand_at_first(uint64_t frame, void *user)
{
    (void)user;
    count_wrong(atomic_fetch_add(&ends.num_inside, 1) != 0);
    count_wrong(frame != atomic_load(&ends.num_told));
    if (frame == 0)
        gate_stand_at(&ends.held);
    atomic_fetch_add(&ends.num_told, 1);
    atomic_fetch_sub(&ends.num_inside, 1);
}

// The callback of the first frame takes its time, and the next frame is on another stream.
static void check_callbacks(struct contract *contract, uint32_t frames)
{
    begin(contract);
    braid_node node;
    braid_exec *exec = make_exec(contract, frames, stand_at_first, &node);
    for (uint32_t i = 0; i < depth; i++)
        gate_open(ends.gates[i]);
    launch(exec, node, 0, contract_stream(contract));
    gate_wait_until_entered(ends.held);
    launch(exec, node, 1, contract_stream(contract));
    contract_let_begin(contract);
    assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    assert_int_equal(atomic_load(&ends.num_told), 0);
    check_still_closed(ends.held);
    gate_open(ends.held);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(atomic_load(&ends.num_told), 2);
    assert_int_equal(atomic_load(&ends.num_wrong), 0);
    contract_destroy_exec(contract, exec);
}

static void callbacks_of_frames_on_two_streams_follow_each_other(void **state)
{
    for (uint32_t frames = 1; frames <= depth; frames++)
        check_callbacks(*state, frames);
}

int run_ends(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(no_frame_on_another_stream_ends_before_the_one_before),
        contract_test(no_frame_on_the_same_stream_ends_before_the_one_before),
        contract_test(callbacks_of_frames_on_two_streams_follow_each_other),
    };
    return contract_run("frames end in launch order", tests);
}
