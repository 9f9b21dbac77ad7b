// SPDX-License-Identifier: Apache-2.0
// On the CPU an audit opens a page for one instruction. The page is closed again before a handler
// of the program runs, which may jump out of the instruction.
#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "audit/audit_testing.h"
#include "audit/node_thread.h"

#if defined(__x86_64__) && !defined(UNDER_TSAN)

static struct {
    uint32_t *divisor, *beside; // in one page, and in another one
    uint32_t *closed;           // by the program
    sigjmp_buf back;
    sem_t has_left, goes_on;
} site;

// The fault of the read comes before that of the division.
static void divide(void)
{
    uint32_t high = 0, low = 8;
    __asm__ volatile("divl %2" : "+a"(low), "+d"(high) : "m"(*site.divisor) : "cc");
}

static void jump_back(int number)
{
    (void)number;
    siglongjmp(site.back, 1);
}

static void leave_division(void)
{
    if (!sigsetjmp(site.back, 1))
        divide();
}

static int open_site(void **state)
{
    open_audited(state);
    site.divisor = audited.words;
    site.beside = audited.outside;
    sem_init(&site.has_left, 0, 0);
    sem_init(&site.goes_on, 0, 0);
    node_thread_open();
    return 0;
}

static int close_site(void **state)
{
    node_thread_close();
    signal(SIGFPE, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    sem_destroy(&site.has_left);
    sem_destroy(&site.goes_on);
    return close_audited(state);
}

static void audit_call(braid_host_function *call, uint64_t bytes)
{
    braid_resource part;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 0, bytes, &part));
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ BRAID_ACCESSES({ part, BRAID_READ_WRITE }), .call = call }, NULL));
    audit(audited.device, audited.graph, &audited.findings);
}

static const struct finding *find_kind(braid_audit_kind kind)
{
    for (size_t i = 0; i < audited.findings.num; i++)
        if (audited.findings.items[i].told.kind == kind)
            return &audited.findings.items[i];
    return NULL;
}

static void expect_reads_beside(uint64_t num)
{
    const struct finding *read = find_kind(BRAID_AUDIT_READS);
    assert_non_null(read);
    assert_int_equal(read->told.begin, 400);
    assert_int_equal(read->told.num, num);
}

static void expect_read_beside(void)
{
    expect_reads_beside(1);
    assert_null(find_kind(BRAID_AUDIT_UNSEEN));
}

static void leave_and_read_more(void *user)
{
    (void)user;
    leave_division();
    (void)*(volatile uint32_t *)(site.divisor + 100);
}

static void a_node_may_leave_an_instruction(void **state)
{
    (void)state;
    signal(SIGFPE, jump_back);
    audit_call(leave_and_read_more, 64);
    expect_read_beside();
}

static void read_and_mend(int number)
{
    (void)number;
    (void)*(volatile uint32_t *)(site.divisor + 100);
    *(volatile uint32_t *)site.divisor = 1;
}

static void divide_once(void *user)
{
    (void)user;
    divide();
}

static void a_handler_before_the_end_of_an_instruction_is_seen(void **state)
{
    (void)state;
    signal(SIGFPE, read_and_mend);
    audit_call(divide_once, 64);
    expect_read_beside();
}

enum { NUM_SIGNALS = 100 };

static atomic_int num_handled;

static void read_beside(int number)
{
    (void)number;
    (void)*(volatile uint32_t *)(site.divisor + 100);
    atomic_fetch_add(&num_handled, 1);
}

static void *read_until_all_are_handled(void *user)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    while (atomic_load(&num_handled) < NUM_SIGNALS)
        (void)*(volatile uint32_t *)site.divisor;
    return user;
}

static void send_signals(void *user)
{
    (void)user;
    node_thread_begin(read_until_all_are_handled, NULL);
    for (int i = 0; i < NUM_SIGNALS; i++) {
        node_thread_send(SIGUSR1);
        while (atomic_load(&num_handled) == i)
            sched_yield();
    }
    node_thread_end();
}

// Most of them come while the thread is inside the audit's handler.
static void a_signal_waits_for_the_end_of_an_instruction(void **state)
{
    (void)state;
    atomic_store(&num_handled, 0);
    signal(SIGUSR1, read_beside);
    audit_call(send_signals, 64);
    signal(SIGUSR1, SIG_DFL);
    expect_reads_beside(NUM_SIGNALS);
}

static void *leave_on_thread(void *user)
{
    leave_division();
    sem_post(&site.has_left);
    sem_wait(&site.goes_on);
    return user;
}

static void read_beside_a_thread(void *user)
{
    (void)user;
    node_thread_begin(leave_on_thread, NULL);
    sem_wait(&site.has_left);
    (void)*(volatile uint32_t *)(site.divisor + 1);
}

// The thread would keep the audit for itself.
static void a_thread_that_leaves_an_instruction_stops_no_audit(void **state)
{
    (void)state;
    signal(SIGFPE, jump_back);
    audit_call(read_beside_a_thread, 64);
    sem_post(&site.goes_on);
    node_thread_end();
    assert_non_null(find_kind(BRAID_AUDIT_UNSEEN));
}

static void *set_handler_and_leave(void *user)
{
    signal(SIGFPE, jump_back);
    return leave_on_thread(user);
}

static void read_beside_such_a_thread(void *user)
{
    (void)user;
    node_thread_begin(set_handler_and_leave, NULL);
    sem_wait(&site.has_left);
    (void)*(volatile uint32_t *)(site.divisor + 1);
}

static void a_node_whose_handler_leaves_an_instruction_is_named(void **state)
{
    (void)state;
    audit_call(read_beside_such_a_thread, 64);
    sem_post(&site.goes_on);
    node_thread_end();
    const struct finding *unseen = find_kind(BRAID_AUDIT_UNSEEN);
    assert_non_null(unseen);
    assert_string_equal(unseen->text,
                        "node 0 'host call' is not audited: a handler of the program left an "
                        "instruction, until whose end a page of its buffers is open");
}

// It has a fault of its own, whose end is that of the division, too.
static void fault_and_wait(int number)
{
    (void)number;
    (void)*(volatile uint32_t *)site.beside;
    sem_post(&site.has_left);
    sem_wait(&site.goes_on);
}

static void *divide_on_thread(void *user)
{
    divide();
    return user;
}

static void begin_division(void *user)
{
    (void)user;
    node_thread_begin(divide_on_thread, NULL);
    sem_wait(&site.has_left);
}

static void mend_division(void *user)
{
    (void)user;
    *(volatile uint32_t *)site.divisor = 1;
    sem_post(&site.goes_on);
    node_thread_end();
}

// The page is open when the instruction goes on, which traps nevertheless.
static void a_handler_may_fault_before_an_instruction_ends(void **state)
{
    braid_resource other;
    (void)state;
    signal(SIGFPE, fault_and_wait);
    check_ok(braid_graph_add_buffer(audited.graph, "other", site.beside, PAGE, &other));
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ BRAID_ACCESSES({ other, BRAID_WRITE }), .call = begin_division },
        NULL));
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){
            BRAID_ACCESSES({ other, BRAID_READ }, { audited.buffer, BRAID_READ_WRITE }),
            .call = mend_division },
        NULL));
    audit(audited.device, audited.graph, &audited.findings);
    assert_true(audited.findings.num > 0);
    assert_int_equal(*site.divisor, 1);
}

static void read_more_and_mend(int number)
{
    (void)number;
    (void)*(volatile uint32_t *)(site.divisor + 100);
    mprotect(site.closed, PAGE, PROT_READ | PROT_WRITE);
}

static void copy_to_closed(void *user)
{
    void *from = site.divisor, *to = site.closed;
    (void)user;
    __asm__ volatile("movsl" : "+S"(from), "+D"(to) : : "memory");
}

static void a_handler_of_an_instructions_second_fault_is_seen(void **state)
{
    (void)state;
    site.closed = map_pages(1);
    mprotect(site.closed, PAGE, PROT_NONE);
    *site.divisor = 9;
    signal(SIGSEGV, read_more_and_mend);
    audit_call(copy_to_closed, 64);
    assert_int_equal(*site.closed, 9);
    munmap(site.closed, PAGE);
    assert_true(audited.findings.num > 0);
    assert_string_equal(audited.findings.items[0].text,
                        "node 0 'host call' reads byte 400 of 'words', which it does not declare");
}

static int zeros;

static void leave_call_and_make_another(void *user)
{
    (void)user;
    if (!sigsetjmp(site.back, 1))
        raise(SIGFPE);
    (void)!read(zeros, site.divisor + 100, 8);
}

static void a_call_behind_one_that_a_handler_leaves_is_seen(void **state)
{
    (void)state;
    signal(SIGFPE, jump_back);
    zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    audit_call(leave_call_and_make_another, 64);
    close(zeros);
    if (audited.findings.lacks_calls)
        skip_because("system calls of nodes are not seen here");
    const struct finding *writes = find_kind(BRAID_AUDIT_WRITES);
    assert_non_null(writes);
    assert_int_equal(writes->told.begin, 400);
    assert_null(find_kind(BRAID_AUDIT_UNSEEN));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)
    const struct CMUnitTest tests[] = {
        TEST(a_node_may_leave_an_instruction),
        TEST(a_handler_before_the_end_of_an_instruction_is_seen),
        TEST(a_signal_waits_for_the_end_of_an_instruction),
        TEST(a_node_whose_handler_leaves_an_instruction_is_named),
        TEST(a_thread_that_leaves_an_instruction_stops_no_audit),
        TEST(a_handler_may_fault_before_an_instruction_ends),
        TEST(a_handler_of_an_instructions_second_fault_is_seen),
        TEST(a_call_behind_one_that_a_handler_leaves_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    skip_program("audits need x86-64, and sanitizers have handlers and threads of their own");
}

#endif
