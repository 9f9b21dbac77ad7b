// SPDX-License-Identifier: Apache-2.0
// With a deadline: a wait does not wait for frames that are launched meanwhile, and no frame counts
// as ended before its mark is recorded.
#include "support/check.h"

#include "exec/exec.h"
#include "exec/exec_ended.h"
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

static void set_up(struct fixture *fixture, uint32_t frames, bool is_waiting)
{
    const braid_exec_options options = {
        .mode = BRAID_MODE_GRAPH,
        .frames = frames,
        .when_full = BRAID_FULL_QUEUES,
        .deadline_ns = UINT64_MAX,
    };
    braid_graph *graph = NULL;
    *fixture = (struct fixture){ 0 };
    check_ok(trace_open_graph(&fixture->trace, &fixture->device));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_kernel(
        graph, &(braid_kernel_node){ .node.cost_ns = 100, .kernel = &kernel }, NULL));
    check_ok(braid_exec_create(fixture->device, graph, &options, &fixture->exec));
    braid_graph_destroy(graph);
    fixture->trace.user = fixture;
    if (is_waiting)
        check_ok(braid_exec_launch(fixture->exec, NULL));
}

static void tear_down(struct fixture *fixture)
{
    fixture->trace.while_asking = NULL;
    braid_exec_destroy(fixture->exec);
    braid_device_close(fixture->device);
}

// Who asks for the end of all frames finds that another one was launched.
static braid_status launch_another(const struct backend_event *event, void *user)
{
    struct fixture *fixture = user;
    bool is_end = false;
    for (uint32_t i = 0; i < fixture->exec->frames.num; i++)
        is_end = is_end || fixture->exec->frames.slots[i].done->backend == event;
    if (!is_end || braid_exec_num_frames(fixture->exec) == most_launches)
        return BRAID_OK;
    check_ok(braid_exec_launch(fixture->exec, NULL));
    return BRAID_NOT_READY;
}

static void check_wait(uint32_t frames, uint64_t frame, uint64_t ns)
{
    struct fixture fixture;
    set_up(&fixture, frames, true);
    fixture.trace.while_asking = launch_another;
    check_ok(braid_exec_wait_until(fixture.exec, frame, ns));
    assert_int_equal(braid_exec_num_frames(fixture.exec), 2);
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

static braid_status count_ended(void *user)
{
    struct fixture *fixture = user;
    fixture->num_waits++;
    assert_int_equal(braid_exec_num_frames(fixture->exec), 1);
    assert_int_equal(braid_exec_count_ended(fixture->exec), 0);
    return BRAID_OK;
}

static void check_failure(uint32_t frames, int call, const char *what)
{
    struct fixture fixture;
    set_up(&fixture, frames, false);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_does_not_wait_for_later_frames),
        cmocka_unit_test(a_frame_without_a_mark_does_not_count_as_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
