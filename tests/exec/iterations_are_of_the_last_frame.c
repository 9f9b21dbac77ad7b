// SPDX-License-Identifier: Apache-2.0
// Iterations are told of the last frame, also while another thread launches the next one.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "support/check.h"

#include "exec/exec.h"

struct fixture {
    braid_device *device;
    braid_exec *exec;
    braid_node loop;
    bool fails; // the queue call behind the loop
};

static braid_status fail_if_told(braid_device *device, braid_stream *stream, void *user)
{
    const struct fixture *fixture = user;
    (void)device;
    (void)stream;
    return fixture->fails ? BRAID_DEVICE_ERROR : BRAID_OK;
}

static void set_up(struct fixture *fixture, uint32_t frames)
{
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .frames_in_flight = frames };
    const braid_device_options cpu = { .backend = "cpu", .num_workers = 2 };
    braid_graph *graph;
    *fixture = (struct fixture){ 0 };
    check_ok(braid_device_open(&cpu, &fixture->device));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 3 }, &fixture->loop));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ 0 }, NULL));
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_add_queue_call(
        graph,
        &(braid_queue_call){ .call = fail_if_told, .user = fixture, BRAID_AFTER(fixture->loop) },
        NULL));
    check_ok(braid_exec_create(fixture->device, graph, &options, &fixture->exec));
    braid_graph_destroy(graph);
}

static void tear_down(struct fixture *fixture)
{
    braid_exec_destroy(fixture->exec);
    check_ok(braid_device_close(fixture->device));
}

static void run(struct fixture *fixture, uint64_t times)
{
    check_ok(braid_exec_set(fixture->exec, fixture->loop, BRAID_TARGET_TIMES, 0, &times));
    check_ok(braid_exec_launch(fixture->exec, NULL));
    check_ok(braid_exec_wait(fixture->exec));
}

static void check_iterations(const struct fixture *fixture, uint64_t expected)
{
    uint64_t num = UINT64_MAX;
    check_ok(braid_exec_get_iterations(fixture->exec, fixture->loop, &num));
    assert_int_equal(num, expected);
}

// A thread that runs a frame while another asks for the end of the one before.
static struct {
    struct fixture fixture;
    const struct backend_ops *ops;
    pthread_t thread;
    atomic_bool begins, has_ended;
} beside;

static void *run_beside(void *user)
{
    (void)user;
    run(&beside.fixture, 7);
    atomic_store(&beside.has_ended, true);
    return NULL;
}

// Whether another thread waits for the lock: glibc notes that in the word that it locks by.
static bool is_waited_for(pthread_mutex_t *lock)
{
    return __atomic_load_n(&lock->__data.__lock, __ATOMIC_RELAXED) > 1;
}

static braid_status ask_beside(struct backend *backend, struct backend_event *event)
{
    if (atomic_exchange(&beside.begins, false)) {
        assert_int_equal(pthread_create(&beside.thread, NULL, run_beside, NULL), 0);
        while (!atomic_load(&beside.has_ended) && !is_waited_for(&beside.fixture.exec->turn.lock))
            sched_yield();
    }
    return beside.ops->event_query(backend, event);
}

static void a_launch_beside_waits_until_they_are_told(void **state)
{
    (void)state;
    set_up(&beside.fixture, 1);
    run(&beside.fixture, 3);
    struct backend *backend = beside.fixture.device->backend;
    beside.ops = backend->ops;
    struct backend_ops ops = *beside.ops;
    ops.event_query = ask_beside;
    backend->ops = &ops;
    atomic_store(&beside.begins, true);
    check_iterations(&beside.fixture, 3);
    assert_int_equal(pthread_join(beside.thread, NULL), 0);
    check_iterations(&beside.fixture, 7);
    backend->ops = beside.ops;
    tear_down(&beside.fixture);
}

static void launch_in_vain(struct fixture *fixture, uint64_t times)
{
    check_ok(braid_exec_set(fixture->exec, fixture->loop, BRAID_TARGET_TIMES, 0, &times));
    fixture->fails = true;
    check_fails(braid_exec_launch(fixture->exec, NULL), BRAID_DEVICE_ERROR, "");
    fixture->fails = false;
    check_ok(braid_exec_wait(fixture->exec));
}

static void those_of_a_failed_launch_are_not_told(void **state)
{
    (void)state;
    struct fixture fixture;
    uint64_t num;
    set_up(&fixture, 1);
    run(&fixture, 3);
    launch_in_vain(&fixture, 7);
    check_fails(braid_exec_get_iterations(fixture.exec, fixture.loop, &num), BRAID_WRONG_STATE,
                "a launch after the last frame failed half-way");
    run(&fixture, 5);
    check_iterations(&fixture, 5);
    tear_down(&fixture);
}

// With more frames in flight, the failed launch counts elsewhere.
static void a_failed_launch_in_another_slot_changes_nothing(void **state)
{
    (void)state;
    struct fixture fixture;
    set_up(&fixture, 2);
    run(&fixture, 3);
    launch_in_vain(&fixture, 7);
    check_iterations(&fixture, 3);
    run(&fixture, 5);
    check_iterations(&fixture, 5);
    tear_down(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_beside_waits_until_they_are_told),
        cmocka_unit_test(those_of_a_failed_launch_are_not_told),
        cmocka_unit_test(a_failed_launch_in_another_slot_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
