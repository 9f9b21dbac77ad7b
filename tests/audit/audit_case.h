// SPDX-License-Identifier: Apache-2.0
// Cases of audits that may end the program or wait for ever: each has a process of its own.
#ifndef BRAID_TESTS_AUDIT_CASE_H
#define BRAID_TESTS_AUDIT_CASE_H

#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit_testing.h"

enum { DECLARED = 64, BESIDE = 100, MOST_SECONDS = 60 };
enum { DONE = 0, NO_CALLS = 77, WRONG };

__attribute__((unused)) static volatile uint32_t *words; // the buffer has
__attribute__((unused)) static int ends[2];              // a pipe's

static inline void limit_time(void)
{
    timer_t timer;
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
    const struct itimerspec limit = { .it_value.tv_sec = MOST_SECONDS };
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &limit, NULL))
        _exit(WRONG);
}

// No handler of the tests' library is left.
static inline void begin_case(void)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
    limit_time();
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        signal(faults[i], SIG_DFL);
    open_audited(NULL);
    words = audited.words;
    if (pipe(ends))
        _exit(WRONG);
    audit(audited.device, audited.graph, &audited.findings);
    if (audited.findings.lacks_calls)
        _exit(NO_CALLS);
}

// How the process ends, as wait() tells.
static inline int end_case(int (*act)(void))
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        begin_case();
        _exit(act());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static inline void run_case(int (*act)(void))
{
    const int status = end_case(act);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_CALLS)
        skip_because("system calls of nodes are not seen here");
    assert_int_equal(WEXITSTATUS(status), DONE);
}

static inline void add_call(braid_host_function *call)
{
    braid_resource part;
    check_ok(braid_graph_add_range(audited.graph, audited.buffer, 0, DECLARED, &part));
    check_ok(braid_graph_add_host_call(
        audited.graph,
        &(braid_host_call){ BRAID_ACCESSES({ part, BRAID_READ_WRITE }), .call = call }, NULL));
}

static inline void audit_case(void)
{
    audit(audited.device, audited.graph, &audited.findings);
}

static inline bool is_found(uint32_t node, braid_audit_kind kind)
{
    for (size_t i = 0; i < audited.findings.num; i++) {
        const braid_audit_finding *told = &audited.findings.items[i].told;
        if (told->kind == kind && told->node.graph && told->node.index == node)
            return true;
    }
    return false;
}

// Returns how a case ends. If it is wrong, the findings tell why.
static inline int end_with(bool is_right)
{
    for (size_t i = 0; i < audited.findings.num && !is_right; i++)
        fprintf(stderr, "%s\n", audited.findings.items[i].text);
    return is_right ? DONE : WRONG;
}

static inline void write_beside(void *user)
{
    (void)user;
    words[BESIDE] = 1;
}

static inline void set_timer(void)
{
    const struct itimerval soon = { .it_value.tv_usec = 10000 };
    setitimer(ITIMER_REAL, &soon, NULL);
}

__attribute__((unused)) static atomic_bool node_waits; // from now on, or soon

static inline bool main_sleeps(void)
{
    char path[64], line[256], state = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/status", getpid());
    FILE *file = fopen(path, "r");
    while (file && !state && fgets(line, sizeof(line), file))
        sscanf(line, "State: %c", &state);
    if (file)
        fclose(file);
    return state == 'S';
}

// For another thread.
static inline void await_sleep(void)
{
    while (!atomic_load(&node_waits) || !main_sleeps())
        sched_yield();
}

#endif
