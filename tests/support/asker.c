// SPDX-License-Identifier: Apache-2.0
// A thread that uses an exec whose launch has failed.
#include "support/asker.h"

#include "support/check.h"

static void hear_of_failure(braid_status status, const char *message, void *user)
{
    struct asker *asker = user;
    (void)status, (void)message;
    sem_post(&asker->has_failed);
}

static void *wait_and_ask(void *user)
{
    struct asker *asker = user;
    while (sem_wait(&asker->has_failed))
        continue;
    asker->ask(asker->user);
    return NULL;
}

void asker_init(struct asker *asker)
{
    *asker = (struct asker){ 0 };
    sem_init(&asker->has_failed, 0, 0);
}

void asker_count_end(uint64_t frame, void *user)
{
    struct asker *asker = user;
    assert_int_equal(frame, asker->num_ended);
    assert_true(braid_exec_get_num_launched(asker->exec) > frame);
    asker->num_ended++;
}

void asker_start(struct asker *asker, void (*ask)(void *user), void *user)
{
    asker->ask = ask;
    asker->user = user;
    braid_log_set(hear_of_failure, asker);
    assert_int_equal(pthread_create(&asker->thread, NULL, wait_and_ask, asker), 0);
}

void asker_join(struct asker *asker, braid_status status)
{
    if (!status)
        sem_post(&asker->has_failed);
    assert_int_equal(pthread_join(asker->thread, NULL), 0);
    braid_log_set(NULL, NULL);
}

void asker_finish(struct asker *asker)
{
    check_ok(braid_exec_wait(asker->exec));
    assert_int_equal(asker->num_ended, braid_exec_get_num_launched(asker->exec));
    sem_destroy(&asker->has_failed);
}
