// SPDX-License-Identifier: Apache-2.0
// Options of the command line, by tables of them, and their values, checked.
#ifndef BRAID_TOOL_ARGUMENTS_H
#define BRAID_TOOL_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <getopt.h>

#include "message.h"

// The value of an option, and the type of its place.
enum argument_kind {
    ARGUMENT_IS_FLAG,   // none: bool
    ARGUMENT_IS_TEXT,   // const char *
    ARGUMENT_IS_NUMBER, // whole, from `least` to `most`: uint64_t
    ARGUMENT_IS_COUNT,  // a whole number, too: uint32_t
    ARGUMENT_IS_FACTOR, // greater than 0: double
    ARGUMENT_IS_COST,   // in units of the file, from `least` to `most`: double
    ARGUMENT_IS_READ,   // by a function
    ARGUMENT_IS_CALL,   // none: a function is called with NULL
};

// `place` is that of the value.
typedef enum exit_status argument_reader(char *text, void *place);

struct argument {
    const char *name; // without dashes
    enum argument_kind kind;
    size_t place; // in what the command keeps its options in
    uint64_t least, most;
    argument_reader *read;
};

// The most that a cost may be, in units of the file.
#define ARGUMENT_MOST_COST ((uint64_t)1 << 30)

// Rows of a table. `member` is of the struct that the command keeps its options in.
#define ARGUMENT_OF(kind, name, type, member, least, most, read)                                   \
    {                                                                                              \
        name, ARGUMENT_IS_##kind, offsetof(type, member), least, most, read                        \
    }
#define ARGUMENT_FLAG(name, type, member) ARGUMENT_OF(FLAG, name, type, member, 0, 0, NULL)
#define ARGUMENT_TEXT(name, type, member) ARGUMENT_OF(TEXT, name, type, member, 0, 0, NULL)
#define ARGUMENT_NUMBER(name, type, member, least, most)                                           \
    ARGUMENT_OF(NUMBER, name, type, member, least, most, NULL)
#define ARGUMENT_COUNT(name, type, member, least, most)                                            \
    ARGUMENT_OF(COUNT, name, type, member, least, most, NULL)
#define ARGUMENT_FACTOR(name, type, member) ARGUMENT_OF(FACTOR, name, type, member, 0, 0, NULL)
#define ARGUMENT_COST(name, type, member, least)                                                   \
    ARGUMENT_OF(COST, name, type, member, least, ARGUMENT_MOST_COST, NULL)
#define ARGUMENT_READ(name, type, member, read) ARGUMENT_OF(READ, name, type, member, 0, 0, read)
#define ARGUMENT_CALL(name, type, member, call) ARGUMENT_OF(CALL, name, type, member, 0, 0, call)

// A cost in nanoseconds, of a unit with so many.
static inline uint64_t argument_cost_ns(double cost, uint64_t unit_ns)
{
    return (uint64_t)(cost * (double)unit_ns + 0.5);
}

// Reads the options of a command into a struct of its own. optind is behind them then. -h and
// --help print the help: *out_is_help, and that is all.
enum exit_status arguments_read(const char *command, const char *help, int argc, char **argv,
                                const struct argument *table, void *into, bool *out_is_help);

// An option of planning that several commands have: --lanes, into braid_schedule_options.
enum exit_status argument_read_lanes(char *text, void *options);

// Reads a whole number from `least` to `most`; `option` is for the message.
enum exit_status argument_read_number(const char *option, const char *text, uint64_t least,
                                      uint64_t most, uint64_t *out_number);

// Reads a number greater than 0, with a fraction or an exponent if need be.
enum exit_status argument_read_factor(const char *option, const char *text, double *out_factor);

// The one FILE that must remain after the options. `command` is for the message.
enum exit_status argument_read_file(const char *command, int argc, char **argv, int first,
                                    const char **out_path);

#endif
