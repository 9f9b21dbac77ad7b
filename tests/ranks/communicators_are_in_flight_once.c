// SPDX-License-Identifier: Apache-2.0
// A communicator is in flight in one exec, from the launch of a frame until the frame's end.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "devices_testing.h"

// A second thread launches an exec whenever the first is in a call of the driver.
static struct {
    braid_exec *exec;
    pthread_t first, second;
    bool has_queued, ends;
    sem_t begin, end;
    uint32_t num_launches;
    braid_status last;
} intruder;

static void *intrude(void *unused)
{
    (void)unused;
    while (sem_wait(&intruder.begin) == 0 && !intruder.ends) {
        if (intruder.num_launches == 0 || intruder.last == BRAID_BUSY)
            intruder.last = braid_exec_launch(intruder.exec, NULL);
        intruder.num_launches++;
        sem_post(&intruder.end);
    }
    return NULL;
}

// Calls before the first that queues something may come before the launch counts.
static void hold(const char *function)
{
    if (!pthread_equal(pthread_self(), intruder.first))
        return;
    intruder.has_queued |= strstr(function, "Launch") || strstr(function, "EventRecord") ||
                           strstr(function, "WaitEvent") || strstr(function, "Memcpy");
    if (!intruder.has_queued)
        return;
    sem_post(&intruder.begin);
    sem_wait(&intruder.end);
}

typedef void hold_function(void (*holder)(const char *function));

static hold_function *find_hold(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = driver ? dlsym(driver, "standin_hold") : NULL;
    hold_function *holder = NULL;
    memcpy(&holder, &found, sizeof(found));
    if (driver)
        dlclose(driver);
    return holder;
}

// A real driver tells nobody when it is called.
static void launch_beside(braid_exec *exec, braid_exec *other_exec)
{
    hold_function *hold_calls = find_hold();
    if (!hold_calls) {
        check_ok(braid_exec_launch(exec, NULL));
        return;
    }
    intruder.exec = other_exec;
    intruder.first = pthread_self();
    sem_init(&intruder.begin, 0, 0);
    sem_init(&intruder.end, 0, 0);
    assert_int_equal(pthread_create(&intruder.second, NULL, intrude, NULL), 0);
    hold_calls(hold);
    braid_status status = braid_exec_launch(exec, NULL);
    hold_calls(NULL);
    intruder.ends = true;
    sem_post(&intruder.begin);
    pthread_join(intruder.second, NULL);
    sem_destroy(&intruder.begin);
    sem_destroy(&intruder.end);
    check_ok(status);
    assert_true(intruder.num_launches > 0);
    assert_int_equal(intruder.last, BRAID_BUSY);
}

static void add_own_sum(struct job *job)
{
    braid_resource sum;
    struct memory a = add_memory(job, "sum", COUNT, 0, &sum);
    add_sum(job, "sum", a.device, sum, job->world);
}

static braid_exec *create_other(const struct job *job)
{
    braid_exec *exec;
    check_ok(braid_exec_create(device, job->graph, &(braid_exec_options){ .mode = mode }, &exec));
    return exec;
}

// Rank 0 launches only when the others have tried, so that their frames are in flight until then.
void test_a_communicator_is_in_one_graph_in_flight(void **state)
{
    struct job *job = *state;
    if (num == 1)
        skip_because("there is one rank");
    add_own_sum(job);
    create(job);
    braid_exec *second = create_other(job);
    if (rank > 0) {
        launch_beside(job->exec, second);
        check_fails(braid_exec_launch(second, NULL), BRAID_BUSY, "'world'");
    }
    meet();
    if (rank == 0)
        check_ok(braid_exec_launch(job->exec, NULL));
    check_ok(braid_exec_wait(job->exec));
    check_ok(braid_exec_launch(second, NULL));
    check_ok(braid_exec_wait(second));
    braid_exec_destroy(second);
}

// The frame of the one that goes has ended.
void test_an_exec_that_goes_ends_no_frame_of_another(void **state)
{
    struct job *job = *state;
    if (num == 1)
        skip_because("there is one rank");
    add_own_sum(job);
    create(job);
    braid_exec *first = create_other(job), *third = create_other(job);
    check_ok(braid_exec_launch(first, NULL));
    check_ok(braid_exec_wait(first));
    if (rank > 0) {
        check_ok(braid_exec_launch(job->exec, NULL));
        braid_exec_destroy(first);
        check_fails(braid_exec_launch(third, NULL), BRAID_BUSY, "'world'");
    } else {
        braid_exec_destroy(first);
    }
    meet();
    if (rank == 0)
        check_ok(braid_exec_launch(job->exec, NULL));
    check_ok(braid_exec_wait(job->exec));
    braid_exec_destroy(third);
}
