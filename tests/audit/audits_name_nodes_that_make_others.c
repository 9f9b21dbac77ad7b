// SPDX-License-Identifier: Apache-2.0
// On the CPU an audit names nodes that make threads or processes, or begin a program. These work as
// without it, and the next node is audited.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit_testing.h"

#if defined(__x86_64__) && !defined(UNDER_TSAN)

enum { BYTES = 64 };

static braid_resource part;
static bool lacks_calls;

static int open_site(void **state)
{
    open_audited(state);
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 0, BYTES, &part));
    audit(audited.device, audited.graph, &audited.findings);
    lacks_calls = audited.findings.lacks_calls;
    return 0;
}

static void skip_without_calls(void)
{
    if (lacks_calls)
        skip_because("system calls of nodes are not seen here");
}

// A node that declares the first bytes.
static void add_call(braid_host_function *call, braid_access_mode mode)
{
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ BRAID_ACCESSES({ part, mode }), .call = call, .user = audited.words },
        NULL));
}

static void write_behind(void *words)
{
    ((volatile uint32_t *)words)[BYTES] = 1;
}

static void *make_calls(void *user)
{
    const struct timespec pause = { .tv_nsec = 1000 };
    assert_int_equal(clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL), 0);
    assert_true(getpid() > 0);
    free(malloc(1 << 20));
    return user;
}

static void make_threads(void *words)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(pthread_create(&thread, NULL, make_calls, NULL), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    *(volatile uint32_t *)words = 9;
}

static void make_processes(void *words)
{
    int status = 1;
    pid_t child = fork();
    if (!child)
        _exit(make_calls(NULL) != NULL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(system("exit 3") >> 8, 3);
    *(volatile uint32_t *)words = 9;
}

static void begin_no_program(void *words)
{
    char *none[] = { NULL };
    assert_int_equal(execve("/none", none, none), -1);
    *(volatile uint32_t *)words = 9;
}

// Each node is given up, and the next one's pages are closed again.
static void nodes_that_make_others_are_named(void **state)
{
    skip_without_calls();
    static braid_host_function *const calls[] = { make_threads, make_processes, begin_no_program };
    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        add_call(calls[i], BRAID_READ);
    add_call(write_behind, BRAID_EXCLUSIVE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const braid_audit_finding *found = &audited.findings.items[i].told;
        assert_int_equal(found->node.index, i);
        assert_int_equal(found->kind, i < 3 ? BRAID_AUDIT_UNSEEN : BRAID_AUDIT_WRITES);
    }
    assert_int_equal(audited.words[0], 9);
}

// A thread that a node makes, and another one ends.
static pthread_t made;
static sem_t begins, goes_on;

static void *work_on(void *words)
{
    sem_post(&begins);
    sem_wait(&goes_on);
    return words;
}

static void make_thread(void *words)
{
    assert_int_equal(pthread_create(&made, NULL, work_on, words), 0);
    sem_wait(&begins);
}

static void end_thread(void *words)
{
    (void)words;
    sem_post(&goes_on);
    pthread_join(made, NULL);
}

// At the end of the audit the thread has gone.
static void threads_of_nodes_are_told_of(void **state)
{
    (void)state;
    skip_without_calls();
    assert_int_equal(sem_init(&begins, 0, 0) | sem_init(&goes_on, 0, 0), 0);
    add_call(make_thread, BRAID_EXCLUSIVE);
    add_call(end_thread, BRAID_EXCLUSIVE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 1);
    assert_int_equal(audited.findings.items[0].told.kind, BRAID_AUDIT_UNSEEN);
    assert_true(audited.findings.others_run);
    sem_destroy(&begins);
    sem_destroy(&goes_on);
}

static void make_child_by_list(void *words)
{
    uint64_t *list = words;
    enum { NUM_LISTED = 8, ENDS_BY = 4 };
    for (int i = 0; i < NUM_LISTED; i++)
        list[i] = i == ENDS_BY ? SIGCHLD : 0;
    pid_t child = (pid_t)syscall(SYS_clone3, list, NUM_LISTED * sizeof(*list));
    if (!child)
        _exit(3);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 3);
}

static void a_node_that_makes_a_child_by_a_buffer_is_named(void **state)
{
    (void)state;
    skip_without_calls();
    add_call(make_child_by_list, BRAID_EXCLUSIVE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 1);
    assert_string_equal(audited.findings.items[0].text,
                        "node 0 'host call' is not audited: it makes a thread or a process");
}

static void make_child_without_list(void *words)
{
    errno = 0;
    assert_int_equal(syscall(SYS_clone3, NULL, 0), -1);
    *(volatile int *)words = errno;
}

static void a_node_may_fail_to_make_a_child(void **state)
{
    (void)state;
    add_call(make_child_without_list, BRAID_EXCLUSIVE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(*(const int *)(const void *)audited.words, EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_audited)
    const struct CMUnitTest tests[] = {
        TEST(nodes_that_make_others_are_named),
        TEST(threads_of_nodes_are_told_of),
        TEST(a_node_that_makes_a_child_by_a_buffer_is_named),
        TEST(a_node_may_fail_to_make_a_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    skip_program("audits need x86-64, and the thread sanitizer makes calls of its own in handlers");
}

#endif
