// SPDX-License-Identifier: Apache-2.0
// Writes a capture: write_capture BACKEND whole|race PATH. Prints its size.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "tool/capture_frames.h"

static char **words;

static void write_it(void **state)
{
    (void)state;
    uint64_t bytes = capture_frame(words[1], strcmp(words[2], "race") == 0, words[3]);
    fprintf(stdout, "bytes: %" PRIu64 "\n", bytes);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(write_it) };
    words = argv;
    return argc == 4 ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
