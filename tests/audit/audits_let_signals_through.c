// SPDX-License-Identifier: Apache-2.0
// During an audit on the CPU signals come to nodes as they do without it, and those that wait
// before an audit still wait behind it. A node in which they may hide accesses is named.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit_case.h"

#if defined(__x86_64__) && !defined(UNDER_TSAN)

// ---- a handler leaves a call by a jump ----

static sigjmp_buf back;

static void jump_back(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void leave_read_by_alarm(void *user)
{
    (void)user;
    set_timer();
    if (!sigsetjmp(back, 1))
        (void)!read(ends[0], (char *)words, DECLARED);
}

static int sent;

static void *send_to_sleeper(void *user)
{
    await_sleep();
    if (sent == SIGUSR1)
        signal(SIGUSR1, jump_back);
    syscall(SYS_tgkill, getpid(), getpid(), sent); // the audit's thread
    return user;
}

static void leave_read(void *user)
{
    (void)user;
    atomic_store(&node_waits, true);
    if (!sigsetjmp(back, 1))
        (void)!read(ends[0], (char *)words, DECLARED);
}

// The pages that a call uses close behind its node. So the next node's accesses are seen.
static int judge_behind(braid_host_function *leave)
{
    add_call(leave);
    add_call(write_beside);
    audit_case();
    return end_with(is_found(0, BRAID_AUDIT_UNSEEN) && is_found(1, BRAID_AUDIT_WRITES));
}

static int leave_call_by_alarm(void)
{
    signal(SIGALRM, jump_back);
    return judge_behind(leave_read_by_alarm);
}

static int leave_call_by_other(int number)
{
    pthread_t thread;
    sent = number;
    if (pthread_create(&thread, NULL, send_to_sleeper, NULL))
        return WRONG;
    const int result = judge_behind(leave_read);
    pthread_join(thread, NULL);
    return result;
}

static int leave_call_by_fault(void)
{
    signal(SIGFPE, jump_back);
    return leave_call_by_other(SIGFPE);
}

// The other thread sets the handler while the node waits.
static int leave_call_by_new_handler(void)
{
    return leave_call_by_other(SIGUSR1);
}

static void a_handler_may_leave_a_call(void **state)
{
    (void)state;
    run_case(leave_call_by_alarm);
    run_case(leave_call_by_fault);
    run_case(leave_call_by_new_handler);
}

// ---- signals of which nodes wait ----

static atomic_bool came;

static void write_pipe(int number)
{
    (void)number;
    words[BESIDE] = 1;
    if (write(ends[1], (const char *)&words[BESIDE], 4) == 4)
        atomic_store(&came, true);
}

static void read_from_handler(void *user)
{
    char letters[4];
    (void)user;
    set_timer();
    if (read(ends[0], letters, 4) != 4)
        _exit(WRONG);
}

static int wait_in_call(void)
{
    signal(SIGALRM, write_pipe);
    add_call(read_from_handler);
    add_call(write_beside);
    audit_case();
    return end_with(came && is_found(0, BRAID_AUDIT_WRITES) && !is_found(0, BRAID_AUDIT_UNSEEN) &&
                    is_found(1, BRAID_AUDIT_WRITES));
}

static void *handle_and_send(void *user)
{
    await_sleep();
    signal(SIGUSR1, write_pipe);
    syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1); // the audit's thread
    return user;
}

static void read_beside_new_handler(void *user)
{
    (void)user;
    atomic_store(&node_waits, true);
    if (read(ends[0], (char *)words, 4) != 4)
        _exit(WRONG);
}

// Another thread sets the handler meanwhile, and the call has opened the page.
static int wait_beside_new_handler(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, handle_and_send, NULL))
        return WRONG;
    add_call(read_beside_new_handler);
    audit_case();
    pthread_join(thread, NULL);
    return end_with(came && is_found(0, BRAID_AUDIT_UNSEEN));
}

static void spin(void *user)
{
    (void)user;
    set_timer();
    while (!atomic_load(&came))
        ;
}

// The handler runs on the node's thread, and its accesses are the node's.
static int wait_outside_calls(void)
{
    signal(SIGALRM, write_pipe);
    add_call(spin);
    audit_case();
    return end_with(is_found(0, BRAID_AUDIT_WRITES) && !is_found(0, BRAID_AUDIT_UNSEEN));
}

static void wait_for_end(void *user)
{
    (void)user;
    set_timer();
    (void)!read(ends[0], (char *)words, 4);
}

static int wait_for_ever(void)
{
    add_call(wait_for_end);
    audit_case();
    return WRONG;
}

static void signals_come_to_a_node_that_waits(void **state)
{
    (void)state;
    run_case(wait_in_call);
    run_case(wait_beside_new_handler);
    run_case(wait_outside_calls);
    const int status = end_case(wait_for_ever);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

// ---- signals that wait before an audit ----

static int audit_beside_pending(int number)
{
    sigset_t own, pending;
    int taken = 0;
    sigemptyset(&own);
    sigaddset(&own, number);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    pthread_kill(pthread_self(), number);
    add_call(write_beside);
    audit_case();
    sigpending(&pending);
    if (!sigismember(&pending, number) || words[BESIDE] != 1)
        return WRONG;
    const bool is_needed = number != SIGFPE;
    if (!is_found(0, is_needed ? BRAID_AUDIT_UNSEEN : BRAID_AUDIT_WRITES))
        return WRONG;
    sigwait(&own, &taken); // from now on nodes are audited again
    audit_case();
    return end_with(is_found(0, BRAID_AUDIT_WRITES));
}

static int keep_call(void)
{
    return audit_beside_pending(SIGSYS);
}

static int keep_trap(void)
{
    return audit_beside_pending(SIGTRAP);
}

static int keep_fault(void)
{
    return audit_beside_pending(SIGSEGV);
}

static int keep_number(void)
{
    return audit_beside_pending(SIGFPE);
}

static void a_signal_that_waits_stays(void **state)
{
    (void)state;
    run_case(keep_call);
    run_case(keep_trap);
    run_case(keep_fault);
    run_case(keep_number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_may_leave_a_call),
        cmocka_unit_test(signals_come_to_a_node_that_waits),
        cmocka_unit_test(a_signal_that_waits_stays),
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
