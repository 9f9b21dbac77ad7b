// SPDX-License-Identifier: Apache-2.0
// One line on the terminal that says how far long work has come; nothing where there is none.
#include "progress.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"

enum { UNKNOWN, TERMINAL, ELSEWHERE };

static int standard_error;  // what it is
static bool is_verbose;     // each step leaves a line with its time
static bool is_drawn;       // there is a line to take away
static const char *step;    // now; NULL: none
static uint64_t step_start; // in nanoseconds
static uint64_t last_drawn; // in nanoseconds

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

void progress_clear(void)
{
    take_line_away();
    if (is_verbose && step)
        fprintf(stderr, "%-26s %9.3f ms\n", step, (double)(clock_now_ns() - step_start) / 1e6);
    step = NULL;
}

static void draw(uint64_t done, uint64_t total)
{
    fprintf(stderr, "\r\033[K%s", step);
    if (total > 0)
        fprintf(stderr, " %" PRIu64 " %%", done * 100 / total);
    fflush(stderr);
    is_drawn = true;
}

void progress_show(const char *what, uint64_t done, uint64_t total)
{
    if (standard_error == UNKNOWN)
        standard_error = isatty(STDERR_FILENO) ? TERMINAL : ELSEWHERE;
    if (standard_error == ELSEWHERE && !is_verbose)
        return;
    const uint64_t now = clock_now_ns();
    const bool is_next = step != what;
    if (is_next) {
        progress_clear();
        step = what;
        step_start = now;
    }
    if (standard_error == TERMINAL && (is_next || now - last_drawn >= 100000000)) {
        draw(done, total);
        last_drawn = now;
    }
}
