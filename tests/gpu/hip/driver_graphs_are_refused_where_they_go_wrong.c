// SPDX-License-Identifier: Apache-2.0
// HIP runtimes whose graphs are known to lose edges or host calls get no driver graphs, and the
// message says why. The argument says which runtime the environment has.
#include <stdio.h>
#include <string.h>

#include "backends/backend.h"
#include "gpu/frame.h"
#include "support/check.h"

// One node and so many that follow it; each touches something of its own, in each frame.
static braid_status create_fan(uint32_t num, uint32_t frames)
{
    struct frame frame;
    braid_graph *graph = NULL;
    braid_node first, last;
    braid_resource own;
    check_ok(frame_open(&frame, "hip"));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_resource(graph, "first", &own));
    const braid_fill fill = { BRAID_ACCESSES({ own, BRAID_READ_WRITE }), .to = frame.words,
                              .value_bytes = 4, .num_values = 1 };
    check_ok(braid_graph_add_fill(graph, &fill, &first));
    for (uint32_t i = 0; i < num; i++) {
        check_ok(braid_graph_add_resource(graph, "next", &own));
        const braid_access access = { own, BRAID_READ_WRITE };
        const braid_fill next = {
            .node = { .after = &first, .num_after = 1, .accesses = &access, .num_accesses = 1 },
            .to = frame.words + 1 + i,
            .value_bytes = 4,
            .num_values = 1,
        };
        check_ok(braid_graph_add_fill(graph, &next, &last));
    }
    const braid_exec_options options = {
        .mode = BRAID_MODE_GRAPH,
        .plan = { .policy = BRAID_POLICY_MAX_CONCURRENCY },
        .frames = frames,
    };
    braid_status status = braid_exec_create(frame.device, graph, &options, &frame.exec);
    braid_graph_destroy(graph);
    frame_finish(&frame);
    return status;
}

// The runtime, by what it does with a small fan and a large one; and with a small one whose first
// node is also recorded for the next frame.
static braid_status small, large, in_flight;
static char small_message[512], large_message[512], in_flight_message[512];

static int try_both(void **state)
{
    (void)state;
    small = create_fan(4, 1);
    snprintf(small_message, sizeof(small_message), "%s", small ? braid_error_message() : "");
    large = create_fan(5, 1);
    snprintf(large_message, sizeof(large_message), "%s", large ? braid_error_message() : "");
    in_flight = create_fan(4, 2);
    snprintf(in_flight_message, sizeof(in_flight_message), "%s",
             in_flight ? braid_error_message() : "");
    return 0;
}

static void an_old_runtime_gets_none(void **state)
{
    (void)state;
    assert_int_equal(small, BRAID_UNSUPPORTED);
    assert_non_null(
        strstr(small_message, "driver graph (hip:0): before HIP 5.4 a graph may block"));
    assert_int_equal(large, BRAID_UNSUPPORTED);
}

static void a_later_one_gets_those_that_do_not_fan_out(void **state)
{
    (void)state;
    assert_int_equal(small, BRAID_OK);
    assert_int_equal(large, BRAID_UNSUPPORTED);
    assert_non_null(strstr(large_message, "driver graph (hip:0): this runtime (60300000) may drop "
                                          "edges of a node with more than 4 successors"));
    assert_int_equal(in_flight, BRAID_UNSUPPORTED);
    assert_non_null(strstr(in_flight_message, "more than 4 successors, and one has 5"));
}

static void a_new_one_gets_all(void **state)
{
    (void)state;
    assert_int_equal(small, BRAID_OK);
    assert_int_equal(large, BRAID_OK);
    assert_int_equal(in_flight, BRAID_OK);
}

int main(int num_arguments, char **arguments)
{
    const struct CMUnitTest old[] = { cmocka_unit_test(an_old_runtime_gets_none) };
    const struct CMUnitTest later[] = {
        cmocka_unit_test(a_later_one_gets_those_that_do_not_fan_out),
    };
    const struct CMUnitTest newest[] = { cmocka_unit_test(a_new_one_gets_all) };
    const char *which = num_arguments > 1 ? arguments[1] : "";
    uint32_t num_devices = 0;
    char reason[512];
    braid_hip_driver.query(&braid_hip_driver, &num_devices, reason, sizeof(reason));
    if (num_devices == 0) {
        printf("1..0 # skip no HIP device here: %s\n", reason);
        return 77;
    }
    if (strcmp(which, "old") == 0)
        return cmocka_run_group_tests(old, try_both, NULL);
    if (strcmp(which, "later") == 0)
        return cmocka_run_group_tests(later, try_both, NULL);
    if (strcmp(which, "new") == 0)
        return cmocka_run_group_tests(newest, try_both, NULL);
    fprintf(stderr, "usage: %s old|later|new\n", arguments[0]);
    return 1;
}
