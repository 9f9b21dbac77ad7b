// SPDX-License-Identifier: Apache-2.0
// Behind audits a fault of the program reaches the program's handler as if there had been none.
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit_testing.h"

enum { TOO_OFTEN = 9, MOST_CALLS = 5 };

static uint32_t *buffer, *closed; // a page each
static atomic_int *num_calls;     // each handler's; a child shares it

static int map_all(void **state)
{
    (void)state;
    buffer = map_pages(1);
    closed = map_pages(1);
    mprotect(closed, PAGE, PROT_NONE);
    num_calls = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(num_calls != MAP_FAILED);
    return 0;
}

static int unmap_all(void **state)
{
    (void)state;
    munmap(buffer, PAGE);
    munmap(closed, PAGE);
    munmap(num_calls, PAGE);
    return 0;
}

static void write_buffer(void *user)
{
    *(volatile uint32_t *)user = 7;
}

static void audit_call(braid_host_function *call)
{
    static struct findings findings;
    braid_device *device;
    braid_graph *graph;
    braid_resource resource;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 1 }, &device));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "buffer", buffer, PAGE, &resource));
    check_ok(braid_graph_add_host_call(graph,
                                       &(braid_host_call){
                                           BRAID_ACCESSES({ resource, BRAID_WRITE }),
                                           .call = call,
                                           .user = buffer,
                                       },
                                       NULL));
    audit(device, graph, &findings);
    assert_int_equal(findings.num, 0);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

static void audit_one_node(void)
{
    audit_call(write_buffer);
}

static void set_handler(void (*handler)(int), int flags)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
    sigaddset(&action.sa_mask, SIGUSR1);
    assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
}

static void fault(void)
{
    *(volatile uint32_t *)closed = 1;
}

// How a child ends that does this, as wait() tells.
static int run_child(void (*act)(void))
{
    skip_without_audits();
#if defined(UNDER_TSAN)
    skip_because("the child of a program with threads cannot start any under the sanitizer");
#endif
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        act();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void count_call(int handler)
{
    if (atomic_fetch_add(&num_calls[handler], 1) == MOST_CALLS)
        _exit(TOO_OFTEN);
}

static void do_nothing(int number)
{
    (void)number;
    count_call(0);
}

static void fault_with_handler_that_resets_itself(void)
{
    set_handler(do_nothing, (int)SA_RESETHAND);
    audit_one_node();
    fault();
}

static void a_handler_that_resets_itself_is_called_once(void **state)
{
    (void)state;
    int status = run_child(fault_with_handler_that_resets_itself);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_int_equal(num_calls[0], 1);
}

static jmp_buf before_fault;

// SIGUSR1 is blocked by the action, SIGTERM by nobody.
static void jump_back(int number)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (sigismember(&blocked, SIGUSR1) && !sigismember(&blocked, SIGTERM) &&
        !sigismember(&blocked, number))
        count_call(0);
    longjmp(before_fault, 1);
}

static void fault_twice_here(void)
{
    for (volatile int i = 0; i < 2; i++)
        if (!setjmp(before_fault))
            fault();
}

static void fault_twice(void)
{
    set_handler(jump_back, SA_NODEFER);
    audit_one_node();
    fault_twice_here();
}

static void a_handler_has_its_mask_and_may_jump_again(void **state)
{
    (void)state;
    assert_int_equal(run_child(fault_twice), 0);
    assert_int_equal(num_calls[0], 2);
}

static struct sigaction found;

static void hand_on(int number, siginfo_t *info, void *context)
{
    count_call(1);
    if (found.sa_flags & SA_SIGINFO)
        found.sa_sigaction(number, info, context);
    else
        signal(number, SIG_DFL);
}

static void set_handler_that_hands_on(void)
{
    const struct sigaction action = { .sa_sigaction = hand_on, .sa_flags = SA_SIGINFO };
    assert_int_equal(sigaction(SIGSEGV, &action, &found), 0);
}

static void audit_round_handler_that_hands_on(void)
{
    audit_one_node();
    set_handler_that_hands_on();
    audit_one_node();
    fault();
}

static void mend(int number)
{
    (void)number;
    count_call(0);
    mprotect(closed, PAGE, PROT_READ | PROT_WRITE);
}

static void mend_behind_handler_that_hands_on(void)
{
    set_handler(mend, 0);
    audit_round_handler_that_hands_on();
}

static void a_handler_between_two_audits_may_hand_on(void **state)
{
    (void)state;
    int status = run_child(audit_round_handler_that_hands_on);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_int_equal(num_calls[1], 1);
    assert_int_equal(run_child(mend_behind_handler_that_hands_on), 0);
    assert_int_equal(num_calls[1], 2);
    assert_int_equal(num_calls[0], 1);
}

static void fault_behind_later_handler(void)
{
    audit_one_node();
    set_handler(mend, 0);
    audit_one_node();
    set_handler_that_hands_on();
    fault();
}

// The first call by the system repeats the instruction.
static void a_handler_behind_two_audits_may_hand_on_to_one_between_them(void **state)
{
    (void)state;
    assert_int_equal(run_child(fault_behind_later_handler), 0);
    assert_int_equal(num_calls[1], 2);
    assert_int_equal(num_calls[0], 1);
}

static void fault_twice_behind_later_handler(void)
{
    audit_one_node();
    set_handler(jump_back, SA_NODEFER);
    audit_one_node();
    for (volatile int i = 0; i < 2; i++)
        if (!setjmp(before_fault))
            fault();
}

static void a_handler_between_two_audits_may_jump_again(void **state)
{
    (void)state;
    assert_int_equal(run_child(fault_twice_behind_later_handler), 0);
    assert_int_equal(num_calls[0], 2);
}

static void fault_again(int number)
{
    (void)number;
    count_call(0);
    fault();
}

static void fault_and_write(void *user)
{
    fault();
    write_buffer(user);
}

static void fault_with_handler_that_faults(void)
{
    set_handler(fault_again, 0);
    audit_call(fault_and_write);
}

// Its signal is blocked, although faults of the audit come through.
static void a_handler_that_faults_during_an_audit_is_called_once(void **state)
{
    (void)state;
    int status = run_child(fault_with_handler_that_faults);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_int_equal(num_calls[0], 1);
}

static void fault_twice_and_write(void *user)
{
    fault_twice_here();
    write_buffer(user);
}

static void audit_with_handler_that_jumps(void)
{
    set_handler(jump_back, SA_NODEFER);
    audit_call(fault_twice_and_write);
}

// Behind the jumps the node's own accesses are still judged.
static void a_handler_may_jump_out_of_an_audits_fault(void **state)
{
    (void)state;
#if defined(UNDER_ASAN)
    skip_because("the address sanitizer makes calls of its own at a jump, which audits name");
#endif
    assert_int_equal(run_child(audit_with_handler_that_jumps), 0);
    assert_int_equal(num_calls[0], 2);
}

#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, map_all, unmap_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_TEST(a_handler_that_resets_itself_is_called_once),
        FAULT_TEST(a_handler_has_its_mask_and_may_jump_again),
        FAULT_TEST(a_handler_between_two_audits_may_hand_on),
        FAULT_TEST(a_handler_behind_two_audits_may_hand_on_to_one_between_them),
        FAULT_TEST(a_handler_between_two_audits_may_jump_again),
        FAULT_TEST(a_handler_that_faults_during_an_audit_is_called_once),
        FAULT_TEST(a_handler_may_jump_out_of_an_audits_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
