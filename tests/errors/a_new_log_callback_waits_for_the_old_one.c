// SPDX-License-Identifier: Apache-2.0
// braid_log_set returns once the callback before has ended, and does nothing inside a callback.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include <braid/braid.h>

#include "support/check.h"

enum { PATIENCE_SECONDS = 60 };

static sem_t has_begun, may_end;
static atomic_bool is_running;

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
    }
}

// It lasts until it is allowed to end.
static void slow_callback(void *user, braid_status status, const char *message)
{
    (void)user, (void)status, (void)message;
    atomic_store(&is_running, true);
    sem_post(&has_begun);
    wait_for(&may_end);
    atomic_store(&is_running, false);
}

static void count_call(void *user, braid_status status, const char *message)
{
    (void)status, (void)message;
    ++*(int *)user;
}

static void make_a_mistake(void)
{
    assert_int_equal(braid_graph_create(NULL), BRAID_INVALID_ARGUMENT);
}

static void *fail_once(void *user)
{
    (void)user;
    make_a_mistake();
    return NULL;
}

static void *set_another(void *user)
{
    braid_log_set(count_call, user);
    return (void *)(uintptr_t)atomic_load(&is_running);
}

static void setting_waits_for_the_callback_before(void **state)
{
    (void)state;
    pthread_t fails, sets;
    int num_calls = 0;
    void *was_running = NULL;
    alarm(PATIENCE_SECONDS); // a braid_log_set that never returns would block for ever
    braid_log_set(slow_callback, NULL);
    assert_int_equal(pthread_create(&fails, NULL, fail_once, NULL), 0);
    wait_for(&has_begun);
    assert_int_equal(pthread_create(&sets, NULL, set_another, &num_calls), 0);
    usleep(20000); // it likely waits by now
    sem_post(&may_end);
    pthread_join(sets, &was_running);
    pthread_join(fails, NULL);
    assert_null(was_running);
    make_a_mistake();
    assert_int_equal(num_calls, 1);
    braid_log_set(NULL, NULL);
    alarm(0);
}

static void set_from_inside(void *user, braid_status status, const char *message)
{
    count_call(user, status, message);
    braid_log_set(NULL, NULL);
}

static void setting_inside_a_callback_does_nothing(void **state)
{
    (void)state;
    int num_calls = 0;
    braid_log_set(set_from_inside, &num_calls);
    make_a_mistake();
    make_a_mistake();
    braid_log_set(NULL, NULL);
    make_a_mistake();
    assert_int_equal(num_calls, 2);
}

int main(void)
{
    sem_init(&has_begun, 0, 0);
    sem_init(&may_end, 0, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_waits_for_the_callback_before),
        cmocka_unit_test(setting_inside_a_callback_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
