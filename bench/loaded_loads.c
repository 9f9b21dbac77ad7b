// SPDX-License-Identifier: Apache-2.0
// Other programs that use the machine: loops, compilers, and one with many short threads.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loaded.h"
#include "replay.h"

enum { MOST_PROCESSES = 8, NUM_COMPILERS = 2, NUM_THREADS = 16 };

const char *const loaded_load_names[] = { "none",         "1 busy loop", "2 busy loops",
                                          "8 busy loops", "compilers",   "short threads" };
const uint32_t loaded_num_loads = sizeof(loaded_load_names) / sizeof(loaded_load_names[0]);
enum { COMPILERS = 4, SHORT_THREADS = 5 };

static pid_t processes[MOST_PROCESSES];
static uint32_t num_processes;

static void be_busy(void)
{
    for (volatile unsigned i = 0;; i++)
        continue;
}

// Compiles a long source again and again.
static void compile(void)
{
    char command[512];
    snprintf(
        command, sizeof(command),
        "while :; do { for i in $(seq 400); do echo \"double f$i(double *x, int n) { double s = $i;"
        " for (int i = 0; i < n; i++) s += x[i] * (i %% %d) / (s + 1); return s; }\"; done; } |"
        " cc -O2 -x c -c - -o /dev/null 2>&1 || sleep 1; done",
        7);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(1);
}

// Computes and sleeps by turns, for some hundred microseconds each, and ends.
static void *live_shortly(void *user)
{
    uint64_t state = (uintptr_t)user;
    for (int i = 0; i < 20; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t until = replay_now_ns() + 20000 + (state >> 33) % 200000;
        while (replay_now_ns() < until)
            continue;
        replay_sleep_ns(50000 + (state >> 43) % 1000000);
    }
    return NULL;
}

static void run_short_threads(void)
{
    pthread_t threads[NUM_THREADS];
    for (uintptr_t turn = 0;; turn++) {
        for (uintptr_t i = 0; i < NUM_THREADS; i++) {
            if (pthread_create(&threads[i], NULL, live_shortly, (void *)(turn * NUM_THREADS + i)))
                _exit(1);
        }
        for (int i = 0; i < NUM_THREADS; i++)
            pthread_join(threads[i], NULL);
    }
}

// In a group of its own, so that all that it starts ends with it.
static void start(void (*run)(void))
{
    fflush(stdout);
    pid_t process = fork();
    if (process < 0)
        abort();
    if (process == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run();
    }
    setpgid(process, process);
    processes[num_processes++] = process;
}

void loaded_load_start(uint32_t kind)
{
    static const uint32_t loops[] = { 0, 1, 2, 8, 0, 0 };
    for (uint32_t i = 0; i < loops[kind]; i++)
        start(be_busy);
    for (uint32_t i = 0; i < NUM_COMPILERS && kind == COMPILERS; i++)
        start(compile);
    if (kind == SHORT_THREADS)
        start(run_short_threads);
}

void loaded_load_stop(void)
{
    for (uint32_t i = 0; i < num_processes; i++) {
        kill(-processes[i], SIGKILL);
        waitpid(processes[i], NULL, 0);
    }
    num_processes = 0;
}
