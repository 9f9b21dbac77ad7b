// SPDX-License-Identifier: Apache-2.0
// Options of the command line, and their values, checked.
#include "arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <braid/schedule.h>

// getopt leaves in optopt the letter of a short option it does not know, the value of a long one
// that is used wrongly (-h is never wrong, --help may be), and 0 for a long one it does not know.
static enum exit_status refuse(const char *command, int why, const char *word)
{
    if (optopt > 0 && optopt < 256 && optopt != 'h')
        return fail(EXIT_BAD_FILE, "no option '-%c': 'braid %s --help' lists the options", optopt,
                    command);
    if (optopt == 0)
        return fail(EXIT_BAD_FILE, "no option '%s': 'braid %s --help' lists the options", word,
                    command);
    return fail(EXIT_BAD_FILE, "'%s' %s value: 'braid %s --help' lists the options", word,
                why == ':' ? "needs a" : "takes no", command);
}

// A file's costs have fractions, too.
static enum exit_status read_cost(const char *option, const char *text, uint64_t least,
                                  uint64_t most, double *out_cost)
{
    char *end;
    const double cost = strtod(text, &end);
    if (end == text || *end || !(cost >= (double)least && cost <= (double)most))
        return fail(EXIT_BAD_FILE, "%s takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'",
                    option, least, most, text);
    *out_cost = cost;
    return EXIT_DONE;
}

enum { FIRST_OPTION = 256, MOST_OPTIONS = 32 };

static enum exit_status take(const struct argument *argument, char *text, void *into)
{
    void *place = (char *)into + argument->place;
    uint64_t number = 0;
    char option[32];
    enum exit_status status = EXIT_DONE;
    snprintf(option, sizeof(option), "--%s", argument->name);
    switch (argument->kind) {
    case ARGUMENT_IS_FLAG:
        *(bool *)place = true;
        return EXIT_DONE;
    case ARGUMENT_IS_TEXT:
        *(const char **)place = text;
        return EXIT_DONE;
    case ARGUMENT_IS_NUMBER:
        return argument_read_number(option, text, argument->least, argument->most, place);
    case ARGUMENT_IS_COUNT:
        status = argument_read_number(option, text, argument->least, argument->most, &number);
        *(uint32_t *)place = (uint32_t)number;
        return status;
    case ARGUMENT_IS_FACTOR:
        return argument_read_factor(option, text, place);
    case ARGUMENT_IS_COST:
        return read_cost(option, text, argument->least, argument->most, place);
    case ARGUMENT_IS_READ:
    case ARGUMENT_IS_CALL:
        break;
    }
    return argument->read(text, place);
}

enum exit_status arguments_read(const char *command, const char *help, int argc, char **argv,
                                const struct argument *table, void *into, bool *out_is_help)
{
    struct option options[MOST_OPTIONS + 2] = { { NULL, 0, NULL, 0 } };
    int num = 0;
    for (; table[num].name && num < MOST_OPTIONS; num++) {
        bool has_value = table[num].kind != ARGUMENT_IS_FLAG && table[num].kind != ARGUMENT_IS_CALL;
        options[num] = (struct option){ table[num].name, has_value, NULL, FIRST_OPTION + num };
    }
    options[num] = (struct option){ "help", no_argument, NULL, 'h' };
    *out_is_help = false;
    opterr = 0; // getopt's words would be a line of their own
    enum exit_status status = EXIT_DONE;
    for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            *out_is_help = true;
            return EXIT_DONE;
        }
        if (option == '?' || option == ':')
            return refuse(command, option, argv[optind - 1]);
        status = take(&table[option - FIRST_OPTION], optarg, into);
        if (status != EXIT_DONE)
            return status;
    }
    return EXIT_DONE;
}

enum exit_status argument_read_lanes(char *text, void *options)
{
    braid_schedule_options *plan = options;
    uint64_t number = 0;
    enum exit_status status = argument_read_number("--lanes", text, 1, 65535, &number);
    plan->max_lanes = (uint32_t)number;
    plan->fixed_lanes = true;
    return status;
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
