// SPDX-License-Identifier: Apache-2.0
// While one thread destroys an exec or a stream, and waits there for its work, another that asks
// whether the device can be closed is refused.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

struct destroyed {
    struct frame frame;
    sem_t gate; // what the frame's stream waits for
};

static void wait_for_gate(void *user)
{
    while (sem_wait(user))
        continue;
}

static void open_behind_gate(struct destroyed *destroyed)
{
    struct frame *frame = &destroyed->frame;
    reset_standin();
    sem_init(&destroyed->gate, 0, 0);
    check_ok(frame_open(frame, "cuda"));
    check_ok(braid_stream_host_call(frame->stream, wait_for_gate, &destroyed->gate));
}

static void *destroy_exec(void *user)
{
    struct frame *frame = user;
    braid_exec_destroy(frame->exec);
    return NULL;
}

static void *destroy_stream(void *user)
{
    struct frame *frame = user;
    braid_stream_destroy(frame->stream);
    return NULL;
}

static void close_meanwhile(struct destroyed *destroyed, void *(*destroy)(void *user),
                            const char *wait, const char *left)
{
    struct frame *frame = &destroyed->frame;
    pthread_t thread;
    long waits = standin_calls(wait);
    assert_int_equal(pthread_create(&thread, NULL, destroy, frame), 0);
    while (standin_calls(wait) == waits)
        sched_yield();
    check_fails(braid_device_close(frame->device), BRAID_IN_USE, left);
    sem_post(&destroyed->gate);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void finish(struct destroyed *destroyed)
{
    frame_finish(&destroyed->frame);
    sem_destroy(&destroyed->gate);
    check_nothing_is_left();
}

static void an_exec(void **state)
{
    (void)state;
    struct destroyed destroyed;
    open_behind_gate(&destroyed);
    struct frame *frame = &destroyed.frame;
    check_ok(frame_create_exec(frame, BRAID_MODE_GRAPH));
    check_ok(braid_exec_launch(frame->exec, frame->stream));
    close_meanwhile(&destroyed, destroy_exec, "cuEventSynchronize", "1 exec, ");
    frame->exec = NULL;
    finish(&destroyed);
}

static void a_stream(void **state)
{
    (void)state;
    struct destroyed destroyed;
    open_behind_gate(&destroyed);
    close_meanwhile(&destroyed, destroy_stream, "cuStreamSynchronize", "1 stream, ");
    destroyed.frame.stream = NULL;
    finish(&destroyed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exec),
        cmocka_unit_test(a_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
