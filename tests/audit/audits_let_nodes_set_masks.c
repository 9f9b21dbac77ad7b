// SPDX-License-Identifier: Apache-2.0
// Nodes may block signals and set handlers that do. An audit ends no program for that, and the
// program keeps its own masks.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit_testing.h"

#if defined(__x86_64__) && !defined(UNDER_TSAN)

enum { DECLARED = 64, BESIDE = 100 };

static volatile uint32_t *words; // the buffer has

// Learns whether calls of nodes are seen.
static int open_site(void **state)
{
    open_audited(state);
    words = audited.words;
    audit(audited.device, audited.graph, &audited.findings);
    return 0;
}

static int close_site(void **state)
{
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
    return close_audited(state);
}

static void skip_without_calls(void)
{
    if (audited.findings.lacks_calls)
        skip_because("system calls of nodes are not seen here");
}

static void add_call(braid_host_function *call, void *user)
{
    braid_resource part;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 0, DECLARED, &part));
    check_ok(
        braid_graph_add_host_call(audited.graph,
                                  &(braid_host_call){ BRAID_ACCESSES({ part, BRAID_READ_WRITE }),
                                                      .call = call, .user = user },
                                  NULL));
}

static const struct finding *find_kind(braid_audit_kind kind)
{
    for (size_t i = 0; i < audited.findings.num; i++)
        if (audited.findings.items[i].told.kind == kind)
            return &audited.findings.items[i];
    return NULL;
}

static const struct finding *audit_for(braid_audit_kind kind)
{
    audit(audited.device, audited.graph, &audited.findings);
    return find_kind(kind);
}

static void write_beside(int number)
{
    (void)number;
    words[BESIDE] = 1;
}

static void pass(int number)
{
    (void)number;
}

static void set_full(int number, void (*handler)(int), struct sigaction *before)
{
    struct sigaction action = { .sa_handler = handler };
    sigfillset(&action.sa_mask);
    sigaction(number, &action, before);
}

static void change_signal(int how)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    pthread_sigmask(how, &own, NULL);
}

// ---- masks that nodes set ----

static void block_all(void *user)
{
    sigset_t all;
    (void)user;
    set_full(SIGUSR1, pass, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static void call_and_write(void *user)
{
    (void)user;
    change_signal(SIG_BLOCK);
    words[0] = 1;
    words[BESIDE] = 1;
}

// The first one's later calls are not seen, so its mask stays.
static void a_node_may_leave_all_signals_blocked(void **state)
{
    (void)state;
    skip_without_calls();
    add_call(block_all, NULL);
    add_call(call_and_write, NULL);
    assert_non_null(audit_for(BRAID_AUDIT_WRITES));
}

static struct sigaction befores[2];

static void set_two(void *user)
{
    (void)user;
    set_full(SIGUSR1, pass, &befores[0]);
    set_full(SIGUSR2, pass, &befores[1]);
}

static void set_two_back(void *user)
{
    (void)user;
    sigaction(SIGUSR1, &befores[0], NULL);
    sigaction(SIGUSR2, &befores[1], NULL);
}

static void each_handler_that_a_node_replaces_keeps_its_mask(void **state)
{
    struct sigaction first, second;
    (void)state;
    skip_without_calls();
    set_full(SIGUSR1, write_beside, NULL);
    set_full(SIGUSR2, write_beside, NULL);
    add_call(set_two, NULL);
    add_call(set_two_back, NULL);
    assert_non_null(audit_for(BRAID_AUDIT_UNSEEN));
    sigaction(SIGUSR1, NULL, &first);
    sigaction(SIGUSR2, NULL, &second);
    assert_true(first.sa_handler == write_beside && second.sa_handler == write_beside);
    assert_true(sigismember(&first.sa_mask, SIGSEGV) && sigismember(&second.sa_mask, SIGSEGV));
}

static void let_faults_through(void *user)
{
    struct sigaction action = { .sa_handler = pass };
    (void)user;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
}

static void a_handler_that_blocks_less_since_a_node_stays_so(void **state)
{
    struct sigaction action = { .sa_handler = pass };
    (void)state;
    skip_without_calls();
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGSEGV);
    sigaction(SIGUSR1, &action, NULL);
    add_call(let_faults_through, NULL);
    audit(audited.device, audited.graph, &audited.findings);
    sigaction(SIGUSR1, NULL, &action);
    assert_false(sigismember(&action.sa_mask, SIGSEGV));
}

// ---- masks in the page of a buffer, of calls that let a handler run ----

enum { HALF = PAGE / 2, LAST = HALF / 4 - 1 };

static void write_half(int number)
{
    (void)number;
    ((volatile uint32_t *)audited.outside)[LAST] = 1;
}

static void suspend(void *mask)
{
    change_signal(SIG_BLOCK);
    raise(SIGUSR1);
    sigsuspend(mask);
}

static void unblock(void *before)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    change_signal(SIG_BLOCK);
    raise(SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &own, before);
}

static void set_mask(void *mask)
{
    change_signal(SIG_BLOCK);
    raise(SIGUSR1);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static void block(void *before)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &own, before);
}

static void audit_beside_half(braid_host_function *call)
{
    sigset_t *mask = (sigset_t *)((unsigned char *)audited.outside + HALF);
    braid_resource half;
    skip_without_calls();
    signal(SIGUSR1, write_half);
    sigemptyset(mask);
    check_ok(braid_graph_add_buffer(audited.graph, "half", audited.outside, HALF, &half));
    add_call(call, mask);
    audit(audited.device, audited.graph, &audited.findings);
}

static void expect_write_of_handler(void)
{
    const struct finding *writes = find_kind(BRAID_AUDIT_WRITES);
    assert_int_equal(audited.outside[LAST], 1);
    assert_null(find_kind(BRAID_AUDIT_UNSEEN));
    assert_non_null(writes);
    assert_int_equal(writes->told.begin, 4 * LAST);
}

static void a_handler_may_run_while_a_node_waits_for_it(void **state)
{
    (void)state;
    audit_beside_half(suspend);
    assert_int_equal(audited.outside[LAST], 1);
    assert_non_null(find_kind(BRAID_AUDIT_UNSEEN));
    assert_string_equal(find_kind(BRAID_AUDIT_UNSEEN)->text,
                        "node 0 'host call' is not audited: a handler may run while it waits in a "
                        "system call");
}

static void a_handler_may_run_once_a_node_unblocks_it(void **state)
{
    (void)state;
    audit_beside_half(unblock);
    expect_write_of_handler();
}

static void a_handler_may_run_once_a_node_sets_a_mask(void **state)
{
    (void)state;
    audit_beside_half(set_mask);
    expect_write_of_handler();
}

static void no_handler_runs_when_a_node_blocks_it(void **state)
{
    (void)state;
    audit_beside_half(block);
    assert_null(find_kind(BRAID_AUDIT_WRITES));
    assert_null(find_kind(BRAID_AUDIT_UNSEEN));
}

static void wait_for_nothing(void *skips)
{
    struct timespec pause = { .tv_nsec = 1 };
    unsigned long context = 0, event[4];
    sigset_t all;
    const struct {
        const sigset_t *mask;
        size_t bytes;
    } mask = { &all, sizeof(uint64_t) };
    sigfillset(&all);
    sigdelset(&all, SIGUSR1);
    change_signal(SIG_BLOCK);
    raise(SIGUSR1);
    *(bool *)skips =
        syscall(SYS_io_setup, 1, &context) ||
        (syscall(SYS_io_pgetevents, context, 1, 1, event, &pause, &mask) < 0 && errno == ENOSYS);
    syscall(SYS_io_destroy, context);
}

static void a_node_may_wait_for_events_without_faults(void **state)
{
    bool skips = false;
    (void)state;
    skip_without_calls();
    signal(SIGUSR1, write_beside);
    add_call(wait_for_nothing, &skips);
    const struct finding *unseen = audit_for(BRAID_AUDIT_UNSEEN);
    if (skips)
        skip_because("the system has no queues of events");
    assert_non_null(unseen);
    assert_int_equal(words[BESIDE], 1);
}

// ---- signals between nodes ----

static atomic_bool is_armed;

static void *allocate_and_raise(size_t bytes, size_t alignment, void *user)
{
    (void)user;
    if (atomic_exchange(&is_armed, false))
        raise(SIGUSR1);
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void *reallocate(void *memory, size_t old_bytes, size_t bytes, size_t alignment, void *user)
{
    void *other = allocate_and_raise(bytes, alignment, user);
    if (!other)
        return NULL;
    if (memory)
        memcpy(other, memory, old_bytes < bytes ? old_bytes : bytes);
    free(memory);
    return other;
}

static void give_back(void *memory, size_t bytes, size_t alignment, void *user)
{
    (void)bytes, (void)alignment, (void)user;
    free(memory);
}

static void write_and_set(void *user)
{
    (void)user;
    words[0] = 1;
    set_full(SIGUSR1, write_beside, NULL);
    change_signal(SIG_UNBLOCK);
    atomic_store(&is_armed, true);
}

// Braid allocates memory before the second node begins.
static void a_handler_that_blocks_faults_may_run_between_nodes(void **state)
{
    const braid_allocator allocator = { .allocate = allocate_and_raise,
                                        .reallocate = reallocate,
                                        .free = give_back };
    braid_device *device;
    (void)state;
    skip_without_calls();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu", .allocator = &allocator },
                               &device));
    for (int i = 0; i < 2; i++)
        check_ok(braid_graph_add_host_call(
            audited.graph,
            &(braid_host_call){ BRAID_ACCESSES({ audited.buffer, BRAID_READ_WRITE }),
                                .call = write_and_set },
            NULL));
    audit(device, audited.graph, &audited.findings);
    assert_int_equal(words[BESIDE], 1);
    atomic_store(&is_armed, false);
    check_ok(braid_device_close(device));
}

// ---- actions that another thread sets while an audit changes their masks ----

enum { DONE = 0, LOST, NOT_TRACED };

static struct meanwhile {
    atomic_bool begins, ends;
} * meanwhile; // shared by the child and its tracer

static void *set_flags(void *user)
{
    struct sigaction action = { .sa_handler = pass, .sa_flags = SA_RESTART };
    sigfillset(&action.sa_mask);
    while (!atomic_load(&meanwhile->begins))
        sched_yield();
    sigaction(SIGUSR1, &action, NULL);
    atomic_store(&meanwhile->ends, true);
    return user;
}

static int audit_beside_setter(void)
{
    pthread_t thread;
    struct sigaction last;
    open_site(NULL);
    set_full(SIGUSR1, pass, NULL);
    add_call(call_and_write, NULL);
    pthread_create(&thread, NULL, set_flags, NULL);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        return NOT_TRACED;
    raise(SIGSTOP);
    audit(audited.device, audited.graph, &audited.findings);
    pthread_join(thread, NULL);
    sigaction(SIGUSR1, NULL, &last);
    return last.sa_flags & SA_RESTART ? DONE : LOST;
}

// Whether the audit's thread has just found the action of SIGUSR1.
static bool has_found(pid_t child)
{
    struct user_regs_struct registers;
    return !ptrace(PTRACE_GETREGS, child, NULL, &registers) && !registers.rax &&
           registers.orig_rax == SYS_rt_sigaction && registers.rdi == SIGUSR1 && !registers.rsi;
}

// Returns how the child has ended. The other thread sets the action before that is changed.
static int trace(pid_t child)
{
    enum { OF_CALL = 0x80 };
    int status = 0, number = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        number = WSTOPSIG(status) & OF_CALL || WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
        if (!number && has_found(child)) {
            atomic_store(&meanwhile->begins, true);
            while (!atomic_load(&meanwhile->ends))
                sched_yield();
        }
        ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD);
        ptrace(PTRACE_SYSCALL, child, NULL, (void *)(intptr_t)number);
    }
    return status;
}

static void another_thread_keeps_the_flags_that_it_sets(void **state)
{
    (void)state;
#if defined(UNDER_ASAN)
    skip_because("a lock of the address sanitizer may be held for ever in the child");
#endif
    meanwhile = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(meanwhile != MAP_FAILED);
    const pid_t child = fork();
    if (child == 0)
        _exit(audit_beside_setter());
    const int status = trace(child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_TRACED)
        skip_because("the system lets no process trace another");
    assert_int_equal(WEXITSTATUS(status), DONE);
    munmap(meanwhile, PAGE);
}

#define SITE_TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SITE_TEST(a_node_may_leave_all_signals_blocked),
        SITE_TEST(each_handler_that_a_node_replaces_keeps_its_mask),
        SITE_TEST(a_handler_that_blocks_less_since_a_node_stays_so),
        SITE_TEST(a_handler_may_run_while_a_node_waits_for_it),
        SITE_TEST(a_handler_may_run_once_a_node_unblocks_it),
        SITE_TEST(a_handler_may_run_once_a_node_sets_a_mask),
        SITE_TEST(no_handler_runs_when_a_node_blocks_it),
        SITE_TEST(a_node_may_wait_for_events_without_faults),
        SITE_TEST(a_handler_that_blocks_faults_may_run_between_nodes),
        SITE_TEST(another_thread_keeps_the_flags_that_it_sets),
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
