// SPDX-License-Identifier: Apache-2.0
// On the CPU an audit judges the memory that common system calls of a node use, and no other.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit_testing.h"

enum { HAND_OVER = 59, BYTES = 64 };

static int ends[2]; // a pipe's

static int open_site(void **state)
{
    char letter = 0;
    if (prctl(HAND_OVER, 1, 0, 0, &letter))
        skip_program("the system hands no calls over");
    prctl(HAND_OVER, 0, 0, 0, 0);
    int opened = open_audited(state);
    assert_int_equal(pipe(ends), 0);
    return opened;
}

static int close_site(void **state)
{
    close(ends[0]), close(ends[1]);
    return close_audited(state);
}

static void add_call(braid_host_function *call, braid_access_mode mode)
{
    check_ok(braid_graph_add_host_call(audited.graph,
                                       &(braid_host_call){
                                           BRAID_ACCESSES({ audited.buffer, mode }),
                                           .call = call,
                                           .user = audited.words,
                                       },
                                       NULL));
}

static void send_bytes(void *words)
{
    char got[BYTES];
    assert_int_equal(write(ends[1], words, BYTES), BYTES);
    assert_int_equal(read(ends[0], got, BYTES), BYTES);
}

static void send_and_write(void *words)
{
    send_bytes(words);
    *(volatile char *)words = 9;
}

static void write_and_send(void *words)
{
    *(volatile char *)words = 9;
    send_bytes(words);
}

static void a_write_reads_what_the_node_has_not_written(void **state)
{
    (void)state;
    add_call(send_and_write, BRAID_WRITE);
    add_call(write_and_send, BRAID_WRITE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 1);
    assert_string_equal(audited.findings.items[0].text,
                        "node 0 'host call' reads bytes from 0 to 63 of 'words', which it does not "
                        "declare");
}

// The registers of further arguments still have the buffer of the call before.
static void use_file(void *words)
{
    struct stat about;
    stack_t stack;
    int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(file, words, PAGE), PAGE);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    assert_int_equal(fstat(file, &about), 0);
    assert_int_equal(stat("/", &about), 0);
    assert_int_equal(read(file, words, PAGE), PAGE);
    assert_true(fcntl(file, F_GETFL, 0) >= 0);
    assert_int_equal(sigaltstack(NULL, &stack), 0);
    assert_int_equal(close(file), 0);
    long number = SYS_getpid;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(words), "S"(words), "d"(words)
                     : "rcx", "r11", "memory");
}

static void what_registers_keep_is_no_argument(void **state)
{
    (void)state;
    add_call(use_file, BRAID_WRITE);
    audit(audited.device, audited.graph, &audited.findings);
    if (audited.findings.num)
        print_message("%s\n", audited.findings.items[0].text);
    assert_int_equal(audited.findings.num, 0);
}

// The child's memory is the parent's.
static void read_in_borrower(void *words)
{
    int status = 1;
    assert_int_equal(write(ends[1], "text", 4), 4);
    pid_t child = vfork();
    if (child == 0)
        _exit(read(ends[0], words, 4) != 4);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void expect_unseen(const char *reason)
{
    assert_int_equal(audited.findings.num, 1);
    const struct finding *found = &audited.findings.items[0];
    assert_int_equal(found->told.kind, BRAID_AUDIT_UNSEEN);
    if (!strstr(found->text, reason))
        fail_msg("%s", found->text);
}

static void check_unseen(const char *reason)
{
    audit(audited.device, audited.graph, &audited.findings);
    expect_unseen(reason);
}

static void calls_of_a_child_in_its_parents_memory_are_not_seen(void **state)
{
    (void)state;
#if defined(BRAID_INSTRUMENTED)
    skip_because("sanitizers make calls of their own in children");
#endif
    add_call(read_in_borrower, BRAID_EXCLUSIVE);
    check_unseen("makes a thread or a process");
    assert_memory_equal(audited.words, "text", 4);
}

// It writes its word, though it is mostly read.
static void lock_word(void *words)
{
    assert_int_equal(syscall(SYS_futex, words, FUTEX_LOCK_PI, 0, NULL, NULL, 0), 0);
}

static void a_call_that_writes_what_others_read_is_told_of(void **state)
{
    (void)state;
    add_call(lock_word, BRAID_READ);
    check_unseen("a system call");
    audited.words[0] = 0;
}

enum { NUM_EVENTS = 100, EVENT_BYTES = 12, BEFORE = 600 };

static void take_events(void *words)
{
    int all = epoll_create1(0), pipes[NUM_EVENTS];
    for (int i = 0; i < NUM_EVENTS; i++) {
        struct epoll_event event = { .events = EPOLLOUT };
        pipes[i] = dup(ends[1]);
        assert_int_equal(epoll_ctl(all, EPOLL_CTL_ADD, pipes[i], &event), 0);
    }
    assert_int_equal(epoll_wait(all, (void *)((char *)words - BEFORE), NUM_EVENTS, 0), NUM_EVENTS);
    for (int i = 0; i < NUM_EVENTS; i++)
        close(pipes[i]);
    close(all);
}

// The system gives fewer events where a page is closed.
static void each_item_that_a_call_gives_is_judged(void **state)
{
    (void)state;
    audited.words = audited.outside;
    check_ok(braid_graph_add_buffer(audited.graph, "behind", audited.words, PAGE, &audited.buffer));
    check_ok(braid_graph_add_host_call(
        audited.graph, &(braid_host_call){ .call = take_events, .user = audited.words }, NULL));
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 2);
    assert_string_equal(audited.findings.items[1].text,
                        "node 0 'host call' writes bytes from 0 to 599 of 'behind', which it does "
                        "not declare");
}

static pid_t ended;

static void end_child(void *words)
{
    int status = 1;
    assert_int_equal(wait4(ended, &status, 0, words), ended);
}

// It could not be made again.
static void a_call_that_ends_a_child_does_not_fail(void **state)
{
    (void)state;
#if defined(BRAID_INSTRUMENTED)
    skip_because("sanitizers make calls of their own in children");
#endif
    ended = fork();
    if (ended == 0)
        _exit(0);
    add_call(end_child, BRAID_WRITE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 0);
}

static pid_t waiting;

// As some libraries do: the further arguments are any.
static long wake_nobody(uint32_t *lock, void *further)
{
    long result = SYS_futex;
#if defined(__x86_64__)
    register void *fourth __asm__("r10") = further;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(lock), "S"(FUTEX_WAKE_PRIVATE), "d"(1), "r"(fourth)
                     : "rcx", "r11", "memory");
#endif
    return result;
}

static void sleep_look_and_wake(void *words)
{
    uint32_t lock = 0;
    assert_int_equal(clock_nanosleep(CLOCK_MONOTONIC, 0, words, words), 0);
    assert_int_equal(syscall(SYS_nanosleep, words, words), 0);
    assert_int_equal(waitpid(waiting, words, WNOHANG), 0);
    assert_int_equal(wake_nobody(&lock, (char *)words + PAGE), 0);
}

// The last buffer is undeclared.
static void calls_use_no_memory_without_need(void **state)
{
    braid_resource outside;
    (void)state;
#if defined(BRAID_INSTRUMENTED)
    skip_because("sanitizers make calls of their own in children");
#endif
    waiting = fork();
    if (waiting == 0) {
        pause();
        _exit(0);
    }
    check_ok(braid_graph_add_buffer(audited.graph, "outside", audited.outside, PAGE, &outside));
    add_call(sleep_look_and_wake, BRAID_READ);
    audit(audited.device, audited.graph, &audited.findings);
    kill(waiting, SIGKILL);
    assert_int_equal(waitpid(waiting, NULL, 0), waiting);
    assert_int_equal(audited.findings.num, 0);
}

static void take_time_from_buffer(void *words)
{
    uint32_t lock = 0;
    errno = 0;
    assert_int_equal(syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, 0, words), -1);
    assert_int_equal(errno, ETIMEDOUT);
}

static void a_time_in_a_closed_page_is_found_by_the_calls_failure(void **state)
{
    (void)state;
    add_call(take_time_from_buffer, BRAID_READ);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 1);
    assert_int_equal(audited.findings.items[0].told.kind, BRAID_AUDIT_UNSEEN);
}

// The finding tells of each, behind which pages are others, or the node's calls are not seen.
static void move_onto(void *words)
{
    void *other = map_pages(1);
    assert_ptr_equal(mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, words), words);
}

static void read_as_file(void *words)
{
    char got[4];
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(memory, got, 4, (off_t)(uintptr_t)words), 4);
    assert_int_equal(lseek(memory, (off_t)(uintptr_t)words, SEEK_SET), (off_t)(uintptr_t)words);
    assert_int_equal(read(memory, got, 4), 4);
    close(memory);
}

static void hand_over_nothing(void *words)
{
    prctl(HAND_OVER, 0, 0, 0, 0);
    (void)!getcwd(words, 8);
}

static void write_name_of_folder(void *words)
{
    assert_non_null(getcwd(words, PAGE));
}

static void the_next_node_hands_its_calls_over_again(void **state)
{
    (void)state;
    add_call(hand_over_nothing, BRAID_EXCLUSIVE);
    add_call(write_name_of_folder, BRAID_EXCLUSIVE);
    audit(audited.device, audited.graph, &audited.findings);
    assert_int_equal(audited.findings.num, 2);
    assert_int_equal(audited.findings.items[1].told.node.index, 1);
}

static long get_pid_as_other_processor(void)
{
    long number = 20;
#if defined(__x86_64__)
    __asm__ volatile("int $0x80" : "+a"(number) : : "memory");
#endif
    return number;
}

// The system refuses to end the heap there.
static void end_heap(void *words)
{
    (void)words;
    assert_true(syscall(SYS_brk, PAGE) > PAGE);
}

static void call_as_other_processor(void *words)
{
    (void)words;
    assert_int_equal(get_pid_as_other_processor(), getpid());
}

static bool knows_other_processor(void)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0)
        _exit(get_pid_as_other_processor() != getpid());
    assert_int_equal(waitpid(child, &status, 0), child);
    return status == 0;
}

static void note_alarm(int number)
{
    (void)number;
    (void)((volatile uint32_t *)audited.words)[100];
}

static void let_handlers_run(void *words)
{
    struct pollfd *file = words;
    sigset_t none;
    sigemptyset(&none);
    *file = (struct pollfd){ .fd = ends[1], .events = POLLOUT };
    assert_int_equal(ppoll(file, 1, NULL, &none), 1);
}

static void let_handlers_run_from_now_on(void *words)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGALRM);
    signal(SIGALRM, note_alarm);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    raise(SIGALRM);
    assert_int_equal(write(ends[1], words, 4), 4);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    signal(SIGALRM, SIG_DFL);
}

static void set_up_queue(void *words)
{
    unsigned char options[256] = { 0 };
    (void)words;
    long queue = syscall(SYS_io_uring_setup, 1, options);
    if (queue >= 0)
        close((int)queue);
}

static void calls_behind_which_accesses_may_be_unseen_are_told_of(void **state)
{
    static const struct {
        braid_host_function *call;
        const char *reason;
    } rows[] = {
        { read_as_file, "uses memory of its buffers as a file" },
        { hand_over_nothing, "changes who gets its system calls" },
        { call_as_other_processor, "another kind of processor" },
        { let_handlers_run, "a way that is not known" },
        { let_handlers_run_from_now_on, "it sets, or asks for, a handler" },
        { end_heap, "or maps others" },
        { set_up_queue, "it queues work of the system" },
        { move_onto, "or maps others" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        braid_graph *graph;
        if (rows[i].call == call_as_other_processor && !knows_other_processor())
            continue;
        if (rows[i].call == end_heap && (char *)audited.words > (char *)sbrk(0))
            continue;
        check_ok(braid_graph_create(&graph));
        check_ok(braid_graph_add_buffer(graph, "words", audited.words, PAGE, &audited.buffer));
        check_ok(braid_graph_add_host_call(
            graph,
            &(braid_host_call){ BRAID_ACCESSES({ audited.buffer, BRAID_EXCLUSIVE }),
                                .call = rows[i].call, .user = audited.words },
            NULL));
        audit(audited.device, graph, &audited.findings);
        braid_graph_destroy(graph);
        expect_unseen(rows[i].reason);
    }
}

int main(void)
{
#if defined(UNDER_TSAN)
    puts("the thread sanitizer makes system calls of its own in handlers");
    return 77;
#endif
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)
    const struct CMUnitTest tests[] = {
        TEST(a_write_reads_what_the_node_has_not_written),
        TEST(what_registers_keep_is_no_argument),
        TEST(calls_of_a_child_in_its_parents_memory_are_not_seen),
        TEST(a_call_that_writes_what_others_read_is_told_of),
        TEST(each_item_that_a_call_gives_is_judged),
        TEST(a_call_that_ends_a_child_does_not_fail),
        TEST(calls_use_no_memory_without_need),
        TEST(a_time_in_a_closed_page_is_found_by_the_calls_failure),
        TEST(the_next_node_hands_its_calls_over_again),
        TEST(calls_behind_which_accesses_may_be_unseen_are_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
