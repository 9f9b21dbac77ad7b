// SPDX-License-Identifier: Apache-2.0
// Nodes that use signals, handlers and system calls in unusual ways work in an audit on the CPU as
// they do without it. A finding tells what each accesses, or that the audit gives it up.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "audit/node_case.h"
#include "audit/refused_calls.h"

#if defined(__x86_64__) && !defined(UNDER_TSAN)

static _Alignas(PAGE) char stack[1 << 16];

// ---- signals of which audits need some ----

static void leave_by_needed_signals(void *user)
{
    static const int needed[] = { SIGSEGV, SIGTRAP, SIGSYS };
    for (volatile int i = 0; i < 3; i++)
        if (!sigsetjmp(back, 1))
            raise(needed[i]);
    write_beside(user);
}

static int jump_out_of_needed_signals(void)
{
    signal(SIGSEGV, jump_back);
    signal(SIGTRAP, jump_back);
    signal(SIGSYS, jump_back);
    return judge(leave_by_needed_signals, BRAID_AUDIT_WRITES);
}

static void look_at_full_mask(void *user)
{
    sigset_t own;
    pthread_sigmask(SIG_SETMASK, NULL, &own);
    expect(sigismember(&own, SIGSEGV) && sigismember(&own, SIGSYS) && sigismember(&own, SIGALRM));
    sigemptyset(&own);
    sigaddset(&own, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    set_timer();
    while (!num_handled)
        ;
    write_beside(user);
}

static int block_all_before(void)
{
    sigset_t all;
    signal(SIGALRM, count_signal);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    return judge(look_at_full_mask, BRAID_AUDIT_WRITES);
}

static void block_in_vain(void *user)
{
    sigset_t own;
    sigfillset(&own);
    errno = pthread_sigmask(77, &own, NULL);
    expect(errno == EINVAL);
    expect(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &own, NULL, 4) == -1 && errno == EINVAL);
    pthread_sigmask(SIG_BLOCK, NULL, &own);
    expect(!sigismember(&own, SIGUSR1));
    write_beside(user);
}

static int fail_to_block(void)
{
    return judge(block_in_vain, BRAID_AUDIT_WRITES);
}

static void block_needed(void *user)
{
    sigset_t all, own;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &own);
    write_beside(user);
    pthread_sigmask(SIG_SETMASK, &own, &all);
    expect(sigismember(&all, SIGSEGV) && !sigismember(&own, SIGSEGV));
}

static int block_them(void)
{
    return judge(block_needed, BRAID_AUDIT_UNSEEN);
}

static void look_at_mask_when_given_up(void *user)
{
    sigset_t own;
    signal(SIGUSR1, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, NULL, &own);
    expect(sigismember(&own, SIGSEGV));
    write_beside(user);
}

static int keep_them_blocked(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    return judge(look_at_mask_when_given_up, BRAID_AUDIT_UNSEEN);
}

static void set_handler(int number)
{
    num_handled = number;
    signal(SIGUSR1, SIG_IGN);
}

static void raise_and_look_at_mask(void *user)
{
    sigset_t own;
    raise(SIGFPE);
    pthread_sigmask(SIG_SETMASK, NULL, &own);
    expect(num_handled == SIGFPE && sigismember(&own, SIGSEGV) && sigismember(&own, SIGSYS));
    write_beside(user);
}

// The handler makes the call that the audit gives up.
static int keep_two_blocked(void)
{
    sigset_t own;
    signal(SIGFPE, set_handler);
    sigemptyset(&own);
    sigaddset(&own, SIGSEGV);
    sigaddset(&own, SIGSYS);
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    return judge(raise_and_look_at_mask, BRAID_AUDIT_UNSEEN);
}

static void nodes_may_use_signals_that_audits_need(void **state)
{
    (void)state;
    run_case(jump_out_of_needed_signals);
    run_case(block_all_before);
    run_case(fail_to_block);
    run_case(block_them);
    run_case(keep_them_blocked);
    run_case(keep_two_blocked);
}

// Below bytes of the stack that the function may use. A trap comes behind each instruction.
static void step_through_itself(void *user)
{
    enum { FEWEST = 5 };
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n"
                     "movl $1, (%0)\n movl $2, (%0)\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n"
                     "leaq 128(%%rsp), %%rsp\n"
                     :
                     : "r"(&words[BESIDE])
                     : "memory", "cc");
    expect(user == NULL && num_handled >= FEWEST);
}

static int trap_often(void)
{
    signal(SIGTRAP, count_signal);
    return judge(step_through_itself, BRAID_AUDIT_UNSEEN);
}

static void nodes_may_trap_behind_each_instruction(void **state)
{
    (void)state;
    run_case(trap_often);
}

// ---- handlers ----

static void ask_for_stack(void *user)
{
    stack_t own;
    expect(!sigaltstack(NULL, &own) && own.ss_sp == stack && !(own.ss_flags & SS_ONSTACK));
    write_beside(user);
}

static int keep_stack(void)
{
    const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
    stack_t behind;
    sigaltstack(&own, NULL);
    const int result = judge(ask_for_stack, BRAID_AUDIT_WRITES);
    sigaltstack(NULL, &behind);
    return behind.ss_sp == stack ? result : WRONG;
}

static void raise_own(void *user)
{
    raise(SIGUSR1);
    expect(num_handled == 1);
    write_beside(user);
}

static stack_t first_stack; // perhaps a sanitizer's

static bool is_first(const stack_t *found)
{
    return found->ss_sp == first_stack.ss_sp && found->ss_flags == first_stack.ss_flags;
}

static void set_stack(void *user)
{
    const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
    stack_t before, now;
    expect(sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = 8 }, NULL) == -1 && errno == ENOMEM);
    expect(!sigaltstack(&own, &before) && is_first(&before));
    expect(!sigaltstack(&before, &now) && now.ss_sp == stack);
    expect(!sigaltstack(&own, &before) && is_first(&before));
    write_beside(user);
}

// It stays behind the audit. Its pages are closed for the second node.
static int change_stack(void)
{
    stack_t behind;
    braid_resource own;
    check_ok(braid_graph_add_buffer(audited.graph, "stack", stack, sizeof(stack), &own));
    sigaltstack(NULL, &first_stack);
    const int result = judge(set_stack, BRAID_AUDIT_WRITES);
    sigaltstack(NULL, &behind);
    return behind.ss_sp == stack ? result : WRONG;
}

static void change_stack_when_given_up(void *user)
{
    stack_t before;
    signal(SIGUSR2, SIG_IGN);
    expect(!sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, &before) && before.ss_sp == stack);
    expect(!sigaltstack(&before, NULL));
    raise_own(user);
}

static void find_own_stack(int number)
{
    const char *at = (const char *)&number;
    num_handled += at >= stack && at < stack + sizeof(stack);
}

// Its handlers have the program's stack again. Sanitizers may keep the argument elsewhere.
static int give_stack_back(void)
{
    const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
    struct sigaction action = { .sa_handler = find_own_stack, .sa_flags = SA_ONSTACK };
#if defined(BRAID_INSTRUMENTED)
    action.sa_handler = count_signal;
#endif
    sigaction(SIGUSR1, &action, NULL);
    sigaltstack(&own, NULL);
    return judge(change_stack_when_given_up, BRAID_AUDIT_UNSEEN);
}

void braid_test_return(void);
__asm__(".pushsection .text\n.globl braid_test_return\n.hidden braid_test_return\n"
        "braid_test_return:\n movl $15, %eax\n syscall\n.popsection\n");

// As programs without the C library do.
static int return_otherwise(void)
{
    enum { HAS_RETURN = 0x04000000 };
    const struct {
        void (*handler)(int);
        unsigned long flags;
        void (*returns)(void);
        uint64_t mask;
    } action = { count_signal, HAS_RETURN, braid_test_return, 0 };
    expect(!syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, sizeof(uint64_t)));
    return judge(raise_own, BRAID_AUDIT_WRITES);
}

static void count_to_signal(void *user)
{
    set_timer();
    while (!num_handled)
        ++*(volatile uint32_t *)user;
}

// The system could not call it there. Sanitizers may keep local variables elsewhere.
static int handle_on_closed_stack(void)
{
    uint32_t local[16] = { 0 };
    braid_resource own;
    signal(SIGALRM, count_signal);
    check_ok(braid_graph_add_buffer(audited.graph, "local", local, sizeof(local), &own));
    check_ok(braid_graph_add_host_call(audited.graph,
                                       &(braid_host_call){ BRAID_ACCESSES({ own, BRAID_READ }),
                                                           .call = count_to_signal, .user = local },
                                       NULL));
    audit_case();
#if defined(BRAID_INSTRUMENTED)
    return end_with(num_handled > 0);
#else
    return end_with(num_handled && is_found(0, BRAID_AUDIT_UNSEEN));
#endif
}

static void read_pipe(int number)
{
    char letter;
    (void)number;
    num_handled += read(ends[0], &letter, 1) == 1;
}

static void raise_reader(void *user)
{
    expect(write(ends[1], "text", 4) == 4);
    raise_own(user);
}

static int wait_in_handler(void)
{
    struct sigaction action = { .sa_handler = read_pipe };
    signal(SIGALRM, count_signal);
    sigaction(SIGUSR1, &action, NULL);
    return judge(raise_reader, BRAID_AUDIT_WRITES);
}

static void handlers_are_the_programs(void **state)
{
    (void)state;
    run_case(keep_stack);
    run_case(change_stack);
    run_case(give_stack_back);
    run_case(return_otherwise);
    run_case(handle_on_closed_stack);
    run_case(wait_in_handler);
}

// ---- calls that may wait ----

static void *send_fault(void *user)
{
    await_sleep();
    syscall(SYS_tgkill, getpid(), getpid(), SIGILL); // the audit's thread
    return user;
}

static void write_pipe(int number)
{
    num_handled++;
    expect(number == SIGILL && write(ends[1], "x", 1) == 1);
}

static void read_on(void *user)
{
    char letter;
    atomic_store(&node_waits, true);
    expect(read(ends[0], &letter, 1) == 1 && num_handled == 1);
    write_beside(user);
}

// The handler returns to the call, which goes on.
static int go_on_behind_handler(void)
{
    pthread_t thread;
    signal(SIGILL, write_pipe);
    pthread_create(&thread, NULL, send_fault, NULL);
    const int result = judge(read_on, BRAID_AUDIT_WRITES);
    pthread_join(thread, NULL);
    return result;
}

static int file;

static void use_file(void *user)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct iovec list = { (void *)(uintptr_t)words, DECLARED };
    expect(write(file, (const char *)words, DECLARED) == DECLARED);
    expect(pread(file, (char *)words, DECLARED, 0) == DECLARED);
    expect(fcntl(file, F_SETLK, &lock) == 0);
    expect(pwritev(file, &list, 0, 0) == 0);
    write_beside(user);
}

// Nobody waits for a file for long.
static int use_file_beside_handler(void)
{
    FILE *temporary = tmpfile();
    signal(SIGALRM, count_signal);
    expect(temporary != NULL);
    file = fileno(temporary);
    return judge(use_file, BRAID_AUDIT_WRITES);
}

static void lock_file(void *user)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    expect(fcntl(file, F_SETLKW, &lock) == 0);
    write_beside(user);
}

static int lock_beside_handler(void)
{
    FILE *temporary = tmpfile();
    signal(SIGALRM, count_signal);
    expect(temporary != NULL);
    file = fileno(temporary);
    return judge(lock_file, BRAID_AUDIT_WRITES);
}

static void nodes_may_wait_beside_handlers(void **state)
{
    (void)state;
    run_case(go_on_behind_handler);
    run_case(use_file_beside_handler);
    run_case(lock_beside_handler);
}

// ---- threads, as handlers know them ----

static void move_data(void *user)
{
    enum { SET = 0x1002, GET = 0x1003 };
    unsigned long at = 0;
    expect(!syscall(SYS_arch_prctl, GET, &at) && !syscall(SYS_arch_prctl, SET, at));
    write_beside(user);
}

static int set_data(void)
{
    return judge(move_data, BRAID_AUDIT_UNSEEN);
}

// Behind the copy the C library has its own data, and before it other data of the thread.
static _Alignas(PAGE) char moved[2 * PAGE];

// The system makes the call, and a fault comes, while the data is elsewhere.
static void move_data_by_itself(void *user)
{
    enum { BYTES = 512 };
    const uintptr_t to = (uintptr_t)moved + PAGE;
    uintptr_t at;
    long number = SYS_getpid;
    __asm__("rdfsbase %0" : "=r"(at));
    memcpy((void *)to, (const void *)at, BYTES);
    memcpy((void *)to, &to, sizeof(to));
    __asm__ volatile("wrfsbase %2\n syscall\n movl $1, (%3)\n wrfsbase %1"
                     : "+a"(number)
                     : "r"(at), "r"(to), "r"(&words[BESIDE])
                     : "rcx", "r11", "memory");
    expect(user == NULL && number == getpid());
}

static int set_data_by_instruction(void)
{
    return getauxval(AT_HWCAP2) & MAY_MOVE_DATA ? judge(move_data_by_itself, BRAID_AUDIT_WRITES)
                                                : DONE;
}

static void refuse(void *user)
{
    expect(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
    expect(refuse_to_hand_calls_over());
    write_beside(user);
}

// The first node is given up, behind which the audit asks the system again.
static int refuse_from_now_on(void)
{
    add_call(refuse);
    add_call(write_beside);
    audit_case();
    return end_with(is_found(0, BRAID_AUDIT_UNSEEN) && is_found(1, BRAID_AUDIT_UNSEEN));
}

static void nodes_may_hide_their_calls(void **state)
{
    (void)state;
    run_case(set_data);
    run_case(set_data_by_instruction);
    run_case(refuse_from_now_on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_may_use_signals_that_audits_need),
        cmocka_unit_test(nodes_may_trap_behind_each_instruction),
        cmocka_unit_test(handlers_are_the_programs),
        cmocka_unit_test(nodes_may_wait_beside_handlers),
        cmocka_unit_test(nodes_may_hide_their_calls),
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
