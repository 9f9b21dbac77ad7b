// SPDX-License-Identifier: Apache-2.0
// Leaks are looked for in the process that began, not in its children: a thread that is not in the
// child may have held the address sanitizer's locks at the fork. Included by one file of a program.
#ifndef BRAID_TESTS_LEAKS_OF_CHILDREN_H
#define BRAID_TESTS_LEAKS_OF_CHILDREN_H

#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
static pid_t process_that_began;

__attribute__((constructor)) static void note_the_process(void)
{
    process_that_began = getpid();
}

// The leak sanitizer asks this before it takes a lock.
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return getpid() != process_that_began;
}
#ifdef __cplusplus
}
#endif

#endif
