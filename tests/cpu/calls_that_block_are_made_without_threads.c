// SPDX-License-Identifier: Apache-2.0
// Where the system starts no more threads, host calls that block are made by a worker, and frames
// later have threads of their own again.
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/start_thread.h"

static atomic_bool starts_none;
static atomic_int num_refused;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*routine)(void *argument), void *argument)
{
    if (!atomic_load(&starts_none))
        return start_thread(thread, attributes, routine, argument);
    atomic_fetch_add(&num_refused, 1);
    return EAGAIN;
}

static void count(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static void run(braid_exec_mode mode)
{
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    atomic_int num_calls = 0;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 1 }, &device));
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < 2; i++)
        check_ok(braid_graph_add_host_call(
            graph, &(braid_host_call){ .call = count, .user = &num_calls, .blocking = true },
            NULL));
    check_ok(braid_exec_create(device, graph, &(braid_exec_options){ .mode = mode }, &exec));
    int refused = atomic_load(&num_refused);
    for (int frame = 1; frame <= 3; frame++) {
        atomic_store(&starts_none, frame < 3);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(atomic_load(&num_calls), 2 * frame);
    }
    assert_int_equal(atomic_load(&num_refused), refused + 4); // one for each call
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

static void calls_are_made_on_streams(void **state)
{
    (void)state;
    run(BRAID_MODE_STREAMS);
}

static void calls_are_made_by_the_walker(void **state)
{
    (void)state;
    run(BRAID_MODE_GRAPH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_made_on_streams),
        cmocka_unit_test(calls_are_made_by_the_walker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
