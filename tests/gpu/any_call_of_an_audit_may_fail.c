// SPDX-License-Identifier: Apache-2.0
// Any call of the driver that an audit makes may fail: the audit returns an error. If it does
// without the call, it has the right findings. With orders it makes more calls.
#include <stdio.h>

#include "gpu/audited_world.h"

static long num_calls, failing; // since the rule was set, and which of them fails
static char failed_call[64];

static void note_call(const char *function)
{
    if (++num_calls == failing)
        snprintf(failed_call, sizeof(failed_call), "%s", function);
}

// Calls that are tried again, or leave something to the driver, and those of an exec that
// any_driver_call_may_fail is about.
static bool may_succeed_without(const char *function)
{
    static const char *const names[] = {
        "cuCtx",  "cuThreadExchange",   "Destroy",           "Free",
        "Unload", "cuStreamEndCapture", "cuEventSynchronize"
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strstr(function, names[i]))
            return true;
    }
    return false;
}

static braid_status fill_otherwise(braid_device *device, braid_stream *stream, void *user)
{
    return braid_stream_fill(device, stream, user, 6, 1, BYTES);
}

// Returns whether so many calls were made. A device on which a call has failed may be of no more
// use, so each failure has one of its own.
static bool audit_without_call(bool orders, long nth)
{
    struct world *world;
    const braid_audit_options options = { .orders = orders };
    char rule[40];
    size_t num = 5;
    assert_int_equal(setup((void **)&world), 0);
    add_what_may_fail(world);
    if (orders)
        check_ok(braid_graph_add_queue_call(
            world->graph,
            &(braid_queue_call){ .call = fill_otherwise, .user = world->memory + BYTES }, NULL));
    snprintf(rule, sizeof(rule), "*:%ld=2", nth); // out of memory
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
    num_calls = 0;
    failing = nth;
    braid_status status = braid_exec_audit(world->device, world->graph, &options, &num);
    bool failed = num_calls >= nth;
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    if (failed && !status && !may_succeed_without(failed_call))
        fail_msg("call %ld, %s, fails unnoticed", nth, failed_call);
    assert_true(failed || !status);
    assert_true(!status || status == BRAID_NO_MEMORY || strstr(failed_call, "cuCtx"));
    assert_int_equal(num, status ? 5 : orders ? 4 : 2);
    close_world(world);
    assert_int_equal(standin_bad_accesses(), 0);
    return failed;
}

static void check_calls(bool orders)
{
    standin_watch(note_call);
    for (long nth = 1; audit_without_call(orders, nth);)
        nth++;
    standin_watch(NULL);
}

static void any_driver_call_may_fail(void **state)
{
    (void)state;
    check_calls(false);
}

static void any_driver_call_of_orders_may_fail(void **state)
{
    (void)state;
    check_calls(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_driver_call_may_fail),
        cmocka_unit_test(any_driver_call_of_orders_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
