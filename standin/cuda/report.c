// SPDX-License-Identifier: Apache-2.0
// What the stand-in says: complaints as they happen, and a summary at exit when asked.
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../standin_control.h"
#include "context.h"
#include "faults.h"
#include "handles.h"
#include "memory.h"
#include "world.h"

void complain(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "standin cuda: %s\n", line);
}

static standin_priority_watcher *priority_watcher; // guarded by the world's lock

void standin_watch_priorities(standin_priority_watcher *watch)
{
    world_lock();
    priority_watcher = watch;
    world_unlock();
}

// Expects the world's lock.
void report_priority(const char *kernel, int priority)
{
    if (priority_watcher != NULL)
        priority_watcher(kernel, priority);
}

long standin_calls(const char *function)
{
    return faults_calls(function);
}

void standin_watch(standin_watcher *watch)
{
    faults_watch(watch);
}

void standin_hold(standin_watcher *hold)
{
    faults_hold(hold);
}

static long live_locked(const char *kind)
{
    static const struct {
        const char *name;
        enum handle_kind kind;
    } names[] = {
        { "stream", HANDLE_STREAM },       { "event", HANDLE_EVENT }, { "module", HANDLE_MODULE },
        { "graph", HANDLE_GRAPH },         { "exec", HANDLE_EXEC },   { "pool", HANDLE_POOL },
        { "semaphore", HANDLE_SEMAPHORE },
    };
    if (strcmp(kind, "context") == 0)
        return context_live();
    if (strcmp(kind, "memory") == 0)
        return memory_live();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(kind, names[i].name) == 0)
            return handles_live(names[i].kind);
    return -1;
}

long standin_live(const char *kind)
{
    world_lock();
    long count = live_locked(kind);
    world_unlock();
    return count;
}

long standin_bad_accesses(void)
{
    world_lock();
    long count = memory_bad_accesses();
    world_unlock();
    return count;
}

static void write_report(FILE *file)
{
    static const char *const kinds[] = { "context", "stream", "event", "module",
                                         "graph",   "exec",   "pool",  "memory" };
    fprintf(file,
            "standin cuda: calls %ld, work items %ld, bad accesses %ld, live:", standin_calls("*"),
            faults_work(), standin_bad_accesses());
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        fprintf(file, " %s %ld", kinds[i], standin_live(kinds[i]));
    fprintf(file, "\n");
}

// BRAID_STANDIN_REPORT=1 writes to stderr; any other value names a file to append to.
__attribute__((destructor)) static void report_at_exit(void)
{
    const char *where = getenv("BRAID_STANDIN_REPORT");
    if (where == NULL || *where == '\0')
        return;
    if (strcmp(where, "1") == 0) {
        write_report(stderr);
        return;
    }
    FILE *file = fopen(where, "a");
    if (file == NULL) {
        complain("cannot write the report to %s", where);
        return;
    }
    write_report(file);
    fclose(file);
}
