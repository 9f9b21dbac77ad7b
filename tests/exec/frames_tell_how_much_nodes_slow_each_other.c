// SPDX-License-Identifier: Apache-2.0
// Frames in which nodes overlap tell how much these slow each other.
#include "exec/measure_crowding.h"
#include "graph/graph.h"
#include "support/check.h"
#include "support/failing_memory.h"

// Each node takes 1 + 0.5 * k times 1000 ns while k others run.
enum { ALONE_NS = 1000, HALF = GRAPH_CROWDING_ONE / 2, NUM_NODES = 3 };

static const struct measured_crowding known = { .alone_ns = ALONE_NS, .counts = true };
static const struct measured_crowding unknown = { .counts = true };

static void measure(const braid_interval *intervals, uint32_t num_frames,
                    struct measured_crowding *nodes)
{
    const struct measured_frames frames = { .intervals = intervals,
                                            .num_frames = num_frames,
                                            .num_nodes = NUM_NODES };
    check_ok(braid_measure_crowding(&frames, nodes));
}

static void check_half(const struct measured_crowding *node)
{
    assert_true(node->overlaps);
    assert_in_range(node->crowding, HALF - 16, HALF + 16);
}

static void all_at_once(void **state)
{
    (void)state;
    const braid_interval frame[NUM_NODES] = { { 100, 2100 }, { 100, 2100 }, { 100, 2100 } };
    struct measured_crowding nodes[NUM_NODES] = { known, known, known };
    measure(frame, 1, nodes);
    for (int i = 0; i < NUM_NODES; i++)
        check_half(&nodes[i]);
}

// The first runs 500 ns alone, 750 ns beside the second, and the second is alone for 500 ns then.
// The third comes right behind.
static void a_part_of_the_time(void **state)
{
    (void)state;
    const braid_interval frame[NUM_NODES] = { { 0, 1250 }, { 500, 1750 }, { 1750, 2750 } };
    struct measured_crowding nodes[NUM_NODES] = { known, known, known };
    measure(frame, 1, nodes);
    check_half(&nodes[0]);
    check_half(&nodes[1]);
    assert_false(nodes[2].overlaps);
    assert_int_equal(nodes[2].crowding, 0);
}

// The median counts, and frames without an overlap are frames.
static void of_several_frames(void **state)
{
    (void)state;
    const braid_interval frames[3 * NUM_NODES] = {
        { 0, 1500 },      { 0, 1500 },      { 3000, 4000 },   //
        { 9000, 19000 },  { 9000, 19000 },  { 20000, 21000 }, // other work of the machine
        { 30000, 31500 }, { 30000, 31500 }, { 31000, 32250 },
    };
    struct measured_crowding nodes[NUM_NODES] = { known, known, known };
    measure(frames, 3, nodes);
    check_half(&nodes[0]);
    check_half(&nodes[1]);
    assert_false(nodes[2].overlaps);
}

static void limits(void **state)
{
    (void)state;
    const braid_interval frame[NUM_NODES] = { { 0, 900 }, { 0, 90000 }, { 0, 90000 } };
    struct measured_crowding nodes[NUM_NODES] = { known, unknown, known };
    nodes[2].alone_ns = 1;
    measure(frame, 1, nodes);
    assert_true(nodes[0].overlaps); // and is no longer than alone
    assert_int_equal(nodes[0].crowding, 0);
    assert_true(nodes[1].overlaps); // whose time alone nobody knows
    assert_int_equal(nodes[1].crowding, 0);
    assert_in_range(nodes[2].crowding, 11 * GRAPH_CROWDING_ONE / 4, 3 * GRAPH_CROWDING_ONE);
}

// Of an overlap of an eighth a node cannot be 15 % longer.
static void short_overlaps_tell_nothing(void **state)
{
    (void)state;
    const braid_interval frame[NUM_NODES] = { { 0, 1150 }, { 1004, 2154 }, { 3000, 4000 } };
    struct measured_crowding nodes[NUM_NODES] = { known, known, known };
    measure(frame, 1, nodes);
    for (int i = 0; i < NUM_NODES; i++) {
        assert_false(nodes[i].overlaps);
        assert_int_equal(nodes[i].crowding, 0);
    }
}

// Its mark's start is no time of its own, and calls that sleep slow nobody.
static void what_is_left_out(void **state)
{
    (void)state;
    const braid_interval frame[NUM_NODES] = { { 0, 1700 }, { 200, 1700 }, { 0, 1700 } };
    struct measured_crowding nodes[NUM_NODES] = { known, known, { .alone_ns = ALONE_NS } };
    nodes[0].added_ns = 200;
    measure(frame, 1, nodes);
    check_half(&nodes[0]);
    check_half(&nodes[1]);
    assert_false(nodes[2].overlaps);
    measure(frame, 0, nodes);
}

static void memory_may_be_missing(void **state)
{
    (void)state;
    struct measured_crowding nodes[NUM_NODES] = { known };
    const struct measured_frames frames = { .num_nodes = NUM_NODES };
    for (uint64_t nth = 1; nth <= 3; nth++) {
        failing_memory_arm_once(nth);
        braid_status status = braid_measure_crowding(&frames, nodes);
        assert_true(failing_memory_disarm());
        check_fails(status, BRAID_NO_MEMORY, "the times of nodes beside others");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_at_once),
        cmocka_unit_test(a_part_of_the_time),
        cmocka_unit_test(of_several_frames),
        cmocka_unit_test(limits),
        cmocka_unit_test(short_overlaps_tell_nothing),
        cmocka_unit_test(what_is_left_out),
        cmocka_unit_test(memory_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
