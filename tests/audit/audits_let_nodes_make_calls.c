// SPDX-License-Identifier: Apache-2.0
// During an audit on the CPU a node itself makes the calls that use no pages of buffers. So it may
// wait beside handlers, which may leave its calls, and its errors are those of the system.
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <ucontext.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>

#include "audit/node_case.h"

#if defined(__x86_64__) && !defined(UNDER_TSAN)

// ---- waits ----

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_done = PTHREAD_COND_INITIALIZER;
static bool done;

static void *end_wait(void *user)
{
    await_sleep();
    pthread_mutex_lock(&lock);
    done = true;
    pthread_cond_signal(&is_done);
    pthread_mutex_unlock(&lock);
    return user;
}

static void wait_for_thread(void *user)
{
    pthread_mutex_lock(&lock);
    atomic_store(&node_waits, true);
    while (!done)
        pthread_cond_wait(&is_done, &lock);
    pthread_mutex_unlock(&lock);
    write_beside(user);
}

static int wait_beside_handler(void)
{
    pthread_t thread;
    signal(SIGALRM, count_signal);
    expect(!pthread_create(&thread, NULL, end_wait, NULL));
    const int result = judge(wait_for_thread, BRAID_AUDIT_WRITES);
    pthread_join(thread, NULL);
    return result;
}

static void leave_wait(void *user)
{
    char letter;
    set_timer();
    if (!sigsetjmp(back, 1))
        (void)!read(ends[0], &letter, 1);
    write_beside(user);
}

static int jump_out_of_wait(void)
{
    signal(SIGALRM, jump_back);
    return judge(leave_wait, BRAID_AUDIT_WRITES);
}

static void sleep_until_signal(void *user)
{
    struct timespec left = { .tv_sec = MOST_SECONDS };
    set_timer();
    expect(nanosleep(&left, &left) == -1 && errno == EINTR && left.tv_sec < MOST_SECONDS);
    expect(num_handled == 1);
    write_beside(user);
}

static int end_sleep(void)
{
    signal(SIGALRM, count_signal);
    return judge(sleep_until_signal, BRAID_AUDIT_WRITES);
}

static void a_node_may_wait_beside_a_handler(void **state)
{
    (void)state;
    run_case(wait_beside_handler);
    run_case(jump_out_of_wait);
    run_case(end_sleep);
}

// ---- waits with masks ----

static int call_with_mask;

static void bring_mask(void *user)
{
    sigset_t all;
    const struct timespec soon = { .tv_nsec = 1 };
    struct epoll_event event;
    sigfillset(&all);
    if (call_with_mask == SYS_ppoll)
        expect(!ppoll(NULL, 0, &soon, &all));
    else if (call_with_mask == SYS_pselect6)
        expect(!pselect(0, NULL, NULL, NULL, &soon, &all));
    else
        expect(!epoll_pwait(epoll_create1(0), &event, 1, 0, &all));
    write_beside(user);
}

// A handler has the mask of such a call, and would end the program at a closed page.
static int mask_beside_handler(void)
{
    signal(SIGALRM, count_signal);
    return judge(bring_mask, BRAID_AUDIT_UNSEEN);
}

static int mask_alone(void)
{
    return judge(bring_mask, BRAID_AUDIT_WRITES);
}

static void a_node_may_wait_with_a_mask(void **state)
{
    static const int calls[] = { SYS_ppoll, SYS_pselect6, SYS_epoll_pwait };
    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        call_with_mask = calls[i];
        run_case(mask_beside_handler);
        run_case(mask_alone);
    }
}

// ---- calls that fail ----

static char *const nowhere = (char *)8;

static void fail_at_address(void *user)
{
    errno = 0;
    expect(syscall(SYS_getcwd, nowhere, PAGE) == -1 && errno == EFAULT);
    write_beside(user);
}

static int fail_there(void)
{
    return judge(fail_at_address, BRAID_AUDIT_UNSEEN);
}

static void give_up_and_write(int number)
{
    (void)number;
    signal(SIGUSR1, SIG_IGN);
    num_handled += write(ends[1], "x", 1) == 1;
}

static void fail_behind_handler(void *user)
{
    set_timer();
    errno = 0;
    expect(syscall(SYS_read, ends[0], nowhere, 1) == -1 && errno == EFAULT && num_handled == 1);
    write_beside(user);
}

// The handler has the node given up while that waits.
static int fail_later(void)
{
    struct sigaction action = { .sa_handler = give_up_and_write, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, NULL);
    return judge(fail_behind_handler, BRAID_AUDIT_UNSEEN);
}

static void a_call_may_fail_at_an_address(void **state)
{
    (void)state;
    run_case(fail_there);
    run_case(fail_later);
}

// ---- calls that a filter hands to the program ----

enum { ANSWER = 1234 };

static void answer(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    num_handled++;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = ANSWER;
}

static void filter(long number)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };
    const struct sigaction action = { .sa_sigaction = answer, .sa_flags = SA_SIGINFO };
    expect(!sigaction(SIGSYS, &action, NULL) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(NO_CALLS);
}

static void ask_for_parent(void *user)
{
    expect(getppid() == ANSWER && num_handled == 1);
    write_beside(user);
}

static int answer_call(void)
{
    filter(SYS_getppid);
    return judge(ask_for_parent, BRAID_AUDIT_WRITES);
}

// The buffer shares its last page with these bytes.
static struct {
    _Alignas(PAGE) char buffer[PAGE + DECLARED];
    char other[PAGE - DECLARED];
} shared;

static void read_beside_buffer(void *user)
{
    expect(syscall(SYS_access, strcpy(shared.other, "/"), 0) == ANSWER && num_handled == 1);
    write_beside(user);
}

// The audit makes this call.
static int answer_call_of_audit(void)
{
    braid_resource own;
    check_ok(braid_graph_add_buffer(audited.graph, "buffer", shared.buffer, sizeof(shared.buffer),
                                    &own));
    filter(SYS_access);
    return judge(read_beside_buffer, BRAID_AUDIT_WRITES);
}

static void the_program_may_answer_calls(void **state)
{
    (void)state;
    run_case(answer_call);
    run_case(answer_call_of_audit);
}

// ---- nodes behind those that were given up ----

static void set_handler(void *user)
{
    signal(SIGUSR1, SIG_IGN);
    write_beside(user);
}

static void call_and_write(void *user)
{
    expect(getpid() > 0);
    write_beside(user);
}

// The audit's own functions have their stack there, in pages that close behind the node.
static int give_up_on_closed_stack(void)
{
    char local;
    braid_resource own;
    const uintptr_t end = (uintptr_t)&local, begin = end / PAGE * PAGE - PAGE;
    check_ok(braid_graph_add_buffer(audited.graph, "local", (void *)begin, end - begin, &own));
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ BRAID_ACCESSES({ own, BRAID_READ }), .call = set_handler }, NULL));
    add_call(call_and_write);
    audit_case();
    return end_with(is_found(0, BRAID_AUDIT_UNSEEN) && is_found(1, BRAID_AUDIT_WRITES));
}

static void put_handlers_back(void *user)
{
    static const int needed[] = { SIGSEGV, SIGTRAP, SIGSYS };
    struct sigaction own;
    for (int i = 0; i < 3; i++)
        expect(!sigaction(needed[i], NULL, &own) && !sigaction(needed[i], &own, NULL));
    write_beside(user);
}

// The C library then has the audit's handlers return by its own way.
static int put_them_back(void)
{
    add_call(put_handlers_back);
    add_call(call_and_write);
    audit_case();
    return end_with(is_found(0, BRAID_AUDIT_UNSEEN) && is_found(1, BRAID_AUDIT_WRITES));
}

static void the_next_node_is_audited(void **state)
{
    (void)state;
    run_case(give_up_on_closed_stack);
    run_case(put_them_back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_may_wait_beside_a_handler),
        cmocka_unit_test(a_node_may_wait_with_a_mask),
        cmocka_unit_test(a_call_may_fail_at_an_address),
        cmocka_unit_test(the_program_may_answer_calls),
        cmocka_unit_test(the_next_node_is_audited),
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
