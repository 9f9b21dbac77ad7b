// SPDX-License-Identifier: Apache-2.0
// Whichever call of a launch fails: waiting for the exec, and destroying it, still wait for every
// frame in flight, on whatever streams they are.
#include "support/check.h"

#include <sched.h>
#include <time.h>

#include "base/error.h"
#include "exec/exec.h"
#include "trace_backend.h"

static void nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = nothing };

// Two lanes, unless there are no nodes.
static braid_graph *make_graph(int num_nodes, braid_node *out_node)
{
    braid_graph *graph = NULL;
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < num_nodes; i++)
        check_ok(braid_graph_add_kernel(
            graph, &(braid_kernel_node){ .node.cost_ns = 100, .kernel = &kernel }, out_node));
    return graph;
}

struct fixture {
    struct trace trace;
    braid_device *device;
    braid_stream *streams[2];
    braid_exec *exec;
    braid_node node; // one of its graph's
    // Somebody asks while a launch waits: what it must hear, and how often it asked.
    braid_status answer;
    int num_waits;
    pthread_t thread; // that launches meanwhile
};

static void set_up_with(struct fixture *fixture, braid_exec_options options, int num_nodes)
{
    options.max_lanes = 2;
    options.fixed_lanes = true;
    check_ok(trace_open_graph(&fixture->trace, &fixture->device));
    for (int i = 0; i < 2; i++)
        check_ok(braid_stream_create(fixture->device, NULL, &fixture->streams[i]));
    braid_graph *graph = make_graph(num_nodes, &fixture->node);
    check_ok(braid_exec_create(fixture->device, graph, &options, &fixture->exec));
    braid_graph_destroy(graph);
}

static void tear_down(struct fixture *fixture)
{
    for (int i = 0; i < 2; i++)
        braid_stream_destroy(fixture->streams[i]);
    braid_device_close(fixture->device);
}

static bool is_work(enum trace_call call)
{
    return call == TRACE_SUBMIT || call == TRACE_PROGRAM_LAUNCH;
}

static void set_up(struct fixture *fixture, braid_exec_mode mode, int num_nodes)
{
    set_up_with(fixture, (braid_exec_options){ .mode = mode }, num_nodes);
}

// All work up to here has ended behind the latest entry, a wait of the host.
static void assert_all_was_awaited(const struct trace *trace)
{
    int last = trace->num_entries - 1;
    while (trace->entries[last].call != TRACE_EVENT_SYNCHRONIZE)
        last--;
    for (int i = 0; i < last; i++) {
        if (is_work(trace->entries[i].call))
            assert_true(trace_is_ordered(trace, i, last));
    }
}

// One frame on the first stream, behind other work, then one on the second whose kth call fails.
static bool fail_call(struct fixture *fixture, int k)
{
    static char memory[4];
    struct trace *trace = &fixture->trace;
    check_ok(braid_stream_fill(fixture->streams[0], memory, 0, 1, 4));
    check_ok(braid_exec_launch(fixture->exec, fixture->streams[0]));
    trace->num_calls = 0;
    trace->fail_at = k;
    braid_status status = braid_exec_launch(fixture->exec, fixture->streams[1]);
    trace->fail_at = 0;
    if (trace->failed)
        check_fails(status, BRAID_DEVICE_ERROR, "planted failure");
    else
        check_ok(status);
    return trace->failed;
}

static void check_wait_with(braid_exec_options options, int num_nodes)
{
    bool failed = true;
    for (int k = 1; failed; k++) {
        struct fixture fixture;
        set_up_with(&fixture, options, num_nodes);
        failed = fail_call(&fixture, k);
        check_ok(braid_exec_wait(fixture.exec));
        assert_all_was_awaited(&fixture.trace);
        braid_exec_destroy(fixture.exec);
        tear_down(&fixture);
    }
}

static void check_wait(braid_exec_mode mode, int num_nodes)
{
    check_wait_with((braid_exec_options){ .mode = mode }, num_nodes);
}

static void waiting_waits_for_every_frame_on_streams(void **state)
{
    (void)state;
    check_wait(BRAID_MODE_STREAMS, 2);
}

static void waiting_waits_for_every_graph_frame(void **state)
{
    (void)state;
    check_wait(BRAID_MODE_GRAPH, 2);
}

static void waiting_waits_for_every_frame_with_a_deadline(void **state)
{
    (void)state;
    const uint64_t never = UINT64_MAX;
    check_wait_with((braid_exec_options){ .mode = BRAID_MODE_GRAPH, .deadline_ns = never }, 2);
    check_wait_with((braid_exec_options){ .mode = BRAID_MODE_STREAMS, .deadline_ns = never }, 2);
}

static void waiting_waits_for_frames_without_nodes(void **state)
{
    (void)state;
    check_wait(BRAID_MODE_STREAMS, 0);
    check_wait(BRAID_MODE_GRAPH, 0);
}

static void check_destroy(braid_exec_mode mode)
{
    bool failed = true;
    for (int k = 1; failed; k++) {
        struct fixture fixture;
        set_up(&fixture, mode, 2);
        failed = fail_call(&fixture, k);
        braid_exec_destroy(fixture.exec);
        assert_all_was_awaited(&fixture.trace);
        tear_down(&fixture);
    }
}

static void destroying_waits_for_every_frame(void **state)
{
    (void)state;
    check_destroy(BRAID_MODE_STREAMS);
    check_destroy(BRAID_MODE_GRAPH);
}

// Nothing stands for such a frame later: its stream may belong to the program and be gone then.
static void a_frame_whose_end_cannot_be_recorded_is_awaited_at_once(void **state)
{
    (void)state;
    struct fixture fixture;
    set_up(&fixture, BRAID_MODE_GRAPH, 2);
    fixture.trace.num_calls = 0;
    fixture.trace.fail_at = 2;
    check_fails(braid_exec_launch(fixture.exec, fixture.streams[0]), BRAID_DEVICE_ERROR,
                "planted failure of event_record");
    int last = fixture.trace.num_entries - 1;
    assert_int_equal(fixture.trace.entries[last - 1].call, TRACE_PROGRAM_LAUNCH);
    assert_int_equal(fixture.trace.entries[last].call, TRACE_STREAM_SYNCHRONIZE);
    assert_int_equal(fixture.trace.entries[last].stream, fixture.trace.entries[last - 1].stream);
    braid_exec_destroy(fixture.exec);
    tear_down(&fixture);
}

// Memory that has run out stays out: the joins fail as well, but tell less than what came first.
static void the_first_failure_of_a_launch_is_the_one_it_reports(void **state)
{
    (void)state;
    struct fixture fixture;
    set_up(&fixture, BRAID_MODE_STREAMS, 2);
    fixture.trace.num_calls = 0;
    fixture.trace.fail_at = 4; // behind the wait for the frames before, and the fork
    fixture.trace.fails_on = true;
    check_fails(braid_exec_launch(fixture.exec, NULL), BRAID_DEVICE_ERROR, "failure of submit");
    fixture.trace.fail_at = 0;
    fixture.trace.fails_on = false;
    braid_exec_destroy(fixture.exec);
    tear_down(&fixture);
}

struct ends {
    uint64_t next;
    bool in_order;
    braid_exec *exec;
};

// Asks what a callback may ask, on whatever thread it is called.
static void note_end(uint64_t frame, void *user)
{
    struct ends *ends = user;
    ends->in_order = ends->in_order && frame == ends->next;
    ends->next++;
    assert_true(braid_exec_get_num_launched(ends->exec) >= frame);
    braid_status status = braid_exec_wait_for(ends->exec, BRAID_LAST_FRAME, 0);
    assert_true(status == BRAID_OK || status == BRAID_NOT_READY);
    check_fails(braid_exec_launch(ends->exec, NULL), BRAID_WRONG_STATE, "callback");
}

// One call of a launch fails, or that and all behind it. If the frame cannot be awaited either, the
// device has failed, and nobody is told of that frame.
static bool check_ends(struct fixture *fixture, const struct ends *ends, int k, bool fails_on)
{
    for (int i = 0; i < 4; i++)
        check_ok(braid_exec_launch(fixture->exec, fixture->streams[i % 2]));
    fixture->trace.num_calls = 0;
    fixture->trace.fail_at = k;
    fixture->trace.fails_on = fails_on;
    braid_status status = braid_exec_launch(fixture->exec, fixture->streams[0]);
    fixture->trace.fail_at = 0;
    fixture->trace.fails_on = false;
    assert_true(!status == !fixture->trace.failed);
    bool device_failed = braid_exec_launch(fixture->exec, fixture->streams[0]) != BRAID_OK;
    assert_true(fails_on || !device_failed);
    if (device_failed)
        check_fails(braid_exec_wait(fixture->exec), BRAID_DEVICE_ERROR,
                    "neither recorded nor awaited");
    else
        check_ok(braid_exec_wait(fixture->exec));
    assert_true(ends->in_order);
    assert_true(ends->next == braid_exec_get_num_launched(fixture->exec) || device_failed);
    return status != BRAID_OK;
}

static void every_frame_that_counts_is_told_of_by_its_number(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < 8; variant++) {
        bool failed = true;
        for (int k = 1; failed; k++) {
            struct fixture fixture;
            struct ends ends = { .in_order = true };
            const braid_exec_options options = {
                .mode = variant & 1 ? BRAID_MODE_STREAMS : BRAID_MODE_GRAPH,
                .frames_in_flight = variant & 2 ? 3 : 1,
                .on_frame_end = note_end,
                .on_frame_end_user = &ends,
            };
            set_up_with(&fixture, options, 2);
            ends.exec = fixture.exec;
            failed = check_ends(&fixture, &ends, k, variant & 4);
            braid_exec_destroy(fixture.exec);
            tear_down(&fixture);
        }
    }
}

static braid_status cannot_wait(void *user)
{
    (void)user;
    return braid_error(BRAID_DEVICE_ERROR, "planted failure of a wait");
}

// What a frame may wait for: another thread that asks the exec for something and changes it.
struct asker {
    struct fixture *fixture;
    braid_status answer, last; // to whether its frames have ended, and the last one if there is one
    uint64_t num_frames;
};

static void *ask(void *user)
{
    struct asker *asker = user;
    braid_exec *exec = asker->fixture->exec;
    asker->num_frames = braid_exec_get_num_launched(exec);
    asker->answer = braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0);
    if (asker->num_frames)
        asker->last = braid_exec_wait_for(exec, asker->num_frames - 1, 0);
    check_ok(braid_exec_set(exec, asker->fixture->node, BRAID_TARGET_ENABLED, 0, &(bool){ true }));
    return NULL;
}

static braid_status wait_for_one_who_asks(void *user)
{
    enum { FAR_TOO_LONG_S = 30 };
    struct fixture *fixture = user;
    fixture->trace.while_waiting = NULL;
    struct asker asker = { .fixture = fixture, .last = fixture->answer };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask, &asker), 0);
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += FAR_TOO_LONG_S;
    assert_int_equal(pthread_timedjoin_np(thread, NULL, &end), 0);
    assert_true(asker.num_frames <= 1); // a launch counted or not
    assert_int_equal(asker.answer, fixture->answer);
    assert_int_equal(asker.last, fixture->answer);
    fixture->num_waits++;
    return BRAID_OK;
}

static void check_failed(braid_status status)
{
    check_fails(status, BRAID_DEVICE_ERROR,
                "failed before: the end of a frame on trace:0 can be neither recorded nor awaited: "
                "planted failure of a wait");
}

// Each later call says so, and all is freed.
static void a_frame_that_can_be_neither_recorded_nor_awaited_fails_its_device(void **state)
{
    (void)state;
    struct fixture fixture = { 0 };
    braid_event *event = NULL;
    braid_graph *graph = make_graph(1, NULL);
    braid_exec *other = NULL;
    set_up(&fixture, BRAID_MODE_GRAPH, 2);
    check_ok(braid_event_create(fixture.device, NULL, &event));
    fixture.trace.num_calls = 0;
    fixture.trace.fail_at = 2;
    fixture.trace.while_waiting = cannot_wait;
    check_fails(braid_exec_launch(fixture.exec, fixture.streams[0]), BRAID_DEVICE_ERROR,
                "planted failure of event_record");
    fixture.trace.fail_at = 0;
    fixture.trace.while_waiting = NULL;
    int num_calls = fixture.trace.num_calls;
    check_failed(braid_exec_launch(fixture.exec, fixture.streams[0]));
    check_failed(braid_exec_launch_many(fixture.exec, fixture.streams[1], 2, NULL, 0));
    check_failed(braid_exec_wait(fixture.exec));
    check_failed(braid_exec_wait_for(fixture.exec, 0, UINT64_MAX));
    check_failed(braid_exec_wait_for(fixture.exec, BRAID_LAST_FRAME, 1));
    check_failed(braid_exec_wait_for(fixture.exec, BRAID_LAST_FRAME, 0));
    check_failed(braid_exec_wait_for(fixture.exec, 0, 0));
    const bool enabled = true;
    check_failed(braid_exec_set(fixture.exec, fixture.node, BRAID_TARGET_ENABLED, 0, &enabled));
    check_failed(braid_exec_create(fixture.device, graph, NULL, &other));
    check_failed(braid_stream_wait(fixture.streams[0]));
    check_failed(braid_stream_follow(fixture.streams[0], event));
    check_failed(braid_event_record(event, NULL));
    check_failed(braid_event_wait(event));
    assert_int_equal(fixture.trace.num_calls, num_calls);
    braid_exec_destroy(fixture.exec);
    braid_event_destroy(event);
    braid_graph_destroy(graph);
    for (int i = 0; i < 2; i++)
        braid_stream_destroy(fixture.streams[i]);
    check_ok(braid_device_close(fixture.device));
    assert_int_equal(fixture.trace.live_streams + fixture.trace.live_events, 0);
}

// Every call of a launch fails once. Its frame may wait for a thread that asks whether it ended.
static void a_frame_that_its_launch_waits_for_may_wait_for_who_uses_the_exec(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < 8; variant++) {
        bool failed = true;
        int num_waits = 0;
        for (int k = 1; failed; k++) {
            struct fixture fixture = { .answer = BRAID_NOT_READY };
            struct ends ends = { .in_order = true };
            const braid_exec_options options = {
                .mode = variant & 1 ? BRAID_MODE_STREAMS : BRAID_MODE_GRAPH,
                .frames_in_flight = variant & 2 ? 3 : 1,
                .on_frame_end = variant & 4 ? note_end : NULL,
                .on_frame_end_user = &ends,
            };
            set_up_with(&fixture, options, 2);
            ends.exec = fixture.exec;
            fixture.trace.user = &fixture;
            fixture.trace.while_waiting = wait_for_one_who_asks;
            fixture.trace.num_calls = 0;
            fixture.trace.fail_at = k;
            braid_status status = braid_exec_launch(fixture.exec, fixture.streams[0]);
            failed = fixture.trace.failed;
            assert_true(!status == !failed);
            num_waits += fixture.num_waits;
            check_ok(braid_exec_wait_for(fixture.exec, BRAID_LAST_FRAME, 0));
            uint64_t num_launched = braid_exec_get_num_launched(fixture.exec);
            assert_int_equal(ends.next, variant & 4 ? num_launched : 0);
            fixture.trace.while_waiting = NULL;
            braid_exec_destroy(fixture.exec);
            tear_down(&fixture);
        }
        assert_true(num_waits > 0);
    }
}

static void *launch_on_the_other_stream(void *user)
{
    struct fixture *fixture = user;
    check_ok(braid_exec_launch(fixture->exec, fixture->streams[1]));
    return NULL;
}

static braid_status start_another_launch(void *user)
{
    struct fixture *fixture = user;
    fixture->trace.while_waiting = NULL;
    assert_int_equal(pthread_create(&fixture->thread, NULL, launch_on_the_other_stream, fixture),
                     0);
    return BRAID_OK;
}

// On whatever stream they are: they find that the frame has ended.
static void launches_wait_for_one_that_waits_for_its_frame(void **state)
{
    (void)state;
    struct fixture fixture;
    set_up(&fixture, BRAID_MODE_GRAPH, 2);
    fixture.trace.user = &fixture;
    fixture.trace.while_waiting = start_another_launch;
    fixture.trace.num_calls = 0;
    fixture.trace.fail_at = 2;
    int from = fixture.trace.num_entries;
    check_fails(braid_exec_launch(fixture.exec, fixture.streams[0]), BRAID_DEVICE_ERROR, "");
    assert_int_equal(pthread_join(fixture.thread, NULL), 0);
    assert_int_equal(trace_count(&fixture.trace, TRACE_STREAM_SYNCHRONIZE, from), 1);
    assert_int_equal(trace_count(&fixture.trace, TRACE_PROGRAM_LAUNCH, from), 2);
    check_ok(braid_exec_wait_for(fixture.exec, BRAID_LAST_FRAME, 0));
    braid_exec_destroy(fixture.exec);
    tear_down(&fixture);
}

// A thread that waits for a frame which counts, and of which nothing is recorded yet.
struct waiter {
    struct fixture fixture;
    pthread_t thread;
};

static void *wait_for_first(void *user)
{
    struct waiter *waiter = user;
    check_ok(braid_exec_wait_for(waiter->fixture.exec, 0, UINT64_MAX));
    return NULL;
}

// Whether another thread waits for the lock: glibc notes that in the word that it locks by.
static bool is_waited_for(pthread_mutex_t *lock)
{
    return __atomic_load_n(&lock->__data.__lock, __ATOMIC_RELAXED) > 1;
}

static void wait_on_another_thread(void *user)
{
    struct waiter *waiter = user;
    if (braid_exec_get_num_launched(waiter->fixture.exec) == 0)
        return;
    waiter->fixture.trace.while_recording = NULL;
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_first, waiter), 0);
    while (!is_waited_for(&waiter->fixture.exec->turn.lock))
        sched_yield();
}

// Not even where a thread hears of a frame, by their number, before its launch has returned.
static void a_frame_is_awaited_by_what_its_launch_records(void **state)
{
    (void)state;
    for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        struct waiter waiter = { 0 };
        struct fixture *fixture = &waiter.fixture;
        set_up(fixture, (braid_exec_mode)mode, 2);
        fixture->trace.user = &waiter;
        fixture->trace.while_recording = wait_on_another_thread;
        check_ok(braid_exec_launch(fixture->exec, fixture->streams[0]));
        assert_int_equal(pthread_join(waiter.thread, NULL), 0);
        assert_all_was_awaited(&fixture->trace);
        braid_exec_destroy(fixture->exec);
        tear_down(fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_waits_for_every_frame_on_streams),
        cmocka_unit_test(waiting_waits_for_every_graph_frame),
        cmocka_unit_test(waiting_waits_for_every_frame_with_a_deadline),
        cmocka_unit_test(waiting_waits_for_frames_without_nodes),
        cmocka_unit_test(destroying_waits_for_every_frame),
        cmocka_unit_test(a_frame_whose_end_cannot_be_recorded_is_awaited_at_once),
        cmocka_unit_test(every_frame_that_counts_is_told_of_by_its_number),
        cmocka_unit_test(the_first_failure_of_a_launch_is_the_one_it_reports),
        cmocka_unit_test(a_frame_that_can_be_neither_recorded_nor_awaited_fails_its_device),
        cmocka_unit_test(a_frame_that_its_launch_waits_for_may_wait_for_who_uses_the_exec),
        cmocka_unit_test(launches_wait_for_one_that_waits_for_its_frame),
        cmocka_unit_test(a_frame_is_awaited_by_what_its_launch_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
