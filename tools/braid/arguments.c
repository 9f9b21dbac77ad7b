// SPDX-License-Identifier: Apache-2.0
// Values of command-line options, checked.
#include "arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum exit_status argument_read_number(const char *option, const char *text, uint64_t least,
                                      uint64_t most, uint64_t *out_number)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number < least || number > most)
        return fail(EXIT_BAD_FILE,
                    "%s takes a whole number from %" PRIu64 " to %" PRIu64 ", not '%s'", option,
                    least, most, text);
    *out_number = number;
    return EXIT_DONE;
}

enum exit_status argument_read_factor(const char *option, const char *text, double *out_factor)
{
    char *end;
    double factor = strtod(text, &end);
    if (end == text || *end || !(factor > 0 && factor <= 1e12))
        return fail(EXIT_BAD_FILE, "%s takes a number greater than 0, not '%s'", option, text);
    *out_factor = factor;
    return EXIT_DONE;
}

enum exit_status argument_read_file(const char *command, int argc, char **argv, int first,
                                    const char **out_path)
{
    if (first >= argc)
        return fail(EXIT_BAD_FILE, "which file? braid %s FILE.dot, or '-' for standard input",
                    command);
    if (first + 1 < argc)
        return fail(EXIT_BAD_FILE, "one file at a time: '%s' is one too many", argv[first + 1]);
    *out_path = argv[first];
    return EXIT_DONE;
}
