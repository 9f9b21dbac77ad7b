// SPDX-License-Identifier: Apache-2.0
// One line on the terminal that says how far long work has come; nothing where there is none.
//
// A thread draws the first line, half a second after the work began: a long step may show itself
// only once. Later lines are drawn as they come.
#include "progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

enum { UNKNOWN, TERMINAL, ELSEWHERE };

#define LATE_NS 500000000u // shorter work shows nothing

static int standard_error; // what it is
static bool is_verbose;    // each step leaves a line with its time

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the rest
static bool is_late;                                     // lines are drawn
static bool is_drawn;                                    // there is a line to take away
static const char *step;                                 // now; NULL: none
static uint64_t step_start, last_drawn;                  // in nanoseconds
static uint64_t num_done, num_all;                       // how far the step is

void progress_be_verbose(void)
{
    is_verbose = true;
}

static void take_line_away(void)
{
    if (is_drawn)
        fputs("\r\033[K", stderr);
    is_drawn = false;
}

static void end_step(void)
{
    take_line_away();
    if (is_verbose && step)
        fprintf(stderr, "%-26s %9.3f ms\n", step, (double)(clock_now_ns() - step_start) / 1e6);
    step = NULL;
}

void progress_clear(void)
{
    pthread_mutex_lock(&lock);
    end_step();
    pthread_mutex_unlock(&lock);
}

static void draw(uint64_t now)
{
    fprintf(stderr, "\r\033[K%s", step);
    if (num_all > 0)
        fprintf(stderr, " %" PRIu64 " %%", num_done * 100 / num_all);
    fflush(stderr);
    is_drawn = true;
    last_drawn = now;
}

static void *draw_first_line(void *unused)
{
    const struct timespec late = { .tv_nsec = LATE_NS };
    nanosleep(&late, NULL);
    pthread_mutex_lock(&lock);
    is_late = true;
    if (step)
        draw(clock_now_ns());
    pthread_mutex_unlock(&lock);
    return unused;
}

// The thread takes no signal: Ctrl-C is for the others.
static void start_drawing(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (pthread_create(&thread, NULL, draw_first_line, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void progress_show(const char *what, uint64_t done, uint64_t total)
{
    if (standard_error == UNKNOWN) {
        standard_error = isatty(STDERR_FILENO) ? TERMINAL : ELSEWHERE;
        if (standard_error == TERMINAL)
            start_drawing();
    }
    if (standard_error == ELSEWHERE && !is_verbose)
        return;
    const uint64_t now = clock_now_ns();
    pthread_mutex_lock(&lock);
    const bool is_next = step != what;
    if (is_next) {
        end_step();
        step = what;
        step_start = now;
    }
    num_done = done;
    num_all = total;
    if (is_late && (is_next || now - last_drawn >= 100000000))
        draw(now);
    pthread_mutex_unlock(&lock);
}
