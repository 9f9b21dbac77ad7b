// SPDX-License-Identifier: Apache-2.0
// A node's delay is how much later it begins than a cost model expects, as the median of the
// frames.
#include <braid/graph.h>

#include "exec/measure_delays.h"
#include "support/check.h"
#include "support/failing_memory.h"

// Lane 0 runs nodes 0, 1, 4 and 5. Lane 1 runs node 2, node 3, which waits for node 0, and node 6,
// which waits for node 4. Node 4 is a loop, which is not timed.
enum { NUM_NODES = 7, NUM_FRAMES = 3 };
static const braid_step steps[] = {
    { BRAID_STEP_RUN, 0, 0, 0 },  { BRAID_STEP_RECORD, 0, 0, 0 }, { BRAID_STEP_RUN, 1, 2, 0 },
    { BRAID_STEP_RUN, 0, 1, 0 },  { BRAID_STEP_WAIT, 1, 0, 0 },   { BRAID_STEP_RUN, 1, 3, 0 },
    { BRAID_STEP_LOOP, 0, 4, 0 }, { BRAID_STEP_RECORD, 0, 4, 1 }, { BRAID_STEP_RUN, 0, 5, 0 },
    { BRAID_STEP_WAIT, 1, 4, 1 }, { BRAID_STEP_RUN, 1, 6, 0 },
};
static const braid_interval intervals[NUM_FRAMES * NUM_NODES] = {
    { 1000, 2000 }, { 2500, 3000 }, { 1000, 1200 }, { 3100, 4000 },
    { 0, 0 },       { 9000, 9100 }, { 9500, 9600 }, //
    { 5000, 6000 }, { 6400, 7000 }, { 5000, 5200 }, { 7300, 8000 },
    { 0, 0 },       { 9000, 9100 }, { 9500, 9600 }, //
    { 8000, 9000 }, { 9600, 9700 }, { 8000, 8200 }, { 10000, 10100 },
    { 0, 0 },       { 9000, 9100 }, { 9500, 9600 },
};
static const struct measured_frames frames = { steps,     sizeof(steps) / sizeof(*steps),
                                               intervals, NUM_FRAMES,
                                               NUM_NODES, 2 };

static void delays_are_over_the_expected_ones(void **state)
{
    (void)state;
    uint64_t ns[NUM_NODES];
    // Behind a node of its lane a node is expected after 300, behind one of another lane after 800.
    check_ok(braid_measure_delays(&frames, (struct expected_delays){ 300, 800 }, ns));
    assert_int_equal(ns[0], 0);   // stands behind no other
    assert_int_equal(ns[1], 200); // 2500 - 2000 - 300; 100 and 300 in the other frames
    assert_int_equal(ns[2], 0);
    assert_int_equal(ns[3], 300); // 3100 - 2000 - 800; 500 and 200 in the other frames
    for (int i = 4; i < NUM_NODES; i++)
        assert_int_equal(ns[i], 0); // behind the loop, whose end is not known
    check_ok(braid_measure_delays(&frames, (struct expected_delays){ 2000, 100 }, ns));
    assert_int_equal(ns[1], 0); // earlier than expected
    assert_int_equal(ns[3], 0);
    check_ok(braid_measure_delays(&frames, (struct expected_delays){ 300, 100 }, ns));
    assert_int_equal(ns[3], 200); // two waits; 1000 in the first frame
}

static void memory_may_be_missing(void **state)
{
    (void)state;
    uint64_t ns[NUM_NODES];
    failing_memory_arm(1);
    braid_status status = braid_measure_delays(&frames, (struct expected_delays){ 300, 800 }, ns);
    assert_true(failing_memory_disarm());
    check_fails(status, BRAID_NO_MEMORY, "the delays of a frame");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_are_over_the_expected_ones),
        cmocka_unit_test(memory_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
