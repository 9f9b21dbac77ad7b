// SPDX-License-Identifier: Apache-2.0
// With a deadline: a wait does not wait for frames that are launched meanwhile or later. No frame
// counts as ended before its mark is recorded, and none that has ended counts as late. A frame that
// a wait found ended leaves its place.
#include "support/check.h"
#include "support/owner.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "exec/exec.h"
#include "exec/exec_parts.h"
#include "trace_backend.h"

static void nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = nothing };

enum { most_launches = 50 };

struct fixture {
    struct trace trace;
    braid_device *device;
    braid_exec *exec;
    int num_waits;
};

static void set_up(struct fixture *fixture, uint32_t frames, braid_exec_when_full when_full,
                   uint64_t deadline_ns)
{
    const braid_exec_options options = {
        .mode = BRAID_MODE_GRAPH,
        .frames_in_flight = frames,
        .when_full = when_full,
        .deadline_ns = deadline_ns,
    };
    *fixture = (struct fixture){ 0 };
    check_ok(trace_open_graph(&fixture->trace, &fixture->device));
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(
        graph, &(braid_kernel_node){ .node.cost_ns = 100, .kernel = &kernel }, NULL));
    fixture->exec = own_exec(fixture->device, graph, &options);
    fixture->trace.user = fixture;
}

static void tear_down(struct fixture *fixture)
{
    fixture->trace.while_asking = NULL;
    destroy_now(fixture->exec);
    braid_device_close(fixture->device);
}

static bool is_end(const struct fixture *fixture, const struct backend_event *event)
{
    bool is_one = false;
    for (uint32_t i = 0; i < fixture->exec->frames.num; i++)
        is_one = is_one || fixture->exec->frames.slots[i].done->backend == event;
    return is_one;
}

// Who asks for the end of all frames finds that another one was launched.
static braid_status launch_another(const struct backend_event *event, void *user)
{
    struct fixture *fixture = user;
    if (!is_end(fixture, event) || braid_exec_get_num_launched(fixture->exec) == most_launches)
        return BRAID_OK;
    check_ok(braid_exec_launch(fixture->exec, NULL));
    return BRAID_NOT_READY;
}

static void check_wait(uint32_t frames, uint64_t frame, uint64_t ns)
{
    struct fixture fixture;
    set_up(&fixture, frames, BRAID_FULL_QUEUES, UINT64_MAX);
    check_ok(braid_exec_launch(fixture.exec, NULL));
    fixture.trace.while_asking = launch_another;
    check_ok(braid_exec_wait_for(fixture.exec, frame, ns));
    assert_int_equal(braid_exec_get_num_launched(fixture.exec), 2);
    tear_down(&fixture);
}

static void a_wait_does_not_wait_for_later_frames(void **state)
{
    (void)state;
    for (uint32_t frames = 1; frames <= 2; frames++) {
        check_wait(frames, BRAID_LAST_FRAME, UINT64_MAX);
        check_wait(frames, BRAID_LAST_FRAME, UINT64_MAX - 1);
        check_wait(frames, 0, UINT64_MAX);
        check_wait(frames, 0, UINT64_MAX - 1);
    }
}

// Marks have passed, and the ends right behind them have not.
static braid_status pass_marks(const struct backend_event *event, void *user)
{
    return is_end(user, event) ? BRAID_NOT_READY : BRAID_OK;
}

static braid_status pass_nothing(const struct backend_event *event, void *user)
{
    (void)event;
    (void)user;
    return BRAID_NOT_READY;
}

static void check_place(uint64_t ns)
{
    struct fixture fixture;
    set_up(&fixture, 2, BRAID_FULL_REFUSES, UINT64_MAX);
    for (int i = 0; i < 2; i++)
        check_ok(braid_exec_launch(fixture.exec, NULL));
    fixture.trace.while_asking = pass_nothing;
    check_fails(braid_exec_launch(fixture.exec, NULL), BRAID_BUSY, "2 frames are in flight");
    fixture.trace.while_asking = pass_marks;
    check_ok(braid_exec_wait_for(fixture.exec, 0, ns));
    check_ok(braid_exec_launch(fixture.exec, NULL));
    tear_down(&fixture);
}

static void a_frame_that_a_wait_found_ended_leaves_its_place(void **state)
{
    (void)state;
    check_place(UINT64_MAX);
    check_place(UINT64_MAX - 1);
}

static braid_status count_ended(void *user)
{
    struct fixture *fixture = user;
    fixture->num_waits++;
    assert_int_equal(braid_exec_get_num_launched(fixture->exec), 1);
    assert_int_equal(braid_exec_count_ended(fixture->exec), 0);
    return BRAID_OK;
}

static void check_failure(uint32_t frames, int call, const char *what)
{
    struct fixture fixture;
    set_up(&fixture, frames, BRAID_FULL_QUEUES, UINT64_MAX);
    fixture.trace.while_waiting = count_ended;
    fixture.trace.num_calls = 0;
    fixture.trace.fail_at = call;
    check_fails(braid_exec_launch(fixture.exec, NULL), BRAID_DEVICE_ERROR, what);
    assert_true(fixture.num_waits > 0);
    fixture.trace.while_waiting = NULL;
    fixture.trace.fail_at = 0;
    check_ok(braid_exec_wait(fixture.exec));
    check_ok(braid_exec_launch(fixture.exec, NULL));
    assert_int_equal(braid_exec_count_ended(fixture.exec), 2);
    tear_down(&fixture);
}

// The launch is still waiting for the frame then.
static void a_frame_without_a_mark_does_not_count_as_ended(void **state)
{
    (void)state;
    check_failure(1, 2, "planted failure of event_record");
    check_failure(2, 5, "planted failure of stream_wait"); // for the end of the frame before
    check_failure(2, 6, "planted failure of event_record");
}

static braid_status has_not_ended(const struct backend_event *event, void *user)
{
    (void)event;
    (void)user;
    return BRAID_NOT_READY;
}

// When asked for the first time.
static braid_status has_not_ended_yet(const struct backend_event *event, void *was_asked)
{
    (void)event;
    bool again = *(bool *)was_asked;
    *(bool *)was_asked = true;
    return again ? BRAID_OK : BRAID_NOT_READY;
}

// The kth call of the first launch fails. Then only the frame of the second launch is late.
static bool check_late(int k)
{
    struct fixture fixture;
    bool was_asked = false;
    char text[64];
    set_up(&fixture, 2, BRAID_FULL_QUEUES, 1);
    fixture.trace.num_calls = 0;
    fixture.trace.fail_at = k;
    bool failed = braid_exec_launch(fixture.exec, NULL) != BRAID_OK;
    fixture.trace.fail_at = 0;
    fixture.trace.user = &was_asked;
    fixture.trace.while_asking = has_not_ended_yet;
    check_ok(braid_exec_wait(fixture.exec));
    check_ok(braid_exec_launch(fixture.exec, NULL));
    fixture.trace.while_asking = has_not_ended;
    snprintf(text, sizeof(text), "frame %llu has not ended",
             (unsigned long long)braid_exec_get_num_launched(fixture.exec) - 1);
    check_fails(braid_exec_wait(fixture.exec), BRAID_TIMEOUT, text);
    tear_down(&fixture);
    return failed;
}

// No mark tells of such a frame.
static void a_frame_that_its_launch_waited_for_is_not_late(void **state)
{
    (void)state;
    int k = 1;
    while (check_late(k))
        k++;
    assert_true(k > 1);
}

static struct {
    _Atomic uint64_t num_begun, num_allowed;
} turns;

// A frame of it ends once so many may.
static void stand_in_turn(const braid_blocks *blocks, void *const *args)
{
    uint64_t frame = atomic_fetch_add(&turns.num_begun, 1);
    (void)blocks, (void)args;
    while (atomic_load(&turns.num_allowed) <= frame)
        sched_yield();
}

// More frames than there are marks for.
static void a_wait_ends_with_its_frame_however_many_are_behind_it(void **state)
{
    enum { many = EXEC_MARKS + 8 };
    const uint64_t far_too_long_ns = 20000000000;
    const braid_kernel stand = { .name = "stand", .cpu = stand_in_turn };
    const braid_exec_options options = { .deadline_ns = UINT64_MAX };
    (void)state;
    braid_device *device = own_device("cpu");
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &stand }, NULL));
    braid_exec *exec = own_exec(device, graph, &options);
    for (int i = 0; i < many; i++)
        check_ok(braid_exec_launch(exec, NULL));
    atomic_store(&turns.num_allowed, 1);
    braid_status status = braid_exec_wait_for(exec, 0, far_too_long_ns);
    uint64_t num_begun = atomic_load(&turns.num_begun);
    atomic_store(&turns.num_allowed, many);
    check_ok(status);
    assert_in_range(num_begun, 1, 2);
    check_ok(braid_exec_wait(exec));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_wait_does_not_wait_for_later_frames),
        owning_test(a_wait_ends_with_its_frame_however_many_are_behind_it),
        owning_test(a_frame_that_its_launch_waited_for_is_not_late),
        owning_test(a_frame_that_a_wait_found_ended_leaves_its_place),
        owning_test(a_frame_without_a_mark_does_not_count_as_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
