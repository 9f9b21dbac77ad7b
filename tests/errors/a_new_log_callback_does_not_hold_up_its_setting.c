// SPDX-License-Identifier: Apache-2.0
// braid_log_set returns once the callback before has ended, while the new one is being called.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include <braid/braid.h>

#include "support/check.h"

enum { PATIENCE_SECONDS = 60 };

static sem_t old_has_begun, old_may_end, new_has_begun, new_may_end;
static atomic_bool old_was_called, new_was_called, old_is_running;

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
    }
}

// Its first call lasts until it is allowed to end.
static void old_callback(braid_status status, const char *message, void *user)
{
    (void)user, (void)status, (void)message;
    if (atomic_exchange(&old_was_called, true))
        return;
    atomic_store(&old_is_running, true);
    sem_post(&old_has_begun);
    wait_for(&old_may_end);
    atomic_store(&old_is_running, false);
}

static void new_callback(braid_status status, const char *message, void *user)
{
    (void)user, (void)status, (void)message;
    if (atomic_exchange(&new_was_called, true))
        return;
    sem_post(&new_has_begun);
    wait_for(&new_may_end);
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

static void *fail_until_the_new_one_is_called(void *user)
{
    (void)user;
    while (!atomic_load(&new_was_called))
        make_a_mistake();
    return NULL;
}

static void *set_the_new_one(void *user)
{
    (void)user;
    braid_log_set(new_callback, NULL);
    return (void *)(uintptr_t)atomic_load(&old_is_running);
}

static void setting_waits_for_the_old_one_only(void **state)
{
    (void)state;
    pthread_t in_old, in_new, setter;
    alarm(PATIENCE_SECONDS); // a braid_log_set that never returns would block for ever
    braid_log_set(old_callback, NULL);
    assert_int_equal(pthread_create(&in_old, NULL, fail_once, NULL), 0);
    wait_for(&old_has_begun);
    assert_int_equal(pthread_create(&setter, NULL, set_the_new_one, NULL), 0);
    assert_int_equal(pthread_create(&in_new, NULL, fail_until_the_new_one_is_called, NULL), 0);
    wait_for(&new_has_begun);
    sem_post(&old_may_end);
    void *old_was_running = NULL;
    pthread_join(setter, &old_was_running); // while the new one is being called
    assert_null(old_was_running);
    sem_post(&new_may_end);
    pthread_join(in_old, NULL);
    pthread_join(in_new, NULL);
    braid_log_set(NULL, NULL);
    alarm(0);
}

static void set_from_inside(braid_status status, const char *message, void *user)
{
    (void)status, (void)message;
    ++*(int *)user;
    braid_log_set(NULL, NULL);
}

static void a_callback_may_replace_itself(void **state)
{
    (void)state;
    int num_calls = 0;
    braid_log_set(set_from_inside, &num_calls);
    make_a_mistake();
    make_a_mistake();
    assert_int_equal(num_calls, 1);
}

int main(void)
{
    sem_t *semaphores[] = { &old_has_begun, &old_may_end, &new_has_begun, &new_may_end };
    for (size_t i = 0; i < sizeof(semaphores) / sizeof(semaphores[0]); i++)
        sem_init(semaphores[i], 0, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_waits_for_the_old_one_only),
        cmocka_unit_test(a_callback_may_replace_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
