// SPDX-License-Identifier: Apache-2.0
// For a test that has a pthread_create of its own: the one that really starts a thread.
#ifndef TESTS_SUPPORT_START_THREAD_H
#define TESTS_SUPPORT_START_THREAD_H

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

// The thread sanitizer has one, which clang links into the program, where dlsym finds none behind
// it.
__attribute__((weak)) int __interceptor_pthread_create(pthread_t *thread,
                                                       const pthread_attr_t *attributes,
                                                       void *(*routine)(void *argument),
                                                       void *argument);

static inline int start_thread(pthread_t *thread, const pthread_attr_t *attributes,
                               void *(*routine)(void *argument), void *argument)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&create, &found, sizeof(create));
    if (__interceptor_pthread_create)
        create = __interceptor_pthread_create;
    return create(thread, attributes, routine, argument);
}

#endif
