// SPDX-License-Identifier: Apache-2.0
// Faults of which the system has not told their threads yet, since these have no core.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "audit/audit_by_pages.h"

enum { MOST_LOOKS = 1000, PAUSE_NS = 1000000 }; // a debugger may hold a thread for ever

// Whether the system has noted a fault for the thread.
static bool is_pending(const char *thread)
{
    char path[64], line[256];
    unsigned long long signals = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", thread);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file) && sscanf(line, "SigPnd: %llx", &signals) != 1)
        continue;
    if (file)
        fclose(file);
    return signals >> (SIGSEGV - 1) & 1;
}

static bool any_is_pending(void)
{
    DIR *threads = opendir("/proc/self/task");
    bool found = false;
    for (struct dirent *thread; threads && !found && (thread = readdir(threads));)
        found = thread->d_name[0] != '.' && is_pending(thread->d_name);
    if (threads)
        closedir(threads);
    return found;
}

void braid_audit_wait_for_faults(void)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    for (int i = 0; i < MOST_LOOKS && any_is_pending(); i++)
        nanosleep(&pause, NULL);
}
