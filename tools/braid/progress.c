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
static bool is_shown;       // there is a line to take away
static const char *shown;   // what it says
static uint64_t last_drawn; // in nanoseconds

void progress_show(const char *what, uint64_t done, uint64_t total)
{
    if (standard_error == UNKNOWN)
        standard_error = isatty(STDERR_FILENO) ? TERMINAL : ELSEWHERE;
    if (standard_error == ELSEWHERE)
        return;
    uint64_t now = clock_now_ns();
    if (is_shown && shown == what && now - last_drawn < 100000000)
        return;
    fprintf(stderr, "\r\033[K%s", what);
    if (total > 0)
        fprintf(stderr, " %" PRIu64 " %%", done * 100 / total);
    fflush(stderr);
    is_shown = true;
    shown = what;
    last_drawn = now;
}

void progress_clear(void)
{
    if (is_shown)
        fputs("\r\033[K", stderr);
    is_shown = false;
}
