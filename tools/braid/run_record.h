// SPDX-License-Identifier: Apache-2.0
// Runs a recorded frame again, and compares it with the program's.
#ifndef BRAID_TOOL_RUN_RECORD_H
#define BRAID_TOOL_RUN_RECORD_H

#include "message.h"
#include "run_arguments.h"

// `argv` is the command line behind the tool's name, and ends with NULL: the tool may start again.
enum exit_status run_record(const struct run_arguments *arguments, char **argv);

#endif
