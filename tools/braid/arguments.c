// SPDX-License-Identifier: Apache-2.0
// Values of command-line options, checked.
#include "arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

// getopt leaves in optopt the letter of a short option it does not know, the value of a long one
// that is used wrongly (-h is never wrong, --help may be), and 0 for a long one it does not know.
static void refuse(const char *command, int why, const char *word)
{
    if (optopt > 0 && optopt < 256 && optopt != 'h')
        fail(EXIT_BAD_FILE, "no option '-%c': 'braid %s --help' lists the options", optopt,
             command);
    else if (optopt == 0)
        fail(EXIT_BAD_FILE, "no option '%s': 'braid %s --help' lists the options", word, command);
    else
        fail(EXIT_BAD_FILE, "'%s' %s value: 'braid %s --help' lists the options", word,
             why == ':' ? "needs a" : "takes no", command);
}

int argument_next_option(const char *command, int argc, char **argv, const struct option *options)
{
    opterr = 0; // getopt's words would be a line of their own
    int option = getopt_long(argc, argv, ":h", options, NULL);
    if (option != '?' && option != ':')
        return option;
    refuse(command, option, argv[optind - 1]);
    return '?';
}

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
        return fail(EXIT_BAD_FILE, "%s takes a number greater than 0, up to 1e12, not '%s'", option,
                    text);
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
