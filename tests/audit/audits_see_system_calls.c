// SPDX-License-Identifier: Apache-2.0
// On the CPU an audit sees the memory that system calls of a node use, and these calls do not fail.
// A finding names nodes with a call of which not all is known, and tells of other threads that run.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit_testing.h"
#include "base/inside.h"
#include "base/own_threads.h"

enum { HAND_OVER = 59, BYTES = 64 };

static int ends[2]; // a pipe's
static braid_resource part;

static int open_site(void **state)
{
    char letter = 0;
    if (prctl(HAND_OVER, 1, 0, 0, &letter))
        skip_program("the system hands no calls over");
    prctl(HAND_OVER, 0, 0, 0, 0);
    int opened = open_audited(state);
    assert_int_equal(pipe(ends), 0);
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 0, BYTES, &part));
    return opened;
}

static int close_site(void **state)
{
    close(ends[0]), close(ends[1]);
    return close_audited(state);
}

// A node that declares the first bytes.
static void add_call(braid_host_function *call, braid_access_mode mode)
{
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ BRAID_ACCESSES({ part, mode }), .call = call, .user = audited.words },
        NULL));
}

static void check_finding(braid_audit_kind kind, const char *text)
{
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 1);
    assert_int_equal(audited.findings.items[0].told.kind, kind);
    assert_string_equal(audited.findings.items[0].text, text);
}

static void check_nothing(void)
{
    audit(audited.device, audited.graph, &audited.findings);
    if (audited.findings.num)
        print_message("%s\n", audited.findings.items[0].text);
    assert_int_equal(audited.findings.num, 0);
}

static void read_pipe(void *words)
{
    const char text[BYTES] = "text";
    assert_int_equal(write(ends[1], text, sizeof(text)), BYTES);
    assert_int_equal(read(ends[0], words, PAGE / 2), BYTES);
}

static void a_declared_read_from_a_pipe_is_a_write(void **state)
{
    (void)state;
    add_call(read_pipe, BRAID_WRITE);
    check_nothing();
    assert_string_equal((const char *)audited.words, "text");
}

static void read_pipe_and_look(void *words)
{
    read_pipe(words);
    assert_int_equal(*(volatile char *)words, 't');
}

static void what_a_call_has_written_may_be_read(void **state)
{
    (void)state;
    add_call(read_pipe_and_look, BRAID_WRITE);
    check_nothing();
}

static void a_read_from_a_pipe_writes_what_is_undeclared(void **state)
{
    (void)state;
    add_call(read_pipe, BRAID_READ);
    check_finding(BRAID_AUDIT_WRITES,
                  "node 0 'host call' writes bytes from 0 to 63 of 'words', which "
                  "it does not declare");
    assert_string_equal((const char *)audited.words, "text");
}

static void write_more(void *words)
{
    char got[2 * BYTES];
    assert_int_equal(write(ends[1], words, sizeof(got)), sizeof(got));
    assert_int_equal(read(ends[0], got, sizeof(got)), sizeof(got));
}

static void a_write_reads_what_is_undeclared(void **state)
{
    (void)state;
    add_call(write_more, BRAID_READ);
    check_finding(BRAID_AUDIT_READS,
                  "node 0 'host call' reads bytes from 64 to 127 of 'words', which "
                  "it does not declare");
}

static void call_without_table(void *words)
{
    assert_non_null(getcwd(words, BYTES));
}

static void gather(void *words)
{
    struct iovec list = { words, BYTES };
    assert_int_equal(writev(ends[1], &list, 1), BYTES);
    assert_int_equal(readv(ends[0], &list, 1), BYTES);
}

// The call fails at the closed page, to which none of its arguments leads.
static void copy_by_lists(void *words)
{
    uint32_t value = 5;
    const struct iovec to = { words, sizeof(value) }, from = { &value, sizeof(value) };
    assert_int_equal(process_vm_readv(getpid(), &to, 1, &from, 1, 0), sizeof(value));
    assert_int_equal(*(volatile uint32_t *)words, value);
}

static void calls_of_which_not_all_is_known_are_named(void **state)
{
    static braid_host_function *const calls[] = { call_without_table, gather, copy_by_lists };
    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        braid_graph_destroy(audited.graph);
        check_ok(braid_graph_create(&audited.graph));
        check_ok(
            braid_graph_add_buffer(audited.graph, "words", audited.words, PAGE, &audited.buffer));
        check_ok(braid_graph_add_range(audited.graph, audited.buffer, 0, BYTES, &part));
        add_call(calls[i], BRAID_READ_WRITE);
        check_finding(
            BRAID_AUDIT_UNSEEN,
            "node 0 'host call' is not audited: a system call uses memory of its buffers in a way "
            "that is not known");
    }
}

static void open_itself(void *words)
{
    assert_int_equal(mprotect(words, PAGE, PROT_READ | PROT_WRITE), 0);
    ((volatile uint32_t *)words)[BYTES] = 1;
}

static void write_behind(void *words)
{
    ((volatile uint32_t *)words)[BYTES] = 1;
}

// The next node finds the page closed.
static void a_node_that_opens_pages_itself_is_named(void **state)
{
    (void)state;
    add_call(open_itself, BRAID_EXCLUSIVE);
    add_call(write_behind, BRAID_EXCLUSIVE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 2);
    assert_int_equal(audited.findings.items[0].told.kind, BRAID_AUDIT_UNSEEN);
    assert_string_equal(
        audited.findings.items[0].text,
        "node 0 'host call' is not audited: it changes the rights of pages of its buffers, or "
        "maps others");
    assert_int_equal(audited.findings.items[1].told.kind, BRAID_AUDIT_WRITES);
    assert_int_equal(audited.findings.items[1].told.node.index, 1);
}

static void close_itself(void *words)
{
    assert_int_equal(mprotect(words, PAGE, PROT_READ), 0);
}

static void read_behind(void *words)
{
    (void)*(volatile uint32_t *)words;
}

// The system then refuses to write it. No access there is seen.
static void a_node_may_close_pages_for_good(void **state)
{
    (void)state;
    add_call(close_itself, BRAID_EXCLUSIVE);
    add_call(read_behind, BRAID_READ);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(write(ends[1], "x", 1), 1);
    errno = 0;
    assert_int_equal(read(ends[0], audited.words, 1), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(mprotect(audited.words, PAGE, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(audited.findings.num, 2);
    for (size_t i = 0; i < audited.findings.num; i++)
        assert_int_equal(audited.findings.items[i].told.kind, BRAID_AUDIT_UNSEEN);
}

static void *make_calls(void *user)
{
    const struct timespec pause = { .tv_nsec = 1000 };
    assert_int_equal(clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL), 0);
    assert_true(getpid() > 0);
    free(malloc(1 << 20));
    return user;
}

static void make_many_calls(void *words)
{
    sigset_t some, before;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &some, &before), 0);
    for (int i = 0; i < 20; i++)
        make_calls(NULL);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, &some), 0);
    assert_true(sigismember(&some, SIGUSR1) && !sigismember(&before, SIGUSR1));
    *(volatile uint32_t *)words = 9;
}

static void calls_beside_buffers_hide_nothing(void **state)
{
    (void)state;
    add_call(make_many_calls, BRAID_EXCLUSIVE);
    add_call(make_many_calls, BRAID_READ);
    check_finding(BRAID_AUDIT_WRITES,
                  "node 1 'host call' writes byte 0 of 'words', which it does not declare");
}

static void ignore_traps(void *words)
{
    struct sigaction before, ignores = { .sa_handler = SIG_IGN };
    assert_int_equal(sigaction(SIGTRAP, &ignores, &before), 0);
    *(volatile uint32_t *)words = 9;
    assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
}

static void a_node_that_ignores_traps_is_named(void **state)
{
    (void)state;
    add_call(ignore_traps, BRAID_READ);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 1);
    assert_int_equal(audited.findings.items[0].told.kind, BRAID_AUDIT_UNSEEN);
    assert_int_equal(*(uint32_t *)audited.words, 9);
}

// A thread that gets work from a node. It calls the system at the buffer's closed page.
static struct {
    sem_t begins, ends;
    pid_t thread;
    bool is_inside; // a call of the program, on a thread of Braid's
    int error;
} helper;

static void *help(void *words)
{
    struct inside inside;
    helper.thread = gettid();
    sem_post(&helper.ends);
    sem_wait(&helper.begins);
    if (helper.is_inside)
        braid_inside_begin(&inside, "a call", NULL);
    helper.error = getcwd(words, BYTES) ? 0 : errno;
    if (helper.is_inside)
        braid_inside_end(&inside);
    sem_post(&helper.ends);
    sem_wait(&helper.begins);
    return NULL;
}

static void open_helper(void)
{
    helper.is_inside = false;
    assert_int_equal(sem_init(&helper.begins, 0, 0) | sem_init(&helper.ends, 0, 0), 0);
}

static void close_helper(void)
{
    assert_int_equal(helper.error, EFAULT);
    sem_destroy(&helper.begins);
    sem_destroy(&helper.ends);
}

static bool helper_sleeps(void)
{
    char path[64], line[256], state = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/status", helper.thread);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (!state && fgets(line, sizeof(line), file))
        sscanf(line, "State: %c", &state);
    fclose(file);
    return state == 'S';
}

// The system notes the sleep shortly before it counts it.
static void await_helper(void)
{
    sem_wait(&helper.ends);
    for (int num_seen = 0; num_seen < 3; num_seen = helper_sleeps() ? num_seen + 1 : 0)
        usleep(1000);
}

static void ask_helper(void *words)
{
    (void)words;
    sem_post(&helper.begins);
    sem_wait(&helper.ends);
}

static void do_nothing(void *words)
{
    (void)words;
}

static void check_others(bool run)
{
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 0);
    assert_int_equal(audited.findings.others_run, run);
}

// The first audit's node leaves the thread asleep. So a finding tells of the second only.
static void threads_that_run_are_told_of(void **state)
{
    (void)state;
    pthread_t thread;
    open_helper();
    assert_int_equal(pthread_create(&thread, NULL, help, audited.words), 0);
    await_helper();
    add_call(do_nothing, BRAID_EXCLUSIVE);
    check_others(false);
    add_call(ask_helper, BRAID_EXCLUSIVE);
    check_others(true);
    sem_post(&helper.begins);
    pthread_join(thread, NULL);
    close_helper();
}

// The process can open the number of files that it has open now, and `more`.
static struct rlimit limit_files(rlim_t more)
{
    struct rlimit before, limit;
    int next = dup(ends[0]);
    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)next + more;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return before;
}

// The audit can read the list of threads then, but no thread's own file.
static void threads_are_told_of_if_the_system_does_not_tell(void **state)
{
    (void)state;
    pthread_t thread;
    open_helper();
    assert_int_equal(pthread_create(&thread, NULL, help, audited.words), 0);
    await_helper();
    add_call(ask_helper, BRAID_EXCLUSIVE);
    const struct rlimit before = limit_files(1);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    sem_post(&helper.begins);
    pthread_join(thread, NULL);
    close_helper();
    assert_true(audited.findings.others_run);
}

// The finding tells of code of the program. Braid's own code may run meanwhile.
static void threads_of_braid_are_told_of_inside_calls(void **state)
{
    (void)state;
    add_call(ask_helper, BRAID_EXCLUSIVE);
    for (int inside = 0; inside < 2; inside++) {
        static struct own_thread threads[2];
        open_helper();
        helper.is_inside = inside;
        assert_int_equal(braid_own_thread_start(&threads[inside], "test", help, audited.words), 0);
        sem_wait(&helper.ends);
        check_others(inside);
        sem_post(&helper.begins);
        braid_own_thread_join(&threads[inside]);
        close_helper();
    }
}

static void wait_for_node(void *words)
{
    (void)words;
    sem_wait(&helper.begins);
    sem_post(&helper.ends);
}

// A worker of the device makes a call of an earlier frame until the audit's node ends it.
static void calls_of_earlier_frames_are_told_of(void **state)
{
    (void)state;
    braid_graph *graph;
    braid_exec *exec;
    open_helper();
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_host_call(graph, &(braid_host_call){ .call = wait_for_node }, NULL));
    check_ok(braid_exec_create(audited.device, graph, NULL, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    add_call(ask_helper, BRAID_EXCLUSIVE);
    check_others(true);
    check_ok(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    sem_destroy(&helper.begins);
    sem_destroy(&helper.ends);
}

int main(void)
{
#if defined(UNDER_TSAN)
    puts("the thread sanitizer makes system calls of its own in handlers");
    return 77;
#endif
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)
    const struct CMUnitTest tests[] = {
        TEST(a_declared_read_from_a_pipe_is_a_write),
        TEST(what_a_call_has_written_may_be_read),
        TEST(a_read_from_a_pipe_writes_what_is_undeclared),
        TEST(a_write_reads_what_is_undeclared),
        TEST(calls_of_which_not_all_is_known_are_named),
        TEST(a_node_that_opens_pages_itself_is_named),
        TEST(a_node_may_close_pages_for_good),
        TEST(calls_beside_buffers_hide_nothing),
        TEST(a_node_that_ignores_traps_is_named),
        TEST(threads_that_run_are_told_of),
        TEST(threads_are_told_of_if_the_system_does_not_tell),
        TEST(threads_of_braid_are_told_of_inside_calls),
        TEST(calls_of_earlier_frames_are_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
