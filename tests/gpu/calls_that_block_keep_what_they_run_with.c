// SPDX-License-Identifier: Apache-2.0
// A call that blocks, and whose end no stream waits for since the driver refused that, is made with
// what it was launched with, however often it is changed before its thread comes to it.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

static atomic_bool holds_threads; // those that Braid starts
static atomic_int num_held;
static sem_t gate;

struct start {
    void *(*routine)(void *argument);
    void *argument;
};

static void *run_behind_gate(void *user)
{
    struct start start = *(struct start *)user;
    free(user);
    while (sem_wait(&gate))
        continue;
    return start.routine(start.argument);
}

static bool is_of_braid(void *(*routine)(void *argument))
{
    Dl_info its, ours;
    void *address;
    memcpy(&address, &routine, sizeof(address));
    assert_int_not_equal(dladdr(address, &its), 0);
    assert_int_not_equal(dladdr(&gate, &ours), 0);
    return its.dli_fbase == ours.dli_fbase;
}

// Braid's is called by it, the stand-in's passes through.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*routine)(void *argument), void *argument)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&create, &found, sizeof(create));
    if (!atomic_load(&holds_threads) || !is_of_braid(routine))
        return create(thread, attributes, routine, argument);
    struct start *start = malloc(sizeof(*start));
    assert_non_null(start);
    *start = (struct start){ routine, argument };
    atomic_fetch_add(&num_held, 1);
    return create(thread, attributes, run_behind_gate, start);
}

static void count(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static braid_exec *make_exec(braid_device *device, atomic_int *user, braid_node *out_node)
{
    const braid_host_call call = { .call = count, .user = user, .blocking = true };
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    braid_graph *graph;
    braid_exec *exec;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_host_call(graph, &call, out_node));
    check_ok(braid_exec_create(device, graph, &options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

static void that_a_later_change_does_not_reach(void **state)
{
    (void)state;
    struct frame frame;
    braid_node node;
    atomic_int num[3] = { 0 };
    reset_standin();
    sem_init(&gate, 0, 0);
    check_ok(frame_open(&frame, "cuda"));
    frame.exec = make_exec(frame.device, &num[0], &node);
    atomic_store(&holds_threads, true);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", "cuStreamWaitValue32:1=999"));
    check_fails(braid_exec_launch(frame.exec, frame.stream), BRAID_DEVICE_ERROR,
                "cuStreamWaitValue32");
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    check_ok(braid_stream_synchronize(frame.device, frame.stream));
    atomic_store(&holds_threads, false);
    check_ok(braid_exec_set_user(frame.exec, node, &num[1]));
    check_ok(braid_exec_set_user(frame.exec, node, &num[2]));
    assert_int_equal(atomic_load(&num_held), 1);
    assert_int_equal(atomic_load(&num[0]), 0);
    sem_post(&gate);
    check_ok(braid_exec_launch(frame.exec, frame.stream));
    check_ok(braid_exec_wait(frame.exec));
    for (int i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&num[i]), i != 1);
    frame_finish(&frame);
    check_nothing_is_left();
    sem_destroy(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(that_a_later_change_does_not_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
