// SPDX-License-Identifier: Apache-2.0
// A thread of the program, made before an audit, which does work of nodes.
#ifndef BRAID_TESTS_NODE_THREAD_H
#define BRAID_TESTS_NODE_THREAD_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/check.h"

typedef void *node_work(void *user);

static struct {
    pthread_t handle;
    pid_t number;
    _Atomic(node_work *) work;
    void *user;
    atomic_bool begins, ends;
} node_thread;

static inline void *do_work_of_nodes(void *user)
{
    node_thread.number = (pid_t)syscall(SYS_gettid);
    atomic_store(&node_thread.begins, true);
    while (!atomic_load(&node_thread.ends)) {
        node_work *work = atomic_load(&node_thread.work);
        if (!work) {
            sched_yield();
            continue;
        }
        work(node_thread.user);
        atomic_store(&node_thread.work, NULL);
    }
    return user;
}

static inline void node_thread_open(void)
{
    atomic_store(&node_thread.ends, false);
    atomic_store(&node_thread.begins, false);
    assert_int_equal(pthread_create(&node_thread.handle, NULL, do_work_of_nodes, NULL), 0);
    while (!atomic_load(&node_thread.begins))
        sched_yield();
}

// Behind all work.
static inline void node_thread_close(void)
{
    atomic_store(&node_thread.ends, true);
    pthread_join(node_thread.handle, NULL);
}

static inline void node_thread_begin(node_work *work, void *user)
{
    node_thread.user = user;
    atomic_store(&node_thread.work, work);
}

static inline void node_thread_end(void)
{
    while (atomic_load(&node_thread.work))
        sched_yield();
}

static inline void node_thread_run(node_work *work, void *user)
{
    node_thread_begin(work, user);
    node_thread_end();
}

// The C library blocks all signals around such a call.
static inline void node_thread_send(int signal)
{
    syscall(SYS_tgkill, getpid(), node_thread.number, signal);
}

#endif
