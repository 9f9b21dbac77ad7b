// SPDX-License-Identifier: Apache-2.0
// Any call of the driver that an audit makes may fail: the audit returns an error. If it does
// without the call, it has the right findings. With orders it makes more calls.
#include "gpu/audited_world.h"
#include "gpu/sweep.h"
#include "support/sanitizers.h"

#if defined(UNDER_ASAN) || defined(UNDER_TSAN)
enum { OUT_OF_MEMORY = 2, STEP = 4, LEAST = 140 }; // each call takes several times as long
#else
enum { OUT_OF_MEMORY = 2, STEP = 0, LEAST = 200 }; // every call
#endif

static struct world *world;
static bool with_orders;

static braid_status fill_otherwise(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    return braid_stream_fill(stream, user, 6, 1, BYTES);
}

// A device on which a call has failed may be of no more use, so each failure has one of its own.
static void open_world(void)
{
    assert_int_equal(setup((void **)&world), 0);
    add_what_may_fail(world);
    if (with_orders)
        check_ok(braid_graph_add_queue_call(
            world->graph,
            &(braid_queue_call){ .call = fill_otherwise, .user = world->memory + BYTES }, NULL));
}

static void audit_world(struct life *life)
{
    const braid_audit_options options = { .orders = with_orders };
    size_t num = 5;
    life_begin(life);
    braid_status status = braid_graph_audit(world->graph, world->device, &options, &num);
    life_note(life, status);
    if (status != BRAID_NO_MEMORY && status)
        assert_non_null(strstr(braid_error_get_message(), "when the device was made current"));
    life_before_destroying(life);
    life_end();
    assert_int_equal(num, status ? 5 : with_orders ? 4 : 2);
}

static void end_world(void)
{
    close_world(world);
}

static void check_calls(bool orders)
{
    static const struct sweep_words words[] = {
        CUDA_WORDS,
        { "cuStreamEndCapture", .reason = "what cannot be captured runs on a stream" },
        { "cuEventSynchronize", .reason = "its execs are destroyed: made a second time" },
        { 0 },
    };
    with_orders = orders;
    sweep_run(&(struct sweep){ .interposer = &cuda_calls,
                               .live = audit_world,
                               .set_up = open_world,
                               .tear_down = end_world,
                               .words = words,
                               .code = OUT_OF_MEMORY,
                               .frames = 4,
                               .step = STEP,
                               .least = LEAST },
              orders ? "audit of orders" : "audit");
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
