// SPDX-License-Identifier: Apache-2.0
// Values of command-line options, checked.
#ifndef BRAID_TOOL_ARGUMENTS_H
#define BRAID_TOOL_ARGUMENTS_H

#include <stdint.h>

#include <getopt.h>

#include "message.h"

// The next option, as getopt_long tells it, of the long ones and -h; -1 after the last. '?' for a
// wrong one, which is then reported. `command` is for the message.
int argument_next_option(const char *command, int argc, char **argv, const struct option *options);

// Reads a whole number from `least` to `most`; `option` is for the message.
enum exit_status argument_read_number(const char *option, const char *text, uint64_t least,
                                      uint64_t most, uint64_t *out_number);

// Reads a number greater than 0, with a fraction or an exponent if need be.
enum exit_status argument_read_factor(const char *option, const char *text, double *out_factor);

// The one FILE that must remain after the options. `command` is for the message.
enum exit_status argument_read_file(const char *command, int argc, char **argv, int first,
                                    const char **out_path);

#endif
