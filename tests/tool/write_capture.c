// SPDX-License-Identifier: Apache-2.0
// Writes a capture: write_capture BACKEND WHAT PATH. WHAT: whole, race, bodies, bodies-race or
// bodies-streams. Prints its size.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "tool/capture_frames.h"

static char **words;

static void write_it(void **state)
{
    (void)state;
    const char *what = words[2];
    uint64_t bytes;
    if (strncmp(what, "bodies", 6) == 0)
        bytes = capture_bodies(
            words[1], strcmp(what, "bodies-streams") ? BRAID_MODE_AUTO : BRAID_MODE_STREAMS,
            strcmp(what, "bodies-race") == 0, words[3]);
    else
        bytes = capture_frame(words[1], strcmp(what, "race") == 0, words[3]);
    fprintf(stdout, "bytes: %" PRIu64 "\n", bytes);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(write_it) };
    words = argv;
    return argc == 4 ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
