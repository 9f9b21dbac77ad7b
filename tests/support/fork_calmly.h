// SPDX-License-Identifier: Apache-2.0
// A fork that the address sanitizer bears. If another thread holds a lock of the sanitizer at the
// fork, nobody gives it back in the child, whose next allocation hangs. One file of a program
// includes this.
#ifndef BRAID_TESTS_FORK_CALMLY_H
#define BRAID_TESTS_FORK_CALMLY_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sanitizers.h"

// Whether a thread of this process sleeps, as the system tells behind its name in parentheses.
static inline bool thread_sleeps(long thread)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", thread);
    FILE *file = fopen(path, "r");
    if (!file)
        return true; // it has ended
    const char *name_end = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
    fclose(file);
    return name_end && name_end[1] == ' ' && name_end[2] == 'S';
}

static inline bool others_sleep(void)
{
    bool sleep = true;
    DIR *threads = opendir("/proc/self/task");
    if (!threads)
        return true;
    for (const struct dirent *entry = readdir(threads); entry; entry = readdir(threads)) {
        const long thread = atol(entry->d_name); // 0: "." and ".."
        if (thread && thread != (long)gettid() && !thread_sleeps(thread))
            sleep = false;
    }
    closedir(threads);
    return sleep;
}

static bool is_child;

#ifdef UNDER_ASAN
// The leak sanitizer asks this. A child has leaks: what only stacks of the parent's threads name.
#ifdef __cplusplus
extern "C" int __lsan_is_turned_off(void);
#else
int __lsan_is_turned_off(void);
#endif
int __lsan_is_turned_off(void)
{
    return is_child;
}
#endif

// With the address sanitizer, waits until each other thread sleeps: it then holds no such lock.
static inline pid_t fork_calmly(void)
{
#ifdef UNDER_ASAN
    enum { MOST_LOOKS = 600000 }; // about a minute
    for (int i = 0; !others_sleep(); i++) {
        if (i == MOST_LOOKS) {
            fprintf(stderr, "fork_calmly: another thread never sleeps\n");
            abort();
        }
        usleep(100);
    }
#else
    (void)others_sleep;
#endif
    const pid_t child = fork();
    is_child = is_child || child == 0;
    return child;
}

#endif
