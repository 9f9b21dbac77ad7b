// SPDX-License-Identifier: Apache-2.0
// Faults of which the system has not told their threads yet, since these have no core. Whether
// other threads than the audit's run.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "audit/audit_by_pages.h"
#include "audit/audit_calls.h"
#include "audit/audit_system.h"
#include "base/own_threads.h"

enum { MOST_LOOKS = 1000, PAUSE_NS = 1000000 }; // a debugger may hold a thread for ever

struct look {
    bool is_pending; // a fault that the system has noted
    bool runs;       // another thread does
    uint64_t others; // differs once another thread has begun, run or ended
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
    if (number == audit_system(SYS_gettid, 0, 0, 0, 0))
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
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", thread);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "SigPnd: %llx", &value) == 1)
            look->is_pending |= value >> (SIGSEGV - 1) & 1;
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
