// SPDX-License-Identifier: Apache-2.0
// Several frames by one call do what so many launches do, each with its own row of the parameters.
#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/failing_memory.h"

enum { NUM_CHAINS = 3, CHAIN = 4, MANY = 40 };

// Each chain is CHAIN nodes, each of which sets x = 3 x + addend; all are added up in the end, and
// the sum goes into the first chain's number, so that every frame needs all of the one before.
struct frames {
    uint32_t *x;
    braid_graph *graph;
    braid_parameter addend;
    braid_node last;
};

static struct frames make_frames(struct contract *contract)
{
    struct frames frames = { .x = contract_numbers(contract, NUM_CHAINS),
                             .graph = contract_graph(contract) };
    braid_node ends[NUM_CHAINS];
    check_ok(braid_graph_add_parameter(frames.graph, "addend", sizeof(uint32_t), &frames.addend));
    for (uint32_t chain = 0; chain < NUM_CHAINS; chain++) {
        for (uint32_t i = 0; i < CHAIN; i++) {
            uint32_t *x = frames.x + chain;
            const braid_node_options after = { .after = &ends[chain], .num_after = i > 0 };
            braid_node node = add_axpy(frames.graph, after, x, x, 3, 1 + chain, 1);
            if (i == 0)
                check_ok(braid_graph_use_parameter(
                    frames.graph, frames.addend,
                    &(braid_parameter_use){ .node = node, .argument = 3 }));
            ends[chain] = node;
        }
    }
    for (uint32_t chain = 1; chain < NUM_CHAINS; chain++) {
        const braid_node after[2] = { ends[0], ends[chain] };
        ends[0] = add_add(frames.graph, (braid_node_options){ .after = after, .num_after = 2 },
                          frames.x, frames.x, frames.x + chain, 1);
    }
    frames.last = ends[0];
    return frames;
}

// The same on the host. NULL addends: the nodes' own.
static void expect(uint32_t *x, const uint32_t *addends, uint32_t num_frames)
{
    for (uint32_t frame = 0; frame < num_frames; frame++) {
        for (uint32_t chain = 0; chain < NUM_CHAINS; chain++) {
            x[chain] = x[chain] * 3 + (addends ? addends[frame] : 1 + chain);
            for (uint32_t i = 1; i < CHAIN; i++)
                x[chain] = x[chain] * 3 + 1 + chain;
        }
        for (uint32_t chain = 1; chain < NUM_CHAINS; chain++)
            x[0] += x[chain];
    }
}

static void check_frames(struct contract *contract, const struct frames *frames,
                         const uint32_t *expected)
{
    uint32_t seen[NUM_CHAINS];
    contract_read(contract, seen, frames->x, sizeof(seen));
    assert_memory_equal(seen, expected, sizeof(seen));
}

static void fill_rows(uint32_t *rows, uint32_t num, uint32_t seed)
{
    for (uint32_t i = 0; i < num; i++)
        rows[i] = seed + 7 * i;
}

static void launch_rows(braid_exec *exec, braid_stream *stream, const struct frames *frames,
                        const uint32_t *rows, size_t num)
{
    const braid_parameter_rows all = { frames->addend, rows, num };
    check_ok(braid_exec_launch_many(exec, stream, num, &all, 1));
}

static void frames_follow_each_other(void **state)
{
    struct contract *contract = *state;
    struct frames frames = make_frames(contract);
    braid_exec *exec = contract_exec(contract, frames.graph);
    uint32_t expected[NUM_CHAINS] = { 0 };
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_launch_many(exec, NULL, MANY, NULL, 0));
    check_ok(braid_exec_launch_many(exec, NULL, 1, NULL, 0));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    expect(expected, NULL, MANY + 3);
    check_frames(contract, &frames, expected);
}

static void no_frames_are_no_work(void **state)
{
    struct contract *contract = *state;
    struct frames frames = make_frames(contract);
    braid_exec *exec = contract_exec(contract, frames.graph);
    const uint32_t none[NUM_CHAINS] = { 0 };
    check_ok(braid_exec_launch_many(exec, NULL, 0, NULL, 0));
    check_ok(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0));
    check_frames(contract, &frames, none);
}

// The value before the rows is for launches before; the last row stays.
static void each_frame_takes_its_row(void **state)
{
    struct contract *contract = *state;
    struct frames frames = make_frames(contract);
    braid_exec *exec = contract_exec(contract, frames.graph);
    uint32_t rows[MANY], own = 5, expected[NUM_CHAINS] = { 0 };
    fill_rows(rows, MANY, 1000);
    check_ok(braid_exec_set_parameter(exec, frames.addend, &own));
    check_ok(braid_exec_launch(exec, NULL));
    launch_rows(exec, NULL, &frames, rows, MANY);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_launch_many(exec, NULL, 2, NULL, 0));
    check_ok(braid_exec_wait(exec));
    expect(expected, &own, 1);
    expect(expected, rows, MANY);
    for (int i = 0; i < 3; i++)
        expect(expected, &rows[MANY - 1], 1);
    check_frames(contract, &frames, expected);
}

// More rows than one launch takes. The last node needs one block.
static void rows_come_with_a_change_of_a_node(void **state)
{
    enum { num_frames = 300 };
    struct contract *contract = *state;
    struct frames frames = make_frames(contract);
    braid_exec *exec = contract_exec(contract, frames.graph);
    uint32_t rows[num_frames], expected[NUM_CHAINS] = { 0 };
    fill_rows(rows, num_frames, 70);
    check_ok(braid_exec_set(exec, frames.last, BRAID_TARGET_GRID, 0, &(braid_dim3){ 1 }));
    launch_rows(exec, NULL, &frames, rows, num_frames);
    check_ok(braid_exec_wait(exec));
    expect(expected, rows, num_frames);
    check_frames(contract, &frames, expected);
}

// All are queued behind a gate; what is set in the meantime is for later ones.
static void frames_in_flight_keep_their_rows(void **state)
{
    struct contract *contract = *state;
    struct frames frames = make_frames(contract);
    braid_exec *exec = contract_exec(contract, frames.graph);
    braid_stream *stream = contract_stream(contract);
    uint32_t rows[3][4], expected[NUM_CHAINS] = { 0 };
    for (uint32_t i = 0; i < 3; i++)
        fill_rows(rows[i], 4, 100 * i);
    struct gate gate = contract_close(contract, stream);
    for (uint32_t i = 0; i < 3; i++) {
        launch_rows(exec, stream, &frames, rows[i], 4);
        expect(expected, rows[i], 4);
    }
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    check_frames(contract, &frames, expected);
}

// What a row is: the number that a frame writes, and where.
struct row {
    uint32_t *to;
    uint32_t addend;
};

// Frames that share nothing overlap as far as there are places; each still writes its own row.
static void frames_in_flight_at_once_keep_their_rows(void **state)
{
    enum { depth = 3, num_frames = 8 };
    struct contract *contract = *state;
    uint32_t *numbers = contract_numbers(contract, num_frames + 1);
    braid_graph *graph = contract_graph(contract);
    braid_resource out = add_resource(graph, "out");
    braid_node node = add_axpy(graph, (braid_node_options){ USES({ out, BRAID_ACCUMULATE }) },
                               numbers, numbers + num_frames, 1, 0, 1);
    braid_parameter parameter;
    check_ok(braid_graph_add_parameter(graph, "row", sizeof(struct row), &parameter));
    const braid_parameter_use uses[] = {
        { .node = node, .argument = 0, .bytes = sizeof(uint32_t *) },
        { .node = node,
          .argument = 3,
          .offset = offsetof(struct row, addend),
          .bytes = sizeof(uint32_t) },
    };
    for (int i = 0; i < 2; i++)
        check_ok(braid_graph_use_parameter(graph, parameter, &uses[i]));
    const braid_exec_options options = { .frames_in_flight = depth, .islands = contract_islands() };
    braid_exec *exec = contract_exec_with(contract, graph, options);
    struct row rows[num_frames] = { 0 };
    for (uint32_t i = 0; i < num_frames; i++)
        rows[i] = (struct row){ numbers + i, 100 + i };
    braid_stream *stream = contract_stream(contract);
    struct gate gate = contract_close(contract, stream);
    check_ok(braid_exec_launch_many(exec, stream, num_frames,
                                    &(braid_parameter_rows){ parameter, rows, num_frames }, 1));
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(braid_exec_get_num_launched(exec), num_frames);
    uint32_t seen[num_frames];
    contract_read(contract, seen, numbers, sizeof(seen));
    for (uint32_t i = 0; i < num_frames; i++)
        assert_int_equal(seen[i], 100 + i);
}

struct ends {
    uint64_t num;
    bool are_in_order;
};

static void note_end(uint64_t frame, void *user)
{
    struct ends *ends = user;
    ends->are_in_order = ends->are_in_order && frame == ends->num;
    ends->num++;
}

// Whether the frames have rows or not, and whatever number of them the driver would run at once.
static void each_frame_of_a_call_tells_of_its_end(void **state)
{
    struct contract *contract = *state;
    struct frames frames = make_frames(contract);
    struct ends ends = { .are_in_order = true };
    braid_exec *exec = contract_exec_with(
        contract, frames.graph,
        (braid_exec_options){ .on_frame_end = note_end, .on_frame_end_user = &ends });
    uint32_t rows[MANY], expected[NUM_CHAINS] = { 0 };
    fill_rows(rows, MANY, 9);
    check_ok(braid_exec_launch_many(exec, NULL, MANY, NULL, 0));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(ends.num, MANY);
    launch_rows(exec, NULL, &frames, rows, MANY);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(ends.num, 2 * MANY);
    assert_true(ends.are_in_order);
    expect(expected, NULL, MANY);
    expect(expected, rows, MANY);
    check_frames(contract, &frames, expected);
}

static void rows_are_for_as_many_frames(void **state)
{
    struct contract *contract = *state;
    struct frames frames = make_frames(contract);
    braid_exec *exec = contract_exec(contract, frames.graph);
    uint32_t rows[4], expected[NUM_CHAINS] = { 0 };
    fill_rows(rows, 4, 3);
    const braid_parameter_rows four = { frames.addend, rows, 4 },
                               unknown = { .values = rows, .num = 5 };
    check_fails(braid_exec_launch_many(exec, NULL, 5, &four, 1), BRAID_INVALID_ARGUMENT,
                "parameter 0 'addend' has rows for 4 frames, not 5");
    check_fails(braid_exec_launch_many(exec, NULL, 5, &unknown, 1), BRAID_INVALID_ARGUMENT,
                "is not a parameter of the exec's graph");
    check_frames(contract, &frames, expected);
    launch_rows(exec, NULL, &frames, rows, 4);
    expect(expected, rows, 4);
    check_ok(braid_exec_launch_many(exec, NULL, 2, NULL, 0));
    expect(expected, &rows[3], 1);
    expect(expected, &rows[3], 1);
    check_ok(braid_exec_wait(exec));
    check_frames(contract, &frames, expected);
}

// The first launch is behind a gate, so that never more frames are in flight than then: in each
// place as many, since they are a multiple of the places that are tried.
static void rows_in_every_launch_allocate_nothing(void **state)
{
    struct contract *contract = *state;
    struct frames frames = make_frames(contract);
    braid_exec *exec = contract_exec(contract, frames.graph);
    braid_stream *stream = contract_stream(contract);
    enum { NUM_ROWS = 12 };
    uint32_t rows[NUM_ROWS], expected[NUM_CHAINS] = { 0 };
    uint64_t before = 0;
    fill_rows(rows, NUM_ROWS, 0);
    struct gate gate = contract_close(contract, stream);
    launch_rows(exec, stream, &frames, rows, NUM_ROWS);
    expect(expected, rows, NUM_ROWS);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    for (uint32_t launch = 0; launch < 20; launch++) {
        if (launch == 5)
            before = failing_memory_num_calls();
        fill_rows(rows, NUM_ROWS, launch);
        launch_rows(exec, stream, &frames, rows, NUM_ROWS);
        check_ok(braid_exec_wait(exec));
        expect(expected, rows, NUM_ROWS);
    }
    // A worker that is held up between a frame's end and giving its memory back makes one more be
    // in flight than ever before, which may happen: but not in every launch.
    assert_true(failing_memory_num_calls() - before < 15);
    check_frames(contract, &frames, expected);
}

int run_many_frames(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(frames_follow_each_other),
        contract_test(no_frames_are_no_work),
        contract_test(each_frame_takes_its_row),
        contract_test(rows_come_with_a_change_of_a_node),
        contract_test(frames_in_flight_keep_their_rows),
        contract_test(frames_in_flight_at_once_keep_their_rows),
        contract_test(each_frame_of_a_call_tells_of_its_end),
        contract_test(rows_are_for_as_many_frames),
        contract_test(rows_in_every_launch_allocate_nothing),
    };
    return contract_run("many_frames_are_launched_at_once", tests);
}
