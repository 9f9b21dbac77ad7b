// SPDX-License-Identifier: Apache-2.0
// Hands the system calls of one thread over to an audit. It has the node make those without pages,
// opens pages for the others, and judges their accesses.
#include "audit/audit_calls.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "audit/audit_by_pages.h"
#include "audit/audit_system.h"

struct audit_calls braid_audit_calls __attribute__((aligned(AUDIT_PAGE)));

#if defined(__x86_64__) && defined(__linux__)

// ---- the memory that calls use ----
//
// A table tells all of some calls. Other calls may use some bytes behind each argument that is an
// address.

static const char unseen_call[] =
    "a system call uses memory of its buffers in a way that is not known";

static const char handled[] = "a handler may run while it waits in a system call";

struct use {
    unsigned short number;
    unsigned char pointer; // an argument
    bool writes;
    signed char length; // the argument with the most items, of which the call returns the number
                        // that it used; FIXED: it has one; IF_MORE: one, if it returns more than 0
    unsigned short bytes; // each item has
};
enum { FIXED = -1, IF_MORE = -2 };

// A futex reads a time only for some operations. For others the register may have any buffer. So
// the audit learns of a time in a closed page by the call's failure. The rest of a sleep is written
// only behind a handler, beside which the audit gives the node up.
static const struct use uses[] = {
    { SYS_read, 1, true, 2, 1 },
    { SYS_write, 1, false, 2, 1 },
    { SYS_pread64, 1, true, 2, 1 },
    { SYS_pwrite64, 1, false, 2, 1 },
    { SYS_getrandom, 0, true, 1, 1 },
    { SYS_futex, 0, false, FIXED, 4 },
    { SYS_nanosleep, 0, false, FIXED, 16 },
    { SYS_nanosleep, 1, true, IF_MORE, 16 },
    { SYS_clock_nanosleep, 2, false, FIXED, 16 },
    { SYS_clock_nanosleep, 3, true, IF_MORE, 16 },
    { SYS_clock_gettime, 1, true, FIXED, 16 },
    { SYS_rt_sigprocmask, 1, false, FIXED, 8 },
    { SYS_rt_sigprocmask, 2, true, FIXED, 8 },
    { SYS_wait4, 1, true, IF_MORE, 4 },
    { SYS_wait4, 3, true, IF_MORE, 144 },
    { SYS_epoll_wait, 1, true, 2, 12 },
    { SYS_io_getevents, 4, false, FIXED, 16 },
    { SYS_io_getevents, 3, true, 2, 32 },
};
enum { NUM_USES = sizeof(uses) / sizeof(uses[0]) };

static struct audit_extent find_bytes(const struct use *use, const struct audit_call *call)
{
    uintptr_t begin = call->args[use->pointer];
    uintptr_t num = use->length < 0 ? 1 : call->args[use->length];
    if (!begin)
        return (struct audit_extent){ 0, 0 };
    return (struct audit_extent){ begin, num < (UINTPTR_MAX - begin) / use->bytes
                                             ? begin + num * use->bytes
                                             : begin };
}

// Calls for each run of the audit's pages with such bytes. False: the system refuses.
static bool allow(struct audit *audit, struct audit_extent bytes, int rights)
{
    bool done = true;
    for (size_t i = 0; bytes.begin < bytes.end && i < audit->pages.num_spans; i++) {
        const struct audit_span *span = &audit->pages.spans[i];
        uintptr_t end = span->begin + span->num * AUDIT_PAGE;
        uintptr_t from = bytes.begin / AUDIT_PAGE * AUDIT_PAGE;
        if (from < span->begin)
            from = span->begin;
        if (bytes.end < end)
            end = (bytes.end + AUDIT_PAGE - 1) / AUDIT_PAGE * AUDIT_PAGE;
        if (from < end)
            done =
                braid_audit_pages_allow(&audit->pages, from, (end - from) / AUDIT_PAGE, rights) &&
                done;
    }
    return done;
}

static bool has_page(const struct audit *audit, uintptr_t address)
{
    size_t page = braid_audit_page_at(&audit->pages, address);
    return page != AUDIT_NO_PAGE && audit->pages.own[page];
}

// Whether the system can read the word, which has an address of at least its size. The system reads
// a mask, unless its address is 0, before it refuses to change signals in an unknown way.
static bool can_read(uintptr_t word)
{
    const unsigned long unknown_way = ~0ul;
    return audit_system(SYS_rt_sigprocmask, unknown_way, word, 0, sizeof(uint64_t)) != -EFAULT;
}

enum { WORD = sizeof(uint64_t) };

// Whether the handler may read these bytes. If it may not, the call itself fails.
static bool is_readable(uintptr_t begin, uintptr_t bytes)
{
    if (begin < WORD || bytes > UINTPTR_MAX - begin)
        return false;
    for (uintptr_t word = begin / WORD * WORD; word < begin + bytes;
         word = (word / AUDIT_PAGE + 1) * AUDIT_PAGE)
        if (!can_read(word))
            return false;
    return true;
}

// The memory that a call may use.
struct call_reach {
    bool has_buffer;
    bool has_page; // the audit has it, perhaps with other data
    bool is_known; // there is no other
};

static void reach_bytes(const struct audit *audit, uintptr_t begin, uintptr_t bytes,
                        struct call_reach *reach)
{
    const uintptr_t end = bytes < UINTPTR_MAX - begin ? begin + bytes : UINTPTR_MAX;
    reach->has_buffer = reach->has_buffer || braid_audit_has_buffer(&audit->memory, begin, end);
    reach->has_page = reach->has_page || braid_audit_pages_reach(&audit->pages, begin, end);
}

// A list in a page of the audit's opens all for the call.
static bool opens_list(struct audit *audit, uintptr_t list, uintptr_t bytes,
                       struct call_reach *reach)
{
    reach_bytes(audit, list, bytes, reach);
    if (reach->has_page && !audit->is_open)
        braid_audit_pages_allow_all(&audit->pages, PROT_READ | PROT_WRITE | PROT_EXEC);
    return is_readable(list, bytes);
}

static void reach_list(struct audit *audit, uintptr_t list, uintptr_t num, struct call_reach *reach)
{
    const struct iovec *items = (const struct iovec *)list;
    if (num > UIO_MAXIOV)
        num = UIO_MAXIOV;
    if (!opens_list(audit, list, num * sizeof(*items), reach))
        return;
    for (uintptr_t i = 0; i < num; i++)
        reach_bytes(audit, (uintptr_t)items[i].iov_base, items[i].iov_len, reach);
}

static void reach_message(struct audit *audit, uintptr_t message, struct call_reach *reach)
{
    const struct msghdr *at = (const struct msghdr *)message;
    if (!opens_list(audit, message, sizeof(*at), reach))
        return;
    reach_bytes(audit, (uintptr_t)at->msg_name, at->msg_namelen, reach);
    reach_bytes(audit, (uintptr_t)at->msg_control, at->msg_controllen, reach);
    reach_list(audit, (uintptr_t)at->msg_iov, at->msg_iovlen, reach);
}

// False: the call takes no lists. Calls with lists may do a part, and do not fail at a closed page.
static bool reach_lists(struct audit *audit, const struct audit_call *call,
                        struct call_reach *reach)
{
    const uintptr_t *args = call->args;
    switch (call->number) {
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_preadv2:
    case SYS_pwritev2:
    case SYS_vmsplice:
        reach_list(audit, args[1], args[2], reach);
        return true;
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
        reach_list(audit, args[1], args[2], reach);
        reach_list(audit, args[3], args[4], reach); // perhaps in this process
        return true;
    case SYS_sendmsg:
    case SYS_recvmsg:
        reach_message(audit, args[1], reach);
        return true;
    case SYS_sendmmsg:
    case SYS_recvmmsg:
        for (uintptr_t i = 0; i < args[2] && i < UIO_MAXIOV; i++)
            reach_message(audit, args[1] + i * sizeof(struct mmsghdr), reach);
        return true;
    default:
        return false;
    }
}

// The program changes pages itself.
static bool changes_pages(const struct audit *audit, const struct audit_call *call)
{
    uintptr_t begin = call->args[0], bytes = call->args[1];
    bool is_fixed = call->number == SYS_mmap && call->args[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE);
    bool is_one = call->number == SYS_mprotect || call->number == SYS_pkey_mprotect ||
                  call->number == SYS_munmap || call->number == SYS_mremap ||
                  call->number == SYS_madvise || is_fixed;
    bool is_heap = call->number == SYS_brk && begin;
    bool is_moved = call->number == SYS_mremap && call->args[3] & MREMAP_FIXED;
    return (is_one && braid_audit_pages_reach(&audit->pages, begin, begin + bytes)) ||
           (is_heap && braid_audit_pages_reach(&audit->pages, begin,
                                               (uintptr_t)audit_system(SYS_brk, 0, 0, 0, 0))) ||
           (is_moved &&
            braid_audit_pages_reach(&audit->pages, call->args[4], call->args[4] + call->args[2]));
}

// Such an offset is that of a process's memory as a file.
static bool has_address_as_offset(const struct audit *audit, const struct audit_call *call)
{
    enum { MOST_BEHIND = 1 << 30 };
    const uintptr_t *args = call->args;
    switch (call->number) {
    case SYS_lseek:
        return args[1] > UINT32_MAX &&
               braid_audit_pages_reach(&audit->pages, args[1], args[1] + MOST_BEHIND);
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_preadv2:
    case SYS_pwritev2:
        return args[3] > UINT32_MAX &&
               braid_audit_pages_reach(&audit->pages, args[3], args[3] + MOST_BEHIND);
    default:
        return false;
    }
}

// Calls that do not wait, or not for long. `num` first arguments may tell of memory that the call
// uses. Registers behind a call's arguments may still have the buffer of an earlier one.
static const struct known {
    unsigned short number, num;
    bool waits; // nevertheless
} known[] = {
    { SYS_open, 1, true },    { SYS_openat, 2, true },  { SYS_brk, 0 },
    { SYS_mmap, 0 },          { SYS_mprotect, 0 },      { SYS_munmap, 0 },
    { SYS_mremap, 0 },        { SYS_madvise, 0 },       { SYS_exit, 0 },
    { SYS_exit_group, 0 },    { SYS_close, 0 },         { SYS_set_robust_list, 0 },
    { SYS_lseek, 0 },         { SYS_dup, 0 },           { SYS_dup2, 0 },
    { SYS_fsync, 0 },         { SYS_sched_yield, 0 },   { SYS_getpid, 0 },
    { SYS_gettid, 0 },        { SYS_kill, 0 },          { SYS_tgkill, 0 },
    { SYS_alarm, 0 },         { SYS_unlink, 1 },        { SYS_access, 1 },
    { SYS_mkdir, 1 },         { SYS_pipe, 1 },          { SYS_pipe2, 1 },
    { SYS_uname, 1 },         { SYS_getcwd, 2 },        { SYS_getrusage, 2 },
    { SYS_stat, 2 },          { SYS_lstat, 2 },         { SYS_fstat, 2 },
    { SYS_unlinkat, 2 },      { SYS_faccessat, 2 },     { SYS_gettimeofday, 2 },
    { SYS_clock_gettime, 2 }, { SYS_rt_sigpending, 2 }, { SYS_rt_sigprocmask, 3 },
    { SYS_newfstatat, 3 },    { SYS_setitimer, 3 },     { SYS_getrandom, 2 },
    { SYS_sigaltstack, 2 },   { SYS_fcntl, 3, true },   { SYS_sched_getaffinity, 3 },
};

static struct known find_known(const struct audit_call *call)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].number == call->number)
            return known[i];
    return (struct known){ 0, AUDIT_CALL_ARGS, true };
}

static bool is_file(uintptr_t descriptor)
{
    struct stat about = { 0 };
    return !audit_system(SYS_fstat, descriptor, (uintptr_t)&about, 0, 0) && S_ISREG(about.st_mode);
}

// Whether the call may wait until a signal comes.
static bool may_wait(const struct audit_call *call)
{
    const bool is_one = call->number == SYS_read || call->number == SYS_write ||
                        call->number == SYS_pread64 || call->number == SYS_pwrite64;
    return is_one ? !is_file(call->args[0]) : find_known(call).waits;
}

// An argument may be the address of bytes, and another one their number. A small number is an
// address where the audit has that page: programs may lie there.
static void reach_args(const struct audit *audit, const struct audit_call *call,
                       struct call_reach *reach)
{
    enum { MOST_FIXED_BYTES = 512 };
    const int num = find_known(call).num;
    uintptr_t bytes = MOST_FIXED_BYTES;
    for (int i = 0; i < num; i++)
        if (call->args[i] > bytes && call->args[i] < INT32_MAX && !has_page(audit, call->args[i]))
            bytes = call->args[i];
    for (int i = 0; i < num; i++)
        if (call->args[i] > UINT32_MAX || has_page(audit, call->args[i]))
            reach_bytes(audit, call->args[i], bytes, reach);
}

// A call that the table has uses no other memory, and its accesses are judged.
static struct call_reach find_reach(struct audit *audit, const struct audit_call *call)
{
    struct call_reach reach = { 0 };
    for (int i = 0; i < NUM_USES; i++) {
        if (uses[i].number != call->number)
            continue;
        struct audit_extent bytes = find_bytes(&uses[i], call);
        reach_bytes(audit, bytes.begin, bytes.end - bytes.begin, &reach);
        reach.is_known = true;
    }
    if (!reach.is_known && !reach_lists(audit, call, &reach))
        reach_args(audit, call, &reach);
    reach.has_buffer = reach.has_buffer && !reach.is_known;
    return reach;
}

// Opens pages, and judges accesses of which all is known before. False: the system refuses.
static bool open_pages(struct audit *audit, struct audit_call *call, const struct call_reach *reach)
{
    bool done = true;
    for (int i = 0; i < NUM_USES; i++) {
        if (uses[i].number != call->number)
            continue;
        struct audit_extent bytes = find_bytes(&uses[i], call);
        if (uses[i].length == FIXED)
            braid_audit_judge_bytes(audit, bytes.begin, bytes.end, uses[i].writes);
        done = (audit->is_open ||
                allow(audit, bytes, uses[i].writes ? PROT_READ | PROT_WRITE : PROT_READ)) &&
               done;
    }
    call->opens_all = reach->has_page && !reach->is_known && !audit->is_open;
    return call->opens_all ? braid_audit_open_all(audit) : done;
}

// Judges the rest, and closes the pages.
static void close_pages(struct audit *audit, const struct audit_call *call)
{
    const intptr_t result = call->result;
    bool done = true;
    for (int i = 0; i < NUM_USES; i++) {
        if (uses[i].number != call->number)
            continue;
        struct audit_extent bytes = find_bytes(&uses[i], call);
        uintptr_t used = result > 0 ? (uintptr_t)result * uses[i].bytes : 0;
        if (uses[i].length != FIXED)
            braid_audit_judge_bytes(audit, bytes.begin,
                                    used < bytes.end - bytes.begin ? bytes.begin + used : bytes.end,
                                    uses[i].writes);
        done = (audit->is_open || allow(audit, bytes, PROT_NONE)) && done;
    }
    if (call->opens_all && audit->is_open) {
        audit->is_open = false;
        done = braid_audit_pages_allow_all(&audit->pages, PROT_NONE) && done;
    }
    if (!done)
        braid_audit_give_up(audit, "the system refuses to close pages of its buffers");
}

// ---- handing calls over, and making them ----

enum { HAND_OVER = 59 }; // PR_SET_SYSCALL_USER_DISPATCH

// A child of the process has it, too. A program may move its threads' data without the audit's
// knowledge. So handlers know the thread by the audit's stack, where they run, as well.
static uintptr_t find_thread(void)
{
    uintptr_t thread;
    __asm__("movq %%fs:0, %0" : "=r"(thread));
    return thread;
}

static bool is_on_stack(const struct audit_calls *calls)
{
    const uintptr_t at = (uintptr_t)__builtin_frame_address(0);
    return at - atomic_load(&calls->stack) < AUDIT_STACK_BYTES;
}

void braid_audit_calls_enter(struct audit_calls_before *out_before)
{
    struct audit_calls *calls = &braid_audit_calls;
    const uintptr_t thread = atomic_load(&calls->thread);
    out_before->is_own = thread && (is_on_stack(calls) || thread == find_thread());
    if (!out_before->is_own)
        return;
    out_before->handed_over = calls->hands_over;
    calls->hands_over = 0;
}

void braid_audit_calls_leave(const struct audit_calls_before *before)
{
    if (!before->is_own)
        return;
    braid_audit_calls.hands_over = before->handed_over && !braid_audit_calls.rests;
}

// Only these two calls are not handed over. The first is the return of the audit's handlers, as
// unwinders know it. The other is made in place of the node's, on its stack, and returns to it.
// Behind a bad address another call tells the audit, unless it has given the node up meanwhile.
#define LABEL(name) ".globl " name "\n.hidden " name "\n" name ":\n"
__asm__(".pushsection .text\n" LABEL("braid_audit_return") " movq $15, %rax\n syscall\n" //
        LABEL("braid_audit_make") " syscall\n"                                           //
        LABEL("braid_audit_made") " leaq 14(%rax), %rcx\n jrcxz 1f\n"
                                  "0: popq %rcx\n leaq 136(%rsp), %rsp\n jmpq *%rcx\n"
                                  "1: movl $39, %eax\n syscall\n" //
        LABEL("braid_audit_failed") " movq $-14, %rax\n jmp 0b\n.popsection\n");
__attribute__((visibility("hidden"))) void braid_audit_make(void), braid_audit_made(void),
    braid_audit_failed(void);

// Below the node's stack, and below bytes there that it may use.
struct made_call {
    uintptr_t behind, number;
};
enum { RED_BYTES = 128, CALL_BYTES = 2 };

static bool ask_system(void)
{
    const uintptr_t begin = (uintptr_t)braid_audit_return;
    return !prctl(HAND_OVER, 1, begin, (uintptr_t)braid_audit_made + 1 - begin,
                  &braid_audit_calls.hands_over);
}

bool braid_audit_calls_start(const unsigned char *stack)
{
    braid_audit_calls.hands_over = 0;
    atomic_store(&braid_audit_calls.stack, (uintptr_t)stack);
    braid_audit_calls.rests = false;
    if (!ask_system())
        return false;
    atomic_store(&braid_audit_calls.thread, find_thread());
    return true;
}

void braid_audit_calls_stop(void)
{
    if (atomic_load(&braid_audit_calls.thread) != find_thread())
        return;
    braid_audit_calls.hands_over = 0;
    prctl(HAND_OVER, 0, 0, 0, 0);
    atomic_store(&braid_audit_calls.thread, 0);
}

bool braid_audit_calls_resume(void)
{
    const bool is_asked = braid_audit_calls.rests && atomic_load(&braid_audit_calls.thread);
    braid_audit_calls.rests = false;
    return !is_asked || ask_system();
}

bool braid_audit_calls_hand_over(bool is_on)
{
    braid_audit_calls.waits = false;
    braid_audit_calls.hands_over = is_on && atomic_load(&braid_audit_calls.thread);
    return braid_audit_calls.hands_over;
}

bool braid_audit_calls_are_left(void)
{
    return atomic_load(&braid_audit_calls.thread) && !braid_audit_calls.rests &&
           !braid_audit_calls.hands_over;
}

void braid_audit_rest(struct audit *audit, const char *reason)
{
    braid_audit_calls.rests = true;
    braid_audit_calls.waits = false;
    braid_audit_give_up(audit, reason);
    braid_audit_close_masks(audit);
}

// The mask behind a call that may change it, as far as the program knows.
static uint64_t find_mask(const struct audit *audit, const struct audit_call *call)
{
    const uint64_t mask = call->mask | (audit->mask & AUDIT_FAULTS);
    const uint64_t given = call->args[1] ? *(const uint64_t *)call->args[1] &
                                               ~(AUDIT_BIT(SIGKILL) | AUDIT_BIT(SIGSTOP))
                                         : 0;
    if (call->args[1] && (int)call->args[0] == SIG_SETMASK)
        return given;
    return (int)call->args[0] == SIG_UNBLOCK ? mask & ~given : mask | given;
}

// A handler that runs meanwhile may have a mask by which the process ends at a closed page.
static const char *find_handled(struct audit *audit, uintptr_t mask)
{
    return mask && braid_audit_may_handle(audit, 0) ? handled : NULL;
}

// The node makes such a call by itself, and the audit sees no more of it. NULL: another call. Calls
// for other processors have numbers of their own. A child has no part of the audit, and another
// program gets the mask that its beginner has.
static const char *find_reason(struct audit *audit, const struct audit_call *call,
                               unsigned processor)
{
    const unsigned own = 0xc000003e;
    if (processor != own || call->number > UINT16_MAX)
        return "it makes a system call for another kind of processor";
    switch (call->number) {
    case SYS_prctl:
        return call->args[0] == HAND_OVER ? "it changes who gets its system calls" : NULL;
    case SYS_arch_prctl: // the handlers know the thread by its data
        return "it changes where its own data is, or asks for it";
    case SYS_rt_sigaction:
        return "it sets, or asks for, a handler of a signal";
    case SYS_rt_sigsuspend:
        return find_handled(audit, call->args[0]);
    case SYS_ppoll:
        return find_handled(audit, call->args[3]);
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        return find_handled(audit, call->args[4]);
    case SYS_pselect6:
    case SYS_io_pgetevents:
        return find_handled(audit, call->args[5]);
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
        return "it makes a thread or a process";
    case SYS_execve:
    case SYS_execveat:
        return "it begins another program";
    case SYS_io_submit:
    case SYS_io_uring_enter:
    case SYS_io_uring_setup: // a thread of the system's may begin the work
        return "it queues work of the system, which may use its buffers";
    default:
        return changes_pages(audit, call)
                   ? "it changes the rights of pages of its buffers, or maps others"
                   : NULL;
    }
}

static void set_mask(ucontext_t *thread, uint64_t mask)
{
    memcpy(&thread->uc_sigmask, &mask, sizeof(mask));
}

// The system changes no stack of handlers for a thread that is on it.
static long set_stack(const ucontext_t *thread, const stack_t *next, const stack_t *before)
{
    uintptr_t at = (uintptr_t)thread->uc_mcontext.gregs[REG_RSP];
    long result;
    __asm__ volatile("xchgq %%rsp, %1\n syscall\n xchgq %%rsp, %1"
                     : "=a"(result), "+b"(at)
                     : "0"((long)SYS_sigaltstack), "D"(next), "S"(before)
                     : "rcx", "r11", "memory");
    return result;
}

// The handler runs on a stack of the audit's, which the program does not know.
static void change_stack(struct audit *audit, struct audit_call *call, const ucontext_t *thread)
{
    const stack_t own = { .ss_sp = audit->stack, .ss_size = sizeof(audit->stack) };
    set_stack(thread, &audit->stack_before, NULL);
    call->result =
        set_stack(thread, (const stack_t *)call->args[0], (const stack_t *)call->args[1]);
    set_stack(thread, &own, &audit->stack_before);
}

// The call begins anew.
static void make_by_itself(struct audit *audit, const char *reason, const struct audit_call *call,
                           ucontext_t *thread)
{
    braid_audit_rest(audit, reason);
    set_stack(thread, &audit->stack_before, NULL);
    thread->uc_stack = audit->stack_before; // the system may put it back
    thread->uc_mcontext.gregs[REG_RAX] = (greg_t)call->number;
    thread->uc_mcontext.gregs[REG_RIP] -= CALL_BYTES;
}

// The handler has a mask of its own, so the call would change that. Where the system would refuse
// the call, the handler has the call made.
static bool changes_mask(const struct audit_call *call)
{
    const bool is_good =
        (unsigned)call->args[0] <= SIG_SETMASK && is_readable(call->args[1], sizeof(call->mask));
    return call->number == SYS_rt_sigprocmask && call->args[3] == sizeof(call->mask) &&
           (!call->args[1] || is_good);
}

// The pages of both masks are open.
static void change_mask(struct audit *audit, struct audit_call *call, ucontext_t *thread)
{
    const uint64_t mask = call->mask | (audit->mask & AUDIT_FAULTS);
    const uintptr_t old = call->args[2];
    set_mask(thread, find_mask(audit, call) & ~AUDIT_FAULTS);
    call->result = old ? audit_system(SYS_rt_sigprocmask, SIG_BLOCK, 0, old, sizeof(mask)) : 0;
    if (old && !call->result)
        *(uint64_t *)old = mask;
}

// The node makes the call, which uses no page of the audit's. So signals come as without an audit,
// and a handler may leave it. False: the stack is closed, or has no room.
static bool make_there(const struct audit_call *call, const struct call_reach *reach,
                       ucontext_t *thread)
{
    greg_t *registers = thread->uc_mcontext.gregs;
    struct made_call *made =
        (struct made_call *)((uintptr_t)registers[REG_RSP] - RED_BYTES - sizeof(*made));
    if (call->number == SYS_rt_sigreturn) {
        registers[REG_RIP] = (greg_t)braid_audit_make;
        return true;
    }
    if (reach->has_page || changes_mask(call) || call->number == SYS_sigaltstack ||
        audit_system(SYS_rt_sigprocmask, SIG_BLOCK, 0, (uintptr_t)&made->behind, WORD) ||
        audit_system(SYS_rt_sigprocmask, SIG_BLOCK, 0, (uintptr_t)&made->number, WORD))
        return false;
    *made = (struct made_call){ (uintptr_t)registers[REG_RIP], call->number };
    registers[REG_RSP] = (greg_t)made;
    registers[REG_RIP] = (greg_t)braid_audit_make;
    return true;
}

// Behind such a call that has failed, as the node had it.
static bool find_made(ucontext_t *thread)
{
    greg_t *registers = thread->uc_mcontext.gregs;
    const struct made_call *made = (const struct made_call *)registers[REG_RSP];
    if (registers[REG_RIP] != (greg_t)braid_audit_failed)
        return false;
    registers[REG_RAX] = (greg_t)made->number;
    registers[REG_RIP] = (greg_t)made->behind;
    registers[REG_RSP] = (greg_t)(made + 1) + RED_BYTES;
    return true;
}

// Opens pages for the call. Tells why the node is given up instead; NULL: it is not.
static const char *ready(struct audit *audit, struct audit_call *call,
                         const struct call_reach *reach)
{
    if (reach->has_buffer)
        return unseen_call;
    if (call->waits && braid_audit_may_handle(audit, call->mask))
        return handled;
    if (!open_pages(audit, call, reach))
        return "the system refuses to open pages of its buffers";
    return changes_mask(call) && (find_mask(audit, call) ^ audit->mask) & AUDIT_FAULTS
               ? "it blocks signals that audits need, perhaps to make a thread or a process"
               : NULL;
}

bool braid_audit_call_begin(struct audit *audit, unsigned processor, ucontext_t *thread,
                            struct audit_call *out_call)
{
    greg_t *registers = thread->uc_mcontext.gregs;
    const bool has_failed = find_made(thread);
    struct call_reach reach = { 0 };
    *out_call = (struct audit_call){
        .number = (uintptr_t)registers[REG_RAX],
        .args = { (uintptr_t)registers[REG_RDI], (uintptr_t)registers[REG_RSI],
                  (uintptr_t)registers[REG_RDX], (uintptr_t)registers[REG_R10],
                  (uintptr_t)registers[REG_R8], (uintptr_t)registers[REG_R9] },
    };
    memcpy(&out_call->mask, &thread->uc_sigmask, sizeof(out_call->mask));
    out_call->waits = may_wait(out_call);
    const char *reason = has_failed ? unseen_call : find_reason(audit, out_call, processor);
    if (!reason) {
        reach = find_reach(audit, out_call);
        if (has_address_as_offset(audit, out_call))
            braid_audit_miss(audit, "it uses memory of its buffers as a file");
        if (make_there(out_call, &reach, thread))
            return false;
        reason = ready(audit, out_call, &reach);
    }
    if (reason) {
        make_by_itself(audit, reason, out_call, thread);
        return false;
    }
    braid_audit_calls.waits = out_call->waits;
    if (out_call->number == SYS_sigaltstack)
        change_stack(audit, out_call, thread);
    else if (changes_mask(out_call))
        change_mask(audit, out_call, thread);
    else
        return true;
    registers[REG_RAX] = (greg_t)out_call->result;
    close_pages(audit, out_call);
    return false;
}

// No signal comes to a call that does not wait, except for that of a filter of calls. Behind the
// handler the node gets them.
void braid_audit_call_make(struct audit_call *call)
{
    const uintptr_t *args = call->args;
    const uint64_t mask = call->waits ? call->mask : ~AUDIT_BIT(SIGSYS);
    uint64_t own = 0;
    register uintptr_t fourth __asm__("r10"), fifth __asm__("r8"), sixth __asm__("r9");
    audit_system(SYS_rt_sigprocmask, SIG_SETMASK, (uintptr_t)&mask, (uintptr_t)&own, sizeof(mask));
    fourth = args[3], fifth = args[4], sixth = args[5];
    __asm__ volatile("syscall"
                     : "=a"(call->result)
                     : "0"(call->number), "D"(args[0]), "S"(args[1]), "d"(args[2]), "r"(fourth),
                       "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    audit_system(SYS_rt_sigprocmask, SIG_SETMASK, (uintptr_t)&own, 0, sizeof(own));
}

// A call may have failed at a closed page to which its arguments lead by other memory. Another
// thread may have set a handler meanwhile.
void braid_audit_call_end(struct audit *audit, const struct audit_call *call, ucontext_t *thread)
{
    braid_audit_calls.waits = false;
    if (call->result == -EFAULT && !call->opens_all && !audit->is_open) {
        make_by_itself(audit, unseen_call, call, thread);
        return;
    }
    thread->uc_mcontext.gregs[REG_RAX] = (greg_t)call->result;
    if (!braid_audit_calls.rests && call->waits && braid_audit_may_handle(audit, call->mask))
        braid_audit_miss(audit, "a handler may have run while it waited in a system call");
    close_pages(audit, call);
}

#endif
