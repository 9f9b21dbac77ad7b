// SPDX-License-Identifier: Apache-2.0
// On the CPU an audit waits for handlers that run on other threads with masks of their own, before
// it closes pages. The C library's own signals reach the thread that audits between its steps.
#include <pthread.h>

#include "audit/audit_case.h"
#include "audit/node_thread.h"

#if defined(__x86_64__) && !defined(UNDER_TSAN)

enum { MANY = 10000000, SOME = 2000, FEW = 300 };

static atomic_bool is_handling, has_mask, is_done;

// An audit takes the signals that it needs from masks of handlers.
static bool is_mask_open(void)
{
    struct sigaction action;
    return !sigaction(SIGUSR1, NULL, &action) && !sigismember(&action.sa_mask, SIGSEGV);
}

// Until an audit is about to close the page, and then for longer than that takes.
static void read_until_closed(int number)
{
    (void)number;
    atomic_store(&is_handling, true);
    for (int i = 0; i < MANY && !atomic_load(&has_mask); i++)
        atomic_store(&has_mask, is_mask_open());
    for (int i = 0; i < MANY; i++)
        (void)words[BESIDE];
    atomic_store(&is_done, true);
}

static void *raise_on_thread(void *user)
{
    raise(SIGUSR1);
    return user;
}

static void begin_handler(void)
{
    node_thread_begin(raise_on_thread, NULL);
    while (!atomic_load(&is_handling))
        sched_yield();
}

static void set_full_handler(void)
{
    struct sigaction action = { .sa_handler = read_until_closed };
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
}

// A node behind which all is closed again, and how the case ends.
static int end_behind_handler(void)
{
    add_call(write_beside);
    audit_case();
    const bool was_right = atomic_load(&has_mask) && atomic_load(&is_done);
    node_thread_end();
    node_thread_close();
    return end_with(was_right);
}

static int begin_beside_handler(void)
{
    set_full_handler();
    node_thread_open();
    begin_handler();
    return end_behind_handler();
}

// Its handlers have their own masks, so one of another thread has that to its end.
static void give_up_beside_handler(void *user)
{
    (void)user;
    signal(SIGUSR2, SIG_IGN);
    begin_handler();
}

static int go_on_beside_handler(void)
{
    set_full_handler();
    node_thread_open();
    add_call(give_up_beside_handler);
    return end_behind_handler();
}

static void audits_wait_for_handlers_of_other_threads(void **state)
{
    (void)state;
    run_case(begin_beside_handler);
    run_case(go_on_beside_handler);
}

// ---- signals of the C library ----

static void *set_group_often(void *user)
{
    for (int i = 0; i < FEW; i++)
        if (setgid(getgid()))
            _exit(WRONG);
    return user;
}

static void count_in_steps(void *user)
{
    (void)user;
    for (int i = 0; i < SOME; i++)
        words[0]++;
}

// The C library sends a signal to each thread, whose handler makes a system call.
static int set_group_beside_steps(void)
{
    enum { NODES = 10 };
    node_thread_open();
    node_thread_begin(set_group_often, NULL);
    for (int i = 0; i < NODES; i++)
        add_call(count_in_steps);
    audit_case();
    node_thread_end();
    node_thread_close();
    return end_with(words[0] == NODES * SOME);
}

static void another_thread_may_set_groups(void **state)
{
    (void)state;
    run_case(set_group_beside_steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(audits_wait_for_handlers_of_other_threads),
        cmocka_unit_test(another_thread_may_set_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    skip_program("audits need x86-64, and the thread sanitizer calls handlers later");
    return 0;
}

#endif
