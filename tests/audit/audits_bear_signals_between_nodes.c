// SPDX-License-Identifier: Apache-2.0
// An audit ends no program for signals that come, or are kept, from one node to the next.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit_testing.h"
#include "audit/refused_calls.h"

#if defined(__x86_64__) && !defined(UNDER_TSAN)

enum { DECLARED = 64, BESIDE = 100 };

static volatile uint32_t *words; // the buffer has

static int open_site(void **state)
{
    open_audited(state);
    words = audited.words;
    return 0;
}

static void add_call(braid_host_function *call)
{
    braid_resource part;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 0, DECLARED, &part));
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ BRAID_ACCESSES({ part, BRAID_READ_WRITE }), .call = call }, NULL));
}

static void set_full(int number, void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler };
    sigfillset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

// ---- a handler of another thread, from one node to the next ----

static pthread_t thread;
static atomic_bool handles, has_handled, ends;

static void pass(int number)
{
    (void)number;
}

// Writes once the page is closed, or else at the end of some looks.
static void look_and_write(int number)
{
    enum { MOST_LOOKS = 50000 };
    (void)number;
    atomic_store(&handles, true);
    for (int i = 0; i < MOST_LOOKS; i++)
        if (access((const char *)audited.words, F_OK) && errno == EFAULT)
            break;
    words[BESIDE] = 2;
    atomic_store(&has_handled, true);
}

static void *wait_for_end(void *user)
{
    while (!atomic_load(&ends))
        sched_yield();
    return user;
}

static void set_and_send(void *user)
{
    (void)user;
    set_full(SIGUSR2, pass);
    pthread_kill(thread, SIGUSR1);
    while (!atomic_load(&handles))
        ;
}

static void write_and_wait(void *user)
{
    (void)user;
    words[0] = 1;
    words[BESIDE] = 1;
    while (!atomic_load(&has_handled))
        ;
}

// Behind the first node's call, handlers have their own masks. The next node closes the page.
static void a_handler_may_run_on_from_one_node_to_the_next(void **state)
{
    (void)state;
    audit(audited.device, audited.graph, &audited.findings);
    if (audited.findings.lacks_calls)
        skip_because("system calls of nodes are not seen here");
    set_full(SIGUSR1, look_and_write);
    add_call(set_and_send);
    add_call(write_and_wait);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_end, NULL), 0);
    audit(audited.device, audited.graph, &audited.findings);
    atomic_store(&ends, true);
    pthread_join(thread, NULL);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
    assert_int_equal(audited.findings.num, 2);
    assert_int_equal(audited.findings.items[0].told.kind, BRAID_AUDIT_UNSEEN);
    assert_int_equal(audited.findings.items[1].told.kind, BRAID_AUDIT_WRITES);
}

// ---- a signal that waits from one node to the next ----

enum { DONE = 0, NO_FILTER = 77, WRONG };

static int kept, taken; // its number

static void keep_own(sigset_t *out_own)
{
    sigemptyset(out_own);
    sigaddset(out_own, kept);
    pthread_sigmask(SIG_BLOCK, out_own, NULL);
}

static void send_to_itself(void *user)
{
    sigset_t own;
    (void)user;
    keep_own(&own);
    pthread_kill(pthread_self(), kept);
}

static void take_kept(void *user)
{
    sigset_t own;
    (void)user;
    keep_own(&own);
    sigwait(&own, &taken);
}

static int audit_kept(void)
{
    if (!refuse_to_hand_calls_over())
        return NO_FILTER;
    signal(kept, SIG_DFL); // else that of the tests' library
    open_site(NULL);
    add_call(send_to_itself);
    add_call(take_kept);
    audit(audited.device, audited.graph, &audited.findings);
    return taken == kept ? DONE : WRONG;
}

// A node can only keep one where its calls are not handed over.
static void a_node_may_keep_a_fault_that_is_sent(void **state)
{
    static const int faults[] = { SIGSEGV, SIGTRAP, SIGSYS };
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        int status = 0;
        kept = faults[i];
        const pid_t child = fork();
        if (child == 0)
            _exit(audit_kept());
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == NO_FILTER)
            skip_because("the system takes no filter of calls");
        assert_int_equal(WEXITSTATUS(status), DONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_may_keep_a_fault_that_is_sent),
        cmocka_unit_test_setup_teardown(a_handler_may_run_on_from_one_node_to_the_next, open_site,
                                        close_audited),
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
