// SPDX-License-Identifier: Apache-2.0
// What becomes of a launch with communicators that failed halfway: some of its operations were
// posted, others never are.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "ranks_testing.h"
#include "support/clock.h"

enum { LINGER_NS = 20000000 };

static braid_status fail_or_not(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    return *(const int *)user ? BRAID_DEVICE_ERROR : BRAID_OK;
}

// Its first operation was posted, its second never is.
void test_a_launch_that_failed_halfway_keeps_no_communicator(void **state)
{
    struct job *job = *state;
    braid_exec *second;
    double a[1] = { 1 };
    int fails = 1;
    braid_resource as = add_buffer(job, "a", a, 1);
    const braid_access access = { as, BRAID_READ_WRITE };
    const braid_communication sum = { .from = a, .to = a, .count = 1 };
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    add(job, "first sum", BRAID_RANK_ALL_REDUCE, sum, &access, 1);
    const braid_queue_call queued = { .node = { .accesses = &access, .num_accesses = 1 },
                                      .call = fail_or_not,
                                      .user = &fails };
    check_ok(braid_graph_add_queue_call(job->graph, &queued, NULL));
    add(job, "second sum", BRAID_RANK_ALL_REDUCE, sum, &access, 1);
    check_ok(braid_exec_create(job->device, job->graph, &options, &job->exec));
    check_ok(braid_exec_create(job->device, job->graph, &options, &second));
    check_fails(braid_exec_launch(job->exec, NULL), BRAID_DEVICE_ERROR, "queue call");
    check_ok(braid_exec_wait(job->exec));
    assert_true(a[0] == NUM_RANKS);
    fails = 0;
    check_ok(braid_exec_launch(second, NULL));
    check_ok(braid_exec_wait(second));
    assert_true(a[0] == NUM_RANKS * NUM_RANKS * NUM_RANKS);
    fails = 1;
    check_fails(braid_exec_launch(second, NULL), BRAID_DEVICE_ERROR, "queue call");
    braid_exec_destroy(second);
    fails = 0;
    check_ok(braid_exec_launch(job->exec, NULL));
    check_ok(braid_exec_wait(job->exec));
}

// Where nothing that was queued waits for an operation, the exec is waited for with it all the
// same, by whatever waits for it: a wait, the next launch, or its end.
void test_an_operation_of_a_launch_that_failed_is_awaited(void **state)
{
    struct job *job = *state;
    int fails = 1;
    double a[1] = { 1 };
    braid_resource as = add_buffer(job, "a", a, 1), bs;
    const braid_access own = { as, BRAID_READ_WRITE };
    check_ok(braid_graph_add_resource(job->graph, "b", &bs));
    add(job, "sum", BRAID_RANK_ALL_REDUCE,
        (braid_communication){ .from = a, .to = a, .count = 1, .node.cost_ns = 1000000 }, &own, 1);
    const braid_access other_access = { bs, BRAID_READ_WRITE };
    const braid_queue_call queued = { .node = { .accesses = &other_access, .num_accesses = 1 },
                                      .call = fail_or_not,
                                      .user = &fails };
    check_ok(braid_graph_add_queue_call(job->graph, &queued, NULL));
    double expected = 1;
    for (int end = 0; end < 3; end++) {
        const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
        check_ok(braid_exec_create(job->device, job->graph, &options, &job->exec));
        fails = 1;
        check_fails(braid_exec_launch(job->exec, NULL), BRAID_DEVICE_ERROR, "queue call");
        expected *= NUM_RANKS;
        if (end == 1)
            check_ok(braid_exec_wait(job->exec));
        if (end == 2) {
            fails = 0;
            check_ok(braid_exec_launch(job->exec, NULL));
            expected *= NUM_RANKS;
        }
        if (end != 1) {
            braid_exec_destroy(job->exec);
            job->exec = NULL;
        }
        assert_true(a[0] == expected);
        braid_exec_destroy(job->exec);
        job->exec = NULL;
    }
}

struct again {
    struct job *job;
    braid_parameter value;
    _Atomic int may_go, has_begun, has_ended;
    braid_status status;
};

static void wait_for_it(void *user)
{
    while (!atomic_load((_Atomic int *)user))
        sched_yield();
}

static int noted;

static void note(void *user)
{
    noted = *(const int *)user;
}

static void *launch_again(void *user)
{
    struct again *again = user;
    static int row = 10;
    int *const address = &row;
    const braid_parameter_rows rows = { again->value, &address, 1 };
    atomic_store(&again->has_begun, 1);
    again->status = braid_exec_launch_many(again->job->exec, NULL, 1, &rows, 1);
    atomic_store(&again->has_ended, 1);
    return NULL;
}

// While the next launch waits for what there is of the one that failed, others may set parameters:
// its row is its frame's all the same.
void test_a_row_is_for_the_launch_that_waits_for_a_failed_one(void **state)
{
    struct job *job = *state;
    struct again again = { .job = job };
    static int later = 20;
    int *const address = &later;
    int fails = 1;
    double a[1] = { 1 };
    braid_node last;
    braid_resource as = add_buffer(job, "a", a, 1);
    const braid_access access = { as, BRAID_READ_WRITE };
    const braid_node_options own = { .accesses = &access, .num_accesses = 1 };
    check_ok(braid_graph_add_host_call(
        job->graph, &(braid_host_call){ .node = own, .call = wait_for_it, .user = &again.may_go },
        NULL));
    add(job, "sum", BRAID_RANK_ALL_REDUCE, (braid_communication){ .from = a, .to = a, .count = 1 },
        &access, 1);
    check_ok(braid_graph_add_host_call(
        job->graph, &(braid_host_call){ .node = own, .call = note, .user = &later }, &last));
    check_ok(braid_graph_add_queue_call(
        job->graph, &(braid_queue_call){ .node = own, .call = fail_or_not, .user = &fails }, NULL));
    check_ok(braid_graph_add_parameter(job->graph, "value", sizeof(int *), &again.value));
    check_ok(braid_graph_use_parameter(
        job->graph, again.value,
        &(braid_parameter_use){ .node = last, .target = BRAID_TARGET_USER }));
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    check_ok(braid_exec_create(job->device, job->graph, &options, &job->exec));
    check_fails(braid_exec_launch(job->exec, NULL), BRAID_DEVICE_ERROR, "queue call");
    fails = 0;
    pthread_t launcher;
    assert_int_equal(pthread_create(&launcher, NULL, launch_again, &again), 0);
    while (!atomic_load(&again.has_begun))
        sched_yield();
    for (uint64_t start = clock_now_ns(); clock_now_ns() - start < LINGER_NS; sched_yield())
        check_ok(braid_exec_set_parameter(job->exec, again.value, &address));
    assert_false(atomic_load(&again.has_ended));
    atomic_store(&again.may_go, 1);
    pthread_join(launcher, NULL);
    check_ok(again.status);
    check_ok(braid_exec_wait(job->exec));
    assert_int_equal(noted, 10);
    assert_true(a[0] == NUM_RANKS * NUM_RANKS);
}
