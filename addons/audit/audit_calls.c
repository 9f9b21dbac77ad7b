// SPDX-License-Identifier: Apache-2.0
// Hands the system calls of one thread over to an audit, and has the thread make them. Opens the
// pages that they use, and judges their accesses.
#include "audit/audit_calls.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

struct use {
    unsigned short number;
    unsigned char pointer; // an argument
    bool writes;
    signed char length;   // the argument with the most items, of which the call returns the number
                          // that it used; FIXED: it has one
    unsigned short bytes; // each item has
};
enum { FIXED = -1 };

static const struct use uses[] = {
    { SYS_read, 1, true, 2, 1 },
    { SYS_write, 1, false, 2, 1 },
    { SYS_pread64, 1, true, 2, 1 },
    { SYS_pwrite64, 1, false, 2, 1 },
    { SYS_getrandom, 0, true, 1, 1 },
    { SYS_futex, 0, false, FIXED, 4 },
    { SYS_futex, 3, false, FIXED, 16 },
    { SYS_nanosleep, 0, false, FIXED, 16 },
    { SYS_nanosleep, 1, true, FIXED, 16 },
    { SYS_clock_nanosleep, 2, false, FIXED, 16 },
    { SYS_clock_nanosleep, 3, true, FIXED, 16 },
    { SYS_clock_gettime, 1, true, FIXED, 16 },
    { SYS_rt_sigprocmask, 1, false, FIXED, 8 },
    { SYS_rt_sigprocmask, 2, true, FIXED, 8 },
    { SYS_wait4, 1, true, FIXED, 4 },
    { SYS_wait4, 3, true, FIXED, 144 },
    { SYS_epoll_wait, 1, true, 2, 12 },
    { SYS_epoll_pwait, 4, false, FIXED, 8 },
    { SYS_epoll_pwait, 1, true, 2, 12 },
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

static bool has_pages(const struct audit *audit, uintptr_t begin, uintptr_t end)
{
    for (size_t i = 0; i < audit->pages.num_spans; i++) {
        const struct audit_span *span = &audit->pages.spans[i];
        if (begin < span->begin + span->num * AUDIT_PAGE && span->begin < end)
            return true;
    }
    return false;
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

// A closed page of the audit's opens for the question. It may have no memory: a file may be shorter
// than its mapping.
static bool can_read_closed(struct audit *audit, uintptr_t word)
{
    struct audit_pages *pages = &audit->pages;
    int before = pages->now[braid_audit_page_at(pages, word)];
    bool can = braid_audit_pages_allow(pages, word, 1, before | PROT_READ) && can_read(word);
    return braid_audit_pages_allow(pages, word, 1, before) && can;
}

// Whether the handler may read these bytes. If it may not, the call itself fails. It may read the
// audit's closed pages, since a fault there opens them.
static bool is_readable(struct audit *audit, uintptr_t begin, uintptr_t bytes)
{
    enum { WORD = sizeof(uint64_t) };
    if (begin < WORD || bytes > UINTPTR_MAX - begin)
        return false;
    for (uintptr_t word = begin / WORD * WORD; word < begin + bytes;
         word = (word / AUDIT_PAGE + 1) * AUDIT_PAGE) {
        if (!can_read(word) && !(has_page(audit, word) && can_read_closed(audit, word)))
            return false;
    }
    return true;
}

// The memory that a call may use.
struct call_reach {
    bool has_buffer;
    bool has_page; // the audit has it, perhaps with other data
};

static void reach_bytes(const struct audit *audit, uintptr_t begin, uintptr_t bytes,
                        struct call_reach *reach)
{
    const uintptr_t end = bytes < UINTPTR_MAX - begin ? begin + bytes : UINTPTR_MAX;
    reach->has_buffer = reach->has_buffer || braid_audit_has_buffer(&audit->memory, begin, end);
    reach->has_page = reach->has_page || has_pages(audit, begin, end);
}

// Where a list lies in a closed page, the node's faults tell of it.
static void reach_list(struct audit *audit, uintptr_t list, uintptr_t num, struct call_reach *reach)
{
    const struct iovec *items = (const struct iovec *)list;
    if (num > UIO_MAXIOV)
        num = UIO_MAXIOV;
    if (!is_readable(audit, list, num * sizeof(*items)))
        return;
    for (uintptr_t i = 0; i < num; i++)
        reach_bytes(audit, (uintptr_t)items[i].iov_base, items[i].iov_len, reach);
}

static void reach_message(struct audit *audit, uintptr_t message, struct call_reach *reach)
{
    const struct msghdr *at = (const struct msghdr *)message;
    if (!is_readable(audit, message, sizeof(*at)))
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
    return (is_one && has_pages(audit, begin, begin + bytes)) ||
           (is_heap && has_pages(audit, begin, (uintptr_t)audit_system(SYS_brk, 0, 0, 0, 0))) ||
           (is_moved && has_pages(audit, call->args[4], call->args[4] + call->args[2]));
}

// The system uses memory for the node, at any time from now on. The work would fail, not the call.
static bool queues_work(const struct audit_call *call)
{
    return call->number == SYS_io_submit || call->number == SYS_io_uring_enter ||
           call->number == SYS_io_uring_setup; // a thread of the system's may begin the work
}

// Such an offset is that of a process's memory as a file.
static bool has_address_as_offset(const struct audit *audit, const struct audit_call *call)
{
    enum { MOST_BEHIND = 1 << 30 };
    const uintptr_t *args = call->args;
    switch (call->number) {
    case SYS_lseek:
        return args[1] > UINT32_MAX && has_pages(audit, args[1], args[1] + MOST_BEHIND);
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_preadv2:
    case SYS_pwritev2:
        return args[3] > UINT32_MAX && has_pages(audit, args[3], args[3] + MOST_BEHIND);
    default:
        return false;
    }
}

// Signals of an earlier time come at the end of a call that lets them through.
static uint64_t find_mask_behind(struct audit *audit, const struct audit_call *call, uint64_t mask)
{
    const int how = (int)call->args[0];
    const uintptr_t set = call->args[1];
    if (call->number != SYS_rt_sigprocmask || !is_readable(audit, set, sizeof(mask)))
        return mask;
    const uint64_t changed = *(const uint64_t *)set;
    return how == SIG_SETMASK ? changed : how == SIG_UNBLOCK ? mask & ~changed : mask;
}

// The call may let signals through for itself, or the node has done so before.
static bool lets_handlers_run(const struct audit_call *call, uint64_t mask)
{
    const uint64_t always = AUDIT_OF_INSTRUCTIONS | AUDIT_BIT(SIGHUP) | AUDIT_BIT(SIGINT) |
                            AUDIT_BIT(SIGQUIT) | AUDIT_BIT(SIGTERM) | AUDIT_BIT(SIGKILL) |
                            AUDIT_BIT(SIGSTOP) | AUDIT_BIT(32) | AUDIT_BIT(33); // the C library's
    switch (call->number) {
    case SYS_rt_sigsuspend:
        return true;
    case SYS_ppoll:
        return call->args[3];
    case SYS_pselect6:
    case SYS_io_pgetevents:
        return call->args[5];
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        return call->args[4];
    default:
        return ~mask & ~always;
    }
}

// How many first arguments may tell of memory that the call uses. Registers behind a call's
// arguments may still have the buffer of an earlier one.
static int count_args(const struct audit_call *call)
{
    static const struct {
        unsigned short number, num;
    } counts[] = { { SYS_brk, 0 },          { SYS_mmap, 0 },
                   { SYS_mprotect, 0 },     { SYS_pkey_mprotect, 0 },
                   { SYS_munmap, 0 },       { SYS_mremap, 0 },
                   { SYS_madvise, 0 },      { SYS_exit, 0 },
                   { SYS_exit_group, 0 },   { SYS_set_robust_list, 0 },
                   { SYS_arch_prctl, 2 },   { SYS_close, 0 },
                   { SYS_lseek, 0 },        { SYS_dup, 0 },
                   { SYS_dup2, 0 },         { SYS_fsync, 0 },
                   { SYS_fdatasync, 0 },    { SYS_ftruncate, 0 },
                   { SYS_sched_yield, 0 },  { SYS_getpid, 0 },
                   { SYS_gettid, 0 },       { SYS_getppid, 0 },
                   { SYS_kill, 0 },         { SYS_tgkill, 0 },
                   { SYS_open, 1 },         { SYS_unlink, 1 },
                   { SYS_access, 1 },       { SYS_mkdir, 1 },
                   { SYS_rmdir, 1 },        { SYS_pipe, 1 },
                   { SYS_pipe2, 1 },        { SYS_getrusage, 2 },
                   { SYS_openat, 2 },       { SYS_stat, 2 },
                   { SYS_lstat, 2 },        { SYS_fstat, 2 },
                   { SYS_unlinkat, 2 },     { SYS_faccessat, 2 },
                   { SYS_mkdirat, 2 },      { SYS_rename, 2 },
                   { SYS_gettimeofday, 2 }, { SYS_clock_getres, 2 },
                   { SYS_newfstatat, 3 } };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (counts[i].number == call->number)
            return counts[i].num;
    return AUDIT_CALL_ARGS;
}

// An argument may be the address of bytes, and another one their number. A small number is an
// address where the audit has that page: programs may lie there.
static void reach_args(const struct audit *audit, const struct audit_call *call,
                       struct call_reach *reach)
{
    enum { MOST_FIXED_BYTES = 512 };
    const int num = count_args(call);
    uintptr_t bytes = MOST_FIXED_BYTES;
    for (int i = 0; i < num; i++)
        if (call->args[i] > bytes && call->args[i] < INT32_MAX && !has_page(audit, call->args[i]))
            bytes = call->args[i];
    for (int i = 0; i < num; i++)
        if (call->args[i] > UINT32_MAX || has_page(audit, call->args[i]))
            reach_bytes(audit, call->args[i], bytes, reach);
}

static bool is_open_for(const struct audit *audit, const uintptr_t *args, int num)
{
    for (int i = 0; i < num; i++)
        if (has_page(audit, args[i]))
            return false;
    return true;
}

static void open_all_pages(struct audit *audit, struct audit_call *call)
{
    call->opens_all = !audit->is_open;
    call->opens = true;
    if (call->opens_all)
        braid_audit_open_all(audit);
}

static void open_unknown(struct audit *audit, struct audit_call *call)
{
    struct call_reach reach = { 0 };
    if (!reach_lists(audit, call, &reach))
        reach_args(audit, call, &reach);
    if (reach.has_buffer)
        braid_audit_miss(audit, unseen_call);
    if (reach.has_buffer || reach.has_page || !is_open_for(audit, call->args, count_args(call)))
        open_all_pages(audit, call);
}

// Opens pages for the call, and judges accesses of which all is known before.
static void open_pages(struct audit *audit, struct audit_call *call)
{
    bool is_known = false, done = true;
    if (changes_pages(audit, call)) {
        braid_audit_give_up(audit, "it changes the rights of pages of its buffers, or maps others");
        return;
    }
    if (queues_work(call)) {
        braid_audit_give_up(audit, "it queues work of the system, which may use its buffers");
        return;
    }
    for (int i = 0; i < NUM_USES; i++) {
        if (uses[i].number != call->number)
            continue;
        struct audit_extent bytes = find_bytes(&uses[i], call);
        is_known = true;
        if (uses[i].length < 0)
            braid_audit_judge_bytes(audit, bytes.begin, bytes.end, uses[i].writes);
        call->opens |= has_pages(audit, bytes.begin, bytes.end);
        done = (audit->is_open ||
                allow(audit, bytes, uses[i].writes ? PROT_READ | PROT_WRITE : PROT_READ)) &&
               done;
    }
    if (!is_known)
        open_unknown(audit, call);
    if (has_address_as_offset(audit, call))
        braid_audit_miss(audit, "it uses memory of its buffers as a file");
    if (!done)
        braid_audit_give_up(audit, "the system refuses to open pages of its buffers");
}

// Some calls that make a child take a list instead of arguments. It may have more words than these,
// which all systems with it know. NULL: this call takes no list, or it fails.
enum { NUM_LISTED = 8 };
static const uintptr_t *find_listed(struct audit *audit, const struct audit_call *call)
{
    const uintptr_t *list = (const uintptr_t *)call->args[0];
    bool is_list =
        call->number == SYS_clone3 && is_readable(audit, call->args[0], NUM_LISTED * sizeof(*list));
    return is_list ? list : NULL;
}

// The same for one that makes a child, behind which nothing closes pages until the next node.
static void open_pages_for_child(struct audit *audit, const struct audit_call *call)
{
    enum { NUM_ARGS = 5 };
    bool is_list = call->number == SYS_clone3;
    if (call->number != SYS_clone && !is_list)
        return;
    const uintptr_t *list = find_listed(audit, call);
    if (!is_open_for(audit, call->args, is_list ? 1 : NUM_ARGS) ||
        (list && !is_open_for(audit, list, NUM_LISTED)))
        braid_audit_give_up(audit,
                            "it makes a thread or process, with arguments in pages of its buffers");
}

static bool has_other_data(const struct audit *audit)
{
    const struct audit_extent *extents = audit->memory.extents;
    for (size_t i = 0; i < audit->memory.num_extents; i++)
        if (extents[i].begin % AUDIT_PAGE || extents[i].end % AUDIT_PAGE)
            return true;
    return false;
}

// The system calls of a child are not handed over, and would fail at closed pages. A child with a
// copy of the memory has no access to the parent's. One that its parent waits for uses the parent's
// data, such as the arguments of a program that it begins. Behind vfork it runs the node's own
// code.
static void open_pages_for_process(struct audit *audit, struct audit_call *call, bool is_copy)
{
    if (!is_copy && call->number != SYS_vfork && !has_other_data(audit))
        return;
    if (!is_copy)
        braid_audit_miss(audit, "it makes a process that uses pages with its buffers");
    if (audit->is_open)
        return;
    call->opens_all = true;
    if (!braid_audit_open_all(audit))
        braid_audit_miss(audit, "the system refuses to open pages of its buffers");
}

// Behind the others: judges the rest, and closes the pages.
static void close_pages(struct audit *audit, const struct audit_call *call, intptr_t result)
{
    bool done = true;
    for (int i = 0; i < NUM_USES; i++) {
        if (uses[i].number != call->number)
            continue;
        struct audit_extent bytes = find_bytes(&uses[i], call);
        uintptr_t used = result > 0 ? (uintptr_t)result * uses[i].bytes : 0;
        if (uses[i].length >= 0)
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

_Static_assert(offsetof(struct audit_calls, hands_over) == 0, "the code below knows it");
_Static_assert(offsetof(struct audit_calls, back) == 8, "the code below knows it");
_Static_assert(offsetof(struct audit_calls, child_starts) == 16, "the code below knows it");

// The system leaves rcx and r11 with values of its own, so that the program expects none there. A
// child begins behind the call, perhaps on another stack. The parent of a process traps.
void braid_audit_make_call(void);
void braid_audit_make_thread(void);
void braid_audit_make_process(void);
void braid_audit_process_made(void);
__asm__(".pushsection .text\n"
        ".globl braid_audit_make_call\n.hidden braid_audit_make_call\n"
        ".type braid_audit_make_call, @function\n"
        "braid_audit_make_call:\n"
        "    syscall\n"
        "    int3\n"
        ".globl braid_audit_make_process\n.hidden braid_audit_make_process\n"
        ".globl braid_audit_process_made\n.hidden braid_audit_process_made\n"
        ".type braid_audit_make_process, @function\n"
        "braid_audit_make_process:\n"
        "    syscall\n"
        "    testq %rax, %rax\n"
        "    jz 1f\n"
        "    int3\n"
        "braid_audit_process_made:\n"
        "1:  movq braid_audit_calls+8(%rip), %rcx\n"
        "    jmp *%rcx\n"
        ".globl braid_audit_make_thread\n.hidden braid_audit_make_thread\n"
        ".type braid_audit_make_thread, @function\n"
        "braid_audit_make_thread:\n"
        "    syscall\n"
        "    movq braid_audit_calls+8(%rip), %rcx\n"
        "    testq %rax, %rax\n"
        "    jz 1f\n"
        "    movb $1, braid_audit_calls(%rip)\n"
        "    js 1f\n"
        "    jmp *%rcx\n"
        "1:  movl $0, braid_audit_calls+16(%rip)\n"
        "    jmp *%rcx\n"
        ".popsection\n");

static uintptr_t this_thread(void)
{
    uintptr_t thread;
    __asm__("movq %%fs:0, %0" : "=r"(thread));
    return thread;
}

void braid_audit_calls_enter(struct audit_calls_before *out_before)
{
    struct audit_calls *calls = &braid_audit_calls;
    out_before->is_own = atomic_load(&calls->thread) == this_thread();
    if (!out_before->is_own)
        return;
    out_before->handed_over = calls->hands_over;
    calls->hands_over = 0;
    out_before->call = calls->call;
}

void braid_audit_calls_leave(const struct audit_calls_before *before)
{
    if (!before->is_own)
        return;
    braid_audit_calls.call = before->call;
    braid_audit_calls.hands_over = before->handed_over;
}

// The handlers' return is the only call that is not handed over.
static bool ask_system(void)
{
    enum { RETURN_BYTES = 16 };
    return !prctl(HAND_OVER, 1, braid_audit_calls.returns, RETURN_BYTES,
                  &braid_audit_calls.hands_over);
}

bool braid_audit_calls_start(uintptr_t returns)
{
    braid_audit_calls.hands_over = 0;
    braid_audit_calls.returns = returns;
    if (!ask_system())
        return false;
    atomic_store(&braid_audit_calls.thread, this_thread());
    return true;
}

void braid_audit_calls_stop(void)
{
    if (atomic_load(&braid_audit_calls.thread) != this_thread())
        return;
    braid_audit_calls.hands_over = 0;
    prctl(HAND_OVER, 0, 0, 0, 0);
    atomic_store(&braid_audit_calls.thread, 0);
}

void braid_audit_calls_hand_over(bool is_on)
{
    if (!atomic_load(&braid_audit_calls.thread))
        return;
    if (is_on && braid_audit_calls.rests)
        braid_audit_calls.rests = !ask_system();
    braid_audit_calls.hands_over = is_on;
}

bool braid_audit_calls_are_left(void)
{
    return atomic_load(&braid_audit_calls.thread) && !braid_audit_calls.rests &&
           !braid_audit_calls.hands_over;
}

static bool makes_child(const struct audit_call *call)
{
    return call->number == SYS_clone || call->number == SYS_clone3 || call->number == SYS_fork ||
           call->number == SYS_vfork;
}

enum child { THREAD, COPY, BORROWER }; // the last has the memory of its parent, which waits

static enum child kind_of_child(struct audit *audit, const struct audit_call *call)
{
    enum { SHARES = 0x100, PARENT_WAITS = 0x4000 };
    const uintptr_t *list = find_listed(audit, call);
    uintptr_t flags = call->number == SYS_vfork   ? SHARES | PARENT_WAITS
                      : call->number == SYS_clone ? call->args[0]
                      : list                      ? *list
                                                  : 0;
    return !(flags & SHARES) ? COPY : flags & PARENT_WAITS ? BORROWER : THREAD;
}

static void set_call(ucontext_t *thread, void (*code)(void))
{
    thread->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)code;
}

// A thread reads `back` before the parent's next call.
static void make_child(struct audit *audit, struct audit_call *call, ucontext_t *thread)
{
    const enum child kind = kind_of_child(audit, call);
    open_pages_for_child(audit, call);
    audit->makes_threads |= kind == THREAD;
    while (atomic_load(&braid_audit_calls.child_starts))
        audit_system(SYS_sched_yield, 0, 0, 0, 0);
    atomic_store(&braid_audit_calls.back, call->back);
    atomic_store(&braid_audit_calls.child_starts, kind == THREAD);
    if (kind != THREAD)
        open_pages_for_process(audit, call, kind == COPY);
    set_call(thread, kind == THREAD ? braid_audit_make_thread : braid_audit_make_process);
}

// No program can block the signals that an audit needs.
static void let_through(struct audit *audit, struct audit_call *call, ucontext_t *thread)
{
    if (call->number != SYS_rt_sigprocmask || call->args[0] == SIG_UNBLOCK ||
        !is_readable(audit, call->args[1], sizeof(call->mask)))
        return;
    call->mask = *(const uint64_t *)call->args[1] & ~AUDIT_FAULTS;
    thread->uc_mcontext.gregs[REG_RSI] = (greg_t)(uintptr_t)&braid_audit_calls.call.mask;
}

// The node makes such a call by itself, and the audit sees no more of it. NULL: another call. Calls
// for other processors have numbers of their own. Behind a handler of traps, the trap that ends
// each call would be the program's.
static const char *find_reason(const struct audit_call *call, unsigned processor)
{
    const unsigned own = 0xc000003e;
    if (processor != own || call->number > UINT16_MAX)
        return "it makes a system call for another kind of processor";
    if (call->number == SYS_prctl && call->args[0] == HAND_OVER)
        return "it changes who gets its system calls";
    if (call->number == SYS_rt_sigaction && call->args[1] && (int)call->args[0] == SIGTRAP)
        return "it sets the handler of traps, which audits need";
    return NULL;
}

// No further call of the node is handed over. So pages stay open, and handlers have their own
// masks.
static void rest(struct audit *audit, const char *reason)
{
    braid_audit_calls.rests = true;
    braid_audit_give_up(audit, reason);
    braid_audit_close_masks(audit);
}

static void make_by_itself(struct audit *audit, const char *reason, ucontext_t *thread)
{
    enum { CALL_BYTES = 2 };
    rest(audit, reason);
    thread->uc_mcontext.gregs[REG_RIP] -= CALL_BYTES;
}

// A handler of the program for these would be called for closed pages, or for calls that are handed
// over.
static bool sets_handler(const struct audit_call *call)
{
    int number = (int)call->args[0];
    return call->number == SYS_rt_sigaction && call->args[1] &&
           (number == SIGSEGV || number == SIGTRAP || number == SIGSYS || number == SIGBUS ||
            number == SIGFPE || number == SIGILL);
}

// Where the call has the mask of handlers that may run; 0: nowhere.
static uintptr_t find_handler_mask(struct audit *audit, const struct audit_call *call)
{
    const uintptr_t *args = call->args, *action = (const uintptr_t *)args[1];
    switch (call->number) {
    case SYS_rt_sigsuspend:
        return args[0];
    case SYS_ppoll:
        return args[3];
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        return args[4];
    case SYS_pselect6:
    case SYS_io_pgetevents:
        return is_readable(audit, args[5], sizeof(uintptr_t)) ? *(const uintptr_t *)args[5] : 0;
    case SYS_rt_sigaction:
        return is_readable(audit, args[1], AUDIT_ACTION_WORDS * sizeof(*action)) &&
                       action[AUDIT_HANDLER] != (uintptr_t)SIG_DFL &&
                       action[AUDIT_HANDLER] != (uintptr_t)SIG_IGN
                   ? (uintptr_t)&action[AUDIT_MASK]
                   : 0;
    default:
        return 0;
    }
}

static bool blocks_faults(struct audit *audit, const struct audit_call *call)
{
    const uintptr_t mask = find_handler_mask(audit, call);
    return is_readable(audit, mask, sizeof(uint64_t)) && *(const uint64_t *)mask & AUDIT_FAULTS;
}

// The program gets its own mask in the action that the call tells, and keeps one that it sets.
static void tell_own_mask(struct audit *audit, const struct audit_call *call, long result)
{
    uintptr_t *told = (uintptr_t *)call->args[2];
    if (call->number != SYS_rt_sigaction || result)
        return;
    struct audit_mask *own = &audit->masks[(int)call->args[0] - 1];
    if (told && own->handler && told[AUDIT_HANDLER] == own->handler &&
        told[AUDIT_MASK] == (own->mask & ~AUDIT_FAULTS))
        told[AUDIT_MASK] = own->mask;
    if (call->args[1])
        own->handler = 0;
}

void braid_audit_call_begin(struct audit *audit, struct audit_calls_before *before,
                            unsigned processor, ucontext_t *thread)
{
    const greg_t *registers = thread->uc_mcontext.gregs;
    struct audit_call call = {
        .number = (uintptr_t)registers[REG_RAX],
        .back = (uintptr_t)registers[REG_RIP],
        .args = { (uintptr_t)registers[REG_RDI], (uintptr_t)registers[REG_RSI],
                  (uintptr_t)registers[REG_RDX], (uintptr_t)registers[REG_R10],
                  (uintptr_t)registers[REG_R8], (uintptr_t)registers[REG_R9] },
    };
    before->handed_over = 0;
    if (sets_handler(&call))
        rest(audit, "it sets a handler of faults, to which closed pages would be faults of its "
                    "own");
    else if (blocks_faults(audit, &call))
        rest(audit, "a handler that blocks faults may run, which would end the process at a "
                    "closed page");
    const char *reason = find_reason(&call, processor);
    if (reason) {
        make_by_itself(audit, reason, thread);
        return;
    }
    if (makes_child(&call)) {
        make_child(audit, &call, thread);
        before->call = call;
        return;
    }
    open_pages(audit, &call);
    uint64_t mask;
    memcpy(&mask, &thread->uc_sigmask, sizeof(mask));
    if (call.opens && lets_handlers_run(&call, find_mask_behind(audit, &call, mask)))
        braid_audit_miss(audit, "a handler may run during its system call, for which pages open");
    let_through(audit, &call, thread);
    set_call(thread, braid_audit_make_call);
    before->call = call;
}

bool braid_audit_call_ends(const ucontext_t *thread)
{
    enum { CODE_BYTES = 3 };
    uintptr_t at = (uintptr_t)thread->uc_mcontext.gregs[REG_RIP];
    return atomic_load(&braid_audit_calls.thread) == this_thread() &&
           (at == (uintptr_t)braid_audit_make_call + CODE_BYTES ||
            at == (uintptr_t)braid_audit_process_made);
}

// A call may have failed at a closed page to which its arguments lead by other memory.
static bool repeat(struct audit *audit, struct audit_call *call, ucontext_t *thread)
{
    greg_t *registers = thread->uc_mcontext.gregs;
    if (registers[REG_RAX] != -EFAULT || call->opens_all || audit->is_open || makes_child(call))
        return false;
    call->opens_all = true;
    braid_audit_miss(audit, unseen_call);
    braid_audit_open_all(audit);
    registers[REG_RAX] = (greg_t)call->number;
    set_call(thread, braid_audit_make_call);
    return true;
}

void braid_audit_call_end(struct audit *audit, struct audit_calls_before *before,
                          ucontext_t *thread)
{
    greg_t *registers = thread->uc_mcontext.gregs;
    before->handed_over = 0;
    if (repeat(audit, &before->call, thread))
        return;
    tell_own_mask(audit, &before->call, registers[REG_RAX]);
    close_pages(audit, &before->call, registers[REG_RAX]);
    registers[REG_RSI] = (greg_t)before->call.args[1];
    registers[REG_RIP] = (greg_t)before->call.back;
    before->handed_over = !braid_audit_calls.rests;
}

#else

void braid_audit_calls_enter(struct audit_calls_before *out_before)
{
    out_before->is_own = false;
}

void braid_audit_calls_leave(const struct audit_calls_before *before)
{
    (void)before;
}

bool braid_audit_calls_start(uintptr_t returns)
{
    (void)returns;
    return false;
}

void braid_audit_calls_stop(void)
{
}

void braid_audit_calls_hand_over(bool is_on)
{
    (void)is_on;
}

bool braid_audit_calls_are_left(void)
{
    return false;
}

void braid_audit_call_begin(struct audit *audit, struct audit_calls_before *before,
                            unsigned processor, ucontext_t *thread)
{
    (void)audit, (void)before, (void)processor, (void)thread;
}

bool braid_audit_call_ends(const ucontext_t *thread)
{
    (void)thread;
    return false;
}

void braid_audit_call_end(struct audit *audit, struct audit_calls_before *before,
                          ucontext_t *thread)
{
    (void)audit, (void)before, (void)thread;
}

#endif
