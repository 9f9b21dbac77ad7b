// SPDX-License-Identifier: Apache-2.0
// The memory that a system call uses: opens its pages, and judges its accesses.
//
// A table tells all of some calls. Other calls may use some bytes behind each argument that is an
// address.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "audit/audit_by_pages.h"
#include "audit/audit_calls.h"
#include "audit/audit_system.h"

const char braid_audit_unseen_call[] =
    "a system call uses memory of its buffers in a way that is not known";

#if defined(__x86_64__) && defined(__linux__)

struct use {
    short number;
    unsigned char pointer; // an argument
    bool writes;
    signed char
        length; // the argument with the most bytes, of which the call returns the number; -1: fixed
    unsigned short bytes; // if it is fixed
};

static const struct use uses[] = {
    { SYS_read, 1, true, 2, 0 },
    { SYS_write, 1, false, 2, 0 },
    { SYS_pread64, 1, true, 2, 0 },
    { SYS_pwrite64, 1, false, 2, 0 },
    { SYS_getrandom, 0, true, 1, 0 },
    { SYS_futex, 0, false, -1, 4 },
    { SYS_futex, 3, false, -1, 16 },
    { SYS_nanosleep, 0, false, -1, 16 },
    { SYS_nanosleep, 1, true, -1, 16 },
    { SYS_clock_nanosleep, 2, false, -1, 16 },
    { SYS_clock_nanosleep, 3, true, -1, 16 },
    { SYS_clock_gettime, 1, true, -1, 16 },
    { SYS_rt_sigprocmask, 1, false, -1, 8 },
    { SYS_rt_sigprocmask, 2, true, -1, 8 },
    { SYS_wait4, 1, true, -1, 4 },
    { SYS_brk, 0, false, -1, 0 }, // an address that is not used
};
enum { NUM_USES = sizeof(uses) / sizeof(uses[0]) };

static struct audit_extent find_bytes(const struct use *use, const struct audit_call *call)
{
    uintptr_t begin = call->args[use->pointer];
    uintptr_t bytes = use->length < 0 ? use->bytes : call->args[use->length];
    if (!begin)
        return (struct audit_extent){ 0, 0 };
    return (struct audit_extent){ begin, bytes < UINTPTR_MAX - begin ? begin + bytes : begin };
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

static bool has_buffer(const struct audit *audit, uintptr_t begin, uintptr_t bytes)
{
    const struct audit_extent *extents = audit->memory.extents;
    uintptr_t end = bytes < UINTPTR_MAX - begin ? begin + bytes : UINTPTR_MAX;
    for (size_t i = 0; i < audit->memory.num_extents; i++)
        if (extents[i].begin < end && begin < extents[i].end)
            return true;
    return false;
}

static bool has_page(const struct audit *audit, uintptr_t address)
{
    size_t page = braid_audit_page_at(&audit->pages, address);
    return page != AUDIT_NO_PAGE && audit->pages.own[page];
}

// Where the list lies in a closed page, the node's faults tell of it.
static bool lists_buffer(const struct audit *audit, const struct iovec *list, uintptr_t num)
{
    for (uintptr_t i = 0; list && i < num && i < UIO_MAXIOV; i++)
        if (has_buffer(audit, (uintptr_t)list[i].iov_base, list[i].iov_len) ||
            has_page(audit, (uintptr_t)list[i].iov_base))
            return true;
    return false;
}

static bool takes_list(const struct audit_call *call, const struct iovec **out_list,
                       uintptr_t *out_num)
{
    switch (call->number) {
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_vmsplice:
        *out_list = (const struct iovec *)call->args[1], *out_num = call->args[2];
        return true;
    case SYS_sendmsg:
    case SYS_recvmsg: {
        const struct msghdr *message = (const struct msghdr *)call->args[1];
        *out_list = message ? message->msg_iov : NULL;
        *out_num = message ? message->msg_iovlen : 0;
        return true;
    }
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
    for (size_t i = 0; is_one && i < audit->pages.num_spans; i++) {
        const struct audit_span *span = &audit->pages.spans[i];
        if (begin < span->begin + span->num * AUDIT_PAGE && span->begin < begin + bytes)
            return true;
    }
    return false;
}

static bool takes_addresses_only(const struct audit_call *call)
{
    switch (call->number) {
    case SYS_mmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_munmap:
    case SYS_mremap:
    case SYS_madvise:
    case SYS_exit:
    case SYS_exit_group:
    case SYS_set_robust_list:
    case SYS_arch_prctl:
        return true;
    default:
        return false;
    }
}

// Whether an argument may be the address of bytes in a buffer. A length is another argument.
static bool may_use_buffer(const struct audit *audit, const struct audit_call *call)
{
    enum { MOST_FIXED_BYTES = 512 };
    const uintptr_t most_bytes = UINT32_MAX;
    uintptr_t bytes = MOST_FIXED_BYTES;
    for (int i = 0; i < AUDIT_CALL_ARGS; i++)
        if (call->args[i] > bytes && call->args[i] < most_bytes)
            bytes = call->args[i];
    for (int i = 0; i < AUDIT_CALL_ARGS; i++)
        if (call->args[i] > most_bytes && has_buffer(audit, call->args[i], bytes))
            return true;
    return false;
}

static bool is_open_for(const struct audit *audit, const uintptr_t *args, int num)
{
    for (int i = 0; i < num; i++)
        if (has_page(audit, args[i]))
            return false;
    return true;
}

static void open_all(struct audit *audit, struct audit_call *call)
{
    call->opens_all = !audit->is_open;
    if (call->opens_all)
        braid_audit_open_all(audit);
}

static void open_unknown(struct audit *audit, struct audit_call *call)
{
    const struct iovec *list = NULL;
    uintptr_t num = 0;
    if (takes_addresses_only(call))
        return;
    bool is_list = takes_list(call, &list, &num);
    bool is_unknown = is_list ? lists_buffer(audit, list, num) : may_use_buffer(audit, call);
    if (is_unknown)
        braid_audit_miss(audit, braid_audit_unseen_call);
    if (is_unknown || !is_open_for(audit, call->args, AUDIT_CALL_ARGS))
        open_all(audit, call);
}

void braid_audit_call_open(struct audit *audit, struct audit_call *call)
{
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    bool is_known = false, done = true;
    if (changes_pages(audit, call)) {
        braid_audit_give_up(audit, "it changes the rights of pages of its buffers, or maps others");
        return;
    }
    for (int i = 0; i < NUM_USES; i++) {
        if (uses[i].number != (short)call->number)
            continue;
        struct audit_extent bytes = find_bytes(&uses[i], call);
        is_known = true;
        if (uses[i].length < 0)
            braid_audit_judge_bytes(audit, bytes.begin, bytes.end, uses[i].writes);
        done = (audit->is_open || allow(audit, bytes, all)) && done;
    }
    if (!is_known)
        open_unknown(audit, call);
    if (!done)
        braid_audit_give_up(audit, "the system refuses to open pages of its buffers");
}

// A list may have more words than these, which all systems with it know.
void braid_audit_call_open_child(struct audit *audit, const struct audit_call *call)
{
    enum { NUM_ARGS = 5, NUM_LISTED = 8 };
    bool is_list = call->number == SYS_clone3;
    if (call->number != SYS_clone && !is_list)
        return;
    if (!is_open_for(audit, call->args, is_list ? 1 : NUM_ARGS) ||
        (is_list && !is_open_for(audit, (const uintptr_t *)call->args[0], NUM_LISTED)))
        braid_audit_give_up(audit,
                            "it makes a thread or process, with arguments in pages of its buffers");
}

void braid_audit_call_close(struct audit *audit, const struct audit_call *call, intptr_t result)
{
    bool done = true;
    for (int i = 0; i < NUM_USES; i++) {
        if (uses[i].number != (short)call->number)
            continue;
        struct audit_extent bytes = find_bytes(&uses[i], call);
        uintptr_t used = result > 0 ? (uintptr_t)result : 0;
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

#else

void braid_audit_call_open(struct audit *audit, struct audit_call *call)
{
    (void)audit, (void)call;
}

void braid_audit_call_close(struct audit *audit, const struct audit_call *call, intptr_t result)
{
    (void)audit, (void)call, (void)result;
}

#endif
