// SPDX-License-Identifier: Apache-2.0
// A call that blocks, and whose end no stream waits for since the driver refused that, is waited
// for by its launch, and made with what it was launched with, however often it is changed before
// its thread comes to it.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/asker.h"
#include "support/check.h"
#include "support/start_thread.h"

static atomic_bool holds_threads; // the threads that Braid starts
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
    if (!atomic_load(&holds_threads) || !is_of_braid(routine))
        return start_thread(thread, attributes, routine, argument);
    struct start *start = malloc(sizeof(*start));
    assert_non_null(start);
    *start = (struct start){ routine, argument };
    atomic_fetch_add(&num_held, 1);
    return start_thread(thread, attributes, run_behind_gate, start);
}

// A call that is changed while its launch waits for it, and what was seen meanwhile.
struct changed {
    struct frame frame;
    braid_node node;
    struct asker asker;
    atomic_int num[3]; // calls made with each
    int num_held, num_made;
    braid_status answer;
};

static void count(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static void make_exec(struct changed *changed, uint32_t num_frames)
{
    const braid_host_call call = { .call = count, .user = &changed->num[0], .blocking = true };
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS,
                                         .frames_in_flight = num_frames };
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_host_call(graph, &call, &changed->node));
    check_ok(braid_exec_create(changed->frame.device, graph, &options, &changed->frame.exec));
    asker_init(&changed->asker);
}

// A change can be made once the launch waits, or has returned. Then the stream has nothing left.
static void change_and_let_go(void *user)
{
    struct changed *changed = user;
    struct frame *frame = &changed->frame;
    check_ok(braid_exec_set(frame->exec, changed->node, BRAID_TARGET_USER, 0,
                            &(void *){ &changed->num[1] }));
    check_ok(braid_stream_wait(frame->stream));
    changed->answer = braid_exec_wait_for(frame->exec, BRAID_LAST_FRAME, 0);
    check_ok(braid_exec_set(frame->exec, changed->node, BRAID_TARGET_USER, 0,
                            &(void *){ &changed->num[2] }));
    changed->num_held = atomic_load(&num_held);
    changed->num_made = atomic_load(&changed->num[0]);
    sem_post(&gate);
}

static void check_changed(uint32_t num_frames)
{
    struct changed changed = { .num_held = 0 };
    struct frame *frame = &changed.frame;
    reset_standin();
    sem_init(&gate, 0, 0);
    atomic_store(&num_held, 0);
    check_ok(frame_open(frame, "cuda"));
    make_exec(&changed, num_frames);
    asker_start(&changed.asker, change_and_let_go, &changed);
    atomic_store(&holds_threads, true);
    fail_calls("cuStreamWaitValue32:1=999");
    check_fails(braid_exec_launch(frame->exec, frame->stream), BRAID_DEVICE_ERROR,
                "cuStreamWaitValue32");
    const int made = atomic_load(&changed.num[0]);
    fail_calls(NULL);
    atomic_store(&holds_threads, false);
    asker_join(&changed.asker, BRAID_DEVICE_ERROR);
    assert_int_equal(changed.answer, BRAID_NOT_READY);
    assert_int_equal(changed.num_held, 1);
    assert_int_equal(changed.num_made, 0);
    assert_int_equal(made, 1);
    check_ok(braid_exec_launch(frame->exec, frame->stream));
    check_ok(braid_exec_wait(frame->exec));
    for (int i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&changed.num[i]), i != 1);
    sem_destroy(&changed.asker.has_failed);
    frame_finish(frame);
    check_nothing_is_left();
    sem_destroy(&gate);
}

static void that_a_later_change_does_not_reach(void **state)
{
    (void)state;
    check_changed(1);
    check_changed(2);
}

// The third call, which its launch waits for, goes on when somebody has found the first frame
// ended.
struct third {
    braid_exec *exec;
    sem_t has_begun, goes_on;
    atomic_int num_calls;
    braid_status answer;
};

static void wait_in_third(void *user)
{
    struct third *third = user;
    if (atomic_fetch_add(&third->num_calls, 1) < 2)
        return;
    sem_post(&third->has_begun);
    while (sem_wait(&third->goes_on))
        continue;
}

static void *wait_for_first(void *user)
{
    struct third *third = user;
    while (sem_wait(&third->has_begun))
        continue;
    third->answer = braid_exec_wait_for(third->exec, 0, UINT64_MAX);
    sem_post(&third->goes_on);
    return NULL;
}

static void that_who_waits_for_an_earlier_frame_lets_go_on(void **state)
{
    (void)state;
    struct frame frame = { 0 };
    struct third third = { .answer = BRAID_INTERNAL };
    pthread_t thread;
    sem_init(&third.has_begun, 0, 0);
    sem_init(&third.goes_on, 0, 0);
    check_ok(frame_open(&frame, "cuda"));
    braid_graph *graph = own_graph();
    const braid_host_call call = { .call = wait_in_third, .user = &third, .blocking = true };
    check_ok(braid_graph_add_host_call(graph, &call, NULL));
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .frames_in_flight = 2 };
    check_ok(braid_exec_create(frame.device, graph, &options, &frame.exec));
    third.exec = frame.exec;
    for (int i = 0; i < 2; i++)
        check_ok(braid_exec_launch(frame.exec, frame.stream));
    check_ok(braid_exec_wait(frame.exec));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_first, &third), 0);
    fail_calls("cuStreamWaitValue32:1=999");
    check_fails(braid_exec_launch(frame.exec, frame.stream), BRAID_DEVICE_ERROR,
                "cuStreamWaitValue32");
    fail_calls(NULL);
    pthread_join(thread, NULL);
    assert_int_equal(third.answer, BRAID_OK);
    frame_finish(&frame);
    check_nothing_is_left();
    sem_destroy(&third.has_begun);
    sem_destroy(&third.goes_on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(that_a_later_change_does_not_reach),
        standin_test(that_who_waits_for_an_earlier_frame_lets_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
