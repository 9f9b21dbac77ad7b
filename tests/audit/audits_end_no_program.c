// SPDX-License-Identifier: Apache-2.0
// An audit on the CPU ends no program that blocks signals, sets handlers or forks beside it, and
// leaves no page closed when it fails.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit_testing.h"
#include "audit/node_thread.h"
#include "audit/refused_calls.h"
#include "support/failing_memory.h"

#if defined(__x86_64__) && !defined(UNDER_TSAN)

enum { DECLARED = 64, BESIDE = 100, DONE = 0, ENDED_BY_HANDLER = 9, NO_FILTER = 77, WRONG };

static pthread_t thread;
static volatile uint32_t *words; // the buffer has, the first of which are declared

static int open_site(void **state)
{
    open_audited(state);
    words = audited.words;
    return 0;
}

static int open_beside_thread(void **state)
{
    node_thread_open();
    return open_site(state);
}

static int close_beside_thread(void **state)
{
    node_thread_close();
    return close_audited(state);
}

static void add_call_with(braid_host_function *call, void *user)
{
    braid_resource part;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 0, DECLARED, &part));
    check_ok(
        braid_graph_add_host_call(audited.graph,
                                  &(braid_host_call){ BRAID_ACCESSES({ part, BRAID_READ_WRITE }),
                                                      .call = call, .user = user },
                                  NULL));
}

static void add_call(braid_host_function *call)
{
    add_call_with(call, NULL);
}

static const struct finding *audit_call(braid_host_function *call, braid_audit_kind kind)
{
    add_call(call);
    audit(audited.device, audited.graph, &audited.findings);
    for (size_t i = 0; i < audited.findings.num; i++)
        if (audited.findings.items[i].told.kind == kind)
            return &audited.findings.items[i];
    return NULL;
}

static void skip_without_calls(void)
{
    audit(audited.device, audited.graph, &audited.findings);
    if (audited.findings.lacks_calls)
        skip_because("system calls of nodes are not seen here");
}

static void *write_beside(void *user)
{
    words[BESIDE] = 1;
    return user;
}

static void *block_most_and_write(void *user)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    sigset_t most;
    sigfillset(&most);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&most, faults[i]);
    pthread_sigmask(SIG_SETMASK, &most, NULL);
    return write_beside(user);
}

static void let_thread_write(void *user)
{
    node_thread_run(block_most_and_write, user);
}

static void pass(int number)
{
    (void)number;
}

static void *block_calls_and_write(void *user)
{
    sigset_t calls;
    sigemptyset(&calls);
    sigaddset(&calls, SIGSYS);
    pthread_sigmask(SIG_BLOCK, &calls, NULL);
    pthread_kill(pthread_self(), SIGSYS);
    pthread_kill(pthread_self(), SIGFPE);
    return write_beside(user);
}

static void let_thread_keep_signal(void *user)
{
    node_thread_run(block_calls_and_write, user);
}

// Neither a step nor the program's handler of a fault lets it through.
static void a_signal_that_a_thread_blocks_stays_blocked(void **state)
{
    (void)state;
    signal(SIGFPE, pass);
    assert_non_null(audit_call(let_thread_keep_signal, BRAID_AUDIT_WRITES));
    signal(SIGFPE, SIG_DFL);
}

static void a_thread_may_block_traps(void **state)
{
    (void)state;
    const struct finding *writes = audit_call(let_thread_write, BRAID_AUDIT_WRITES);
    assert_non_null(writes);
    assert_int_equal(writes->told.begin, 4 * BESIDE);
}

static void write_in_handler(int number)
{
    (void)number;
    words[BESIDE] = 1;
}

static void *raise_on_thread(void *user)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
    return user;
}

static void let_thread_raise(void *user)
{
    node_thread_run(raise_on_thread, user);
}

// Behind the audit the handler blocks them again.
static void a_handler_may_block_faults(void **state)
{
    struct sigaction action = { .sa_handler = write_in_handler }, behind;
    (void)state;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    const struct finding *writes = audit_call(let_thread_raise, BRAID_AUDIT_WRITES);
    assert_non_null(writes);
    assert_int_equal(writes->told.begin, 4 * BESIDE);
    sigaction(SIGUSR1, NULL, &behind);
    assert_true(behind.sa_handler == write_in_handler);
    assert_true(sigismember(&behind.sa_mask, SIGSEGV) && sigismember(&behind.sa_mask, SIGTRAP));
    signal(SIGUSR1, SIG_DFL);
}

static void end(int number)
{
    (void)number;
    _exit(ENDED_BY_HANDLER);
}

static void set_handler_and_raise(void *user)
{
    struct sigaction *before = user, action = { .sa_handler = write_in_handler };
    sigset_t own;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, before);
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    raise(SIGUSR1);
}

static void raise_again(void *user)
{
    (void)user;
    raise(SIGUSR1);
}

static void find_own_mask(void *user)
{
    sigaction(SIGUSR1, NULL, user);
}

// The first node's pages are open, and the next ones' handlers let faults through. Neither shows in
// what the program is told.
static void a_node_may_set_a_handler_that_blocks_faults(void **state)
{
    struct sigaction before, between, action = { .sa_handler = end };
    const struct finding *writes = NULL;
    (void)state;
    skip_without_calls();
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    add_call_with(set_handler_and_raise, &before);
    add_call_with(raise_again, NULL);
    add_call_with(find_own_mask, &between);
    audit(audited.device, audited.graph, &audited.findings);
    for (size_t i = 0; i < audited.findings.num; i++)
        if (audited.findings.items[i].told.kind == BRAID_AUDIT_WRITES)
            writes = &audited.findings.items[i];
    assert_string_equal(audited.findings.items[0].text,
                        "node 0 'host call' is not audited: it sets, or asks for, a handler of a "
                        "signal");
    assert_true(sigismember(&before.sa_mask, SIGSEGV) && before.sa_handler == end);
    assert_true(sigismember(&between.sa_mask, SIGSEGV));
    assert_non_null(writes);
    sigaction(SIGUSR1, &before, &between);
    assert_true(sigismember(&between.sa_mask, SIGSEGV));
    signal(SIGUSR1, SIG_DFL);
}

static void suspend(void *user)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    raise(SIGUSR1);
    sigfillset(&own);
    sigdelset(&own, SIGUSR1);
    sigsuspend(&own);
    (void)user;
}

static void a_node_may_wait_for_a_signal_without_faults(void **state)
{
    (void)state;
    skip_without_calls();
    signal(SIGUSR1, write_in_handler);
    assert_non_null(audit_call(suspend, BRAID_AUDIT_UNSEEN));
    assert_int_equal(words[BESIDE], 1);
    signal(SIGUSR1, SIG_DFL);
}

static void set_handler_and_read(void *user)
{
    (void)user;
    signal(SIGSEGV, end);
    (void)words[0];
    signal(SIGSEGV, SIG_DFL);
    (void)words[1];
}

static void a_handler_that_a_node_sets_gets_no_fault_of_the_audit(void **state)
{
    (void)state;
    skip_without_calls();
    const struct finding *unseen = audit_call(set_handler_and_read, BRAID_AUDIT_UNSEEN);
    assert_non_null(unseen);
    assert_string_equal(unseen->text,
                        "node 0 'host call' is not audited: it sets, or asks for, a handler of a "
                        "signal");
}

// ---- in children ----

static int wait_for(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static sem_t has_begun, has_forked;
static pid_t child;

static void write_second(void *user)
{
    ((volatile uint32_t *)user)[1] = 1;
}

static int audit_in_child(void)
{
    static struct findings findings;
    braid_device *device;
    braid_graph *graph;
    braid_resource buffer;
    uint32_t *page = map_pages(1);
    words[BESIDE] = 1;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 1 }, &device));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "page", page, PAGE, &buffer));
    check_ok(braid_graph_add_host_call(
        graph, &(braid_host_call){ .call = write_second, .user = page }, NULL));
    audit(device, graph, &findings);
    words[BESIDE] = 2;
    return findings.num == 1 && findings.items[0].told.kind == BRAID_AUDIT_WRITES ? DONE : WRONG;
}

static void *fork_beside(void *user)
{
    sem_wait(&has_begun);
    child = fork();
    if (child == 0)
        _exit(audit_in_child());
    sem_post(&has_forked);
    return user;
}

static void wait_for_fork(void *user)
{
    (void)user;
    sem_post(&has_begun);
    sem_wait(&has_forked);
}

// Nobody ends the audit of its parent there.
static void a_child_of_another_thread_may_audit(void **state)
{
    (void)state;
#if defined(UNDER_ASAN)
    skip_because("a lock of the address sanitizer may be held for ever in the child");
#endif
    assert_int_equal(sem_init(&has_begun, 0, 0) | sem_init(&has_forked, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, fork_beside, NULL), 0);
    audit_call(wait_for_fork, BRAID_AUDIT_UNSEEN);
    pthread_join(thread, NULL);
    assert_int_equal(wait_for(child), DONE);
    sem_destroy(&has_begun);
    sem_destroy(&has_forked);
}

static void fork_in_node(void *user)
{
    (void)user;
    child = fork();
}

// The child ends the audit of its parent before its own.
static void a_child_of_a_node_may_audit(void **state)
{
    const pid_t parent = getpid();
    (void)state;
#if defined(UNDER_ASAN)
    skip_because("a lock of the address sanitizer may be held for ever in the child");
#endif
    audit_call(fork_in_node, BRAID_AUDIT_UNSEEN);
    if (getpid() != parent)
        _exit(audit_in_child());
    assert_int_equal(wait_for(child), DONE);
}

enum { MOST_FORKS = 100, MOST_SECONDS = 60 };

static atomic_bool ends;

static void *write_on(void *user)
{
    while (!atomic_load(&ends))
        write_beside(user);
    return user;
}

// The child's alarm ends it if it waits for ever.
static void fork_and_limit(void *user)
{
    sigset_t limit;
    fork_in_node(user);
    if (child)
        return;
    sigemptyset(&limit);
    sigaddset(&limit, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &limit, NULL);
    alarm(MOST_SECONDS);
}

static int fork_beside_faults(void)
{
    size_t num;
    int status = 0;
    const pid_t parent = getpid();
    if (!refuse_to_hand_calls_over())
        return NO_FILTER;
    open_site(NULL);
    add_call(fork_and_limit);
    pthread_create(&thread, NULL, write_on, NULL);
    for (int i = 0; i < MOST_FORKS && !status; i++) {
        check_ok(braid_graph_audit(audited.graph, audited.device, NULL, &num));
        if (getpid() != parent)
            _exit(DONE);
        if (waitpid(child, &status, 0) != child)
            status = WRONG;
    }
    atomic_store(&ends, true);
    pthread_join(thread, NULL);
    return status ? WRONG : DONE;
}

// A filter lets no pages open for the fork. So the audit may have an owner that the child lacks.
static void a_child_of_a_node_waits_for_no_thread_of_its_parent(void **state)
{
    (void)state;
#if defined(UNDER_ASAN)
    skip_because("a lock of the address sanitizer may be held for ever in the child");
#endif
    child = fork();
    if (child == 0)
        _exit(fork_beside_faults());
    const int result = wait_for(child);
    if (result == NO_FILTER)
        skip_because("the system takes no filter of calls");
    assert_int_equal(result, DONE);
}

static void do_nothing(void *user)
{
    (void)user;
}

static int fail_each_allocation(void)
{
    if (!refuse_to_hand_calls_over())
        return NO_FILTER;
    open_site(NULL);
    add_call(do_nothing);
    for (uint64_t nth = 1;; nth++) {
        size_t num = 0;
        failing_memory_arm_once(nth);
        const braid_status status = braid_graph_audit(audited.graph, audited.device, NULL, &num);
        const bool has_failed = failing_memory_disarm();
        words[BESIDE] = 1;
        if (!has_failed)
            return status == BRAID_OK && num == 2 ? DONE : WRONG; // the call writes nothing
    }
}

// A finding tells there that no calls are seen, for which memory may have run out.
static void an_audit_without_memory_leaves_pages_open(void **state)
{
    (void)state;
    child = fork();
    if (child == 0)
        _exit(fail_each_allocation());
    const int result = wait_for(child);
    if (result == NO_FILTER)
        skip_because("the system takes no filter of calls");
    assert_int_equal(result, DONE);
}

#define SITE_TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_audited)
#define THREAD_TEST(name)                                                                          \
    cmocka_unit_test_setup_teardown(name, open_beside_thread, close_beside_thread)

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREAD_TEST(a_thread_may_block_traps),
        THREAD_TEST(a_signal_that_a_thread_blocks_stays_blocked),
        THREAD_TEST(a_handler_may_block_faults),
        SITE_TEST(a_node_may_set_a_handler_that_blocks_faults),
        SITE_TEST(a_node_may_wait_for_a_signal_without_faults),
        SITE_TEST(a_handler_that_a_node_sets_gets_no_fault_of_the_audit),
        SITE_TEST(a_child_of_another_thread_may_audit),
        SITE_TEST(a_child_of_a_node_may_audit),
        SITE_TEST(a_child_of_a_node_waits_for_no_thread_of_its_parent),
        cmocka_unit_test(an_audit_without_memory_leaves_pages_open), // whose process has no threads
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
