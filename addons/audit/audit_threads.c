// SPDX-License-Identifier: Apache-2.0
// Faults of which the system has not told their threads yet, since these have no core. Whether
// other threads than the audit's run or block faults, and where their stacks are.
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>

#include "audit/audit_by_pages.h"
#include "audit/audit_calls.h"
#include "audit/audit_system.h"
#include "base/array.h"
#include "base/error.h"
#include "base/own_threads.h"

enum { MOST_LOOKS = 1000, PAUSE_NS = 1000000 }; // a debugger may hold a thread for ever

struct look {
    bool is_pending;       // a fault that the system has noted
    bool runs;             // another thread does
    uint64_t others;       // differs once another thread has begun, run or ended
    uint32_t num_blocking; // other threads that block faults
};

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 31) * 0x9e3779b97f4a7c15;
    return value ^ value >> 29;
}

// A thread of Braid's that is on its way to sleep makes no system call that uses a buffer. So only
// calls of the program count there.
static void note_other(long number, uint64_t num_switches, bool runs, struct look *look)
{
    uint32_t num_changes = 0;
    if (number == audit_thread())
        return;
    bool is_idle = braid_own_threads_find((int)number, &num_changes) && num_changes % 2 == 0;
    look->runs |= runs && !is_idle;
    look->others += mix(mix((uint64_t)number) + (is_idle ? ~(uint64_t)num_changes : num_switches));
}

// Each time that a thread stops running, the system counts one switch more.
static void look_at(const char *thread, struct look *look)
{
    char path[64], line[256], state = 'S';
    unsigned long long value, switches = 0;
    const bool is_other = strtol(thread, NULL, 10) != audit_thread();
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", thread);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "SigPnd: %llx", &value) == 1)
            look->is_pending |= is_other && value >> (SIGSEGV - 1) & 1;
        else if (sscanf(line, "SigBlk: %llx", &value) == 1)
            look->num_blocking += is_other && value >> (SIGSEGV - 1) & 1;
        else if (sscanf(line, "voluntary_ctxt_switches: %llu", &value) == 1 ||
                 sscanf(line, "nonvoluntary_ctxt_switches: %llu", &value) == 1)
            switches += value;
        else
            sscanf(line, "State: %c", &state);
    }
    if (file)
        fclose(file);
    note_other(strtol(thread, NULL, 10), switches, state == 'R' || !file, look);
}

// A thread of which the system does not tell may run. The program may have all files open that it
// can have.
static struct look look_at_all(void)
{
    DIR *threads = opendir("/proc/self/task");
    struct look look = { .runs = !threads };
    for (struct dirent *thread; threads && (thread = readdir(threads));)
        if (thread->d_name[0] != '.')
            look_at(thread->d_name, &look);
    if (threads)
        closedir(threads);
    return look;
}

void braid_audit_wait_for_faults(void)
{
    for (int i = 0; i < MOST_LOOKS && look_at_all().is_pending; i++)
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
}

uint32_t braid_audit_wait_for_handlers(uint32_t num_known)
{
    uint32_t num = look_at_all().num_blocking;
    for (int i = 0; i < MOST_LOOKS && num > num_known; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
        num = look_at_all().num_blocking;
    }
    return num;
}

uint64_t braid_audit_note_others(void)
{
    return look_at_all().others;
}

// The thread sanitizer has a thread of its own, which runs at any time.
bool braid_audit_others_ran(uint64_t noted)
{
    struct look look = look_at_all();
    return !AUDIT_LEAVES_CALLS && (look.runs || look.others != noted);
}

// ---- stacks ----

// A stack and the thread's data lie before this address, in the same mapping. No buffer can be
// right behind it.
struct stack {
    uintptr_t at;
    size_t bytes; // at most
};

struct stacks {
    struct audit_pages *pages;
    struct array items; // struct stack
};

// Fresh attributes have the usual size. The call that asks for it is newer than the oldest C
// library that Braid is built for.
static size_t find_stack_bytes(void)
{
    size_t bytes = 0;
    pthread_attr_t usual;
    if (pthread_attr_init(&usual))
        return 0;
    pthread_attr_getstacksize(&usual, &bytes);
    pthread_attr_destroy(&usual);
    return bytes;
}

// The system knows a list of each thread, which the C library keeps behind its stack. The program's
// first thread has that elsewhere, and random bytes in its stack.
static bool add_stack(struct array *stacks, long thread, size_t bytes)
{
    const bool is_first = thread == getpid();
    struct stack stack = { 0, is_first ? AUDIT_PAGE : bytes };
    const struct stack first = { getauxval(AT_RANDOM), SIZE_MAX };
    size_t list_bytes;
    if (thread == audit_thread())
        return true;
    if (syscall(SYS_get_robust_list, thread, &stack.at, &list_bytes))
        return true; // it has ended
    return braid_array_put(stacks, &stack, sizeof(stack)) &&
           (!is_first || braid_array_put(stacks, &first, sizeof(first)));
}

static braid_status leave_stacks(void *context, const struct audit_mapping *mapping)
{
    const struct stacks *stacks = context;
    const struct stack *items = stacks->items.items;
    for (size_t i = 0; i < stacks->items.num; i++) {
        const uintptr_t at = items[i].at;
        if (at < mapping->begin || at >= mapping->end)
            continue;
        const uintptr_t before = at - mapping->begin;
        braid_audit_pages_leave(stacks->pages,
                                at - (before < items[i].bytes ? before : items[i].bytes), at + 1);
    }
    return BRAID_OK;
}

braid_status braid_audit_leave_stacks(struct audit_pages *pages)
{
    struct stacks stacks = { .pages = pages };
    const size_t bytes = find_stack_bytes();
    DIR *threads = opendir("/proc/self/task");
    bool has_memory = true;
    for (struct dirent *thread; threads && has_memory && (thread = readdir(threads));)
        if (thread->d_name[0] != '.')
            has_memory = add_stack(&stacks.items, strtol(thread->d_name, NULL, 10), bytes);
    if (threads)
        closedir(threads);
    braid_status status = has_memory ? braid_audit_pages_list(leave_stacks, &stacks)
                                     : braid_error_no_memory("an audit");
    braid_array_finish(&stacks.items);
    return status;
}
