// SPDX-License-Identifier: Apache-2.0
// The tool's commands. Each takes its own name as argv[0] and returns an exit status.
#ifndef BRAID_TOOL_COMMANDS_H
#define BRAID_TOOL_COMMANDS_H

#include "message.h"

enum exit_status command_plan(int argc, char **argv);
enum exit_status command_run(int argc, char **argv);
enum exit_status command_tune(int argc, char **argv);
enum exit_status command_report(int argc, char **argv);
enum exit_status command_simulate(int argc, char **argv);
enum exit_status command_diff(int argc, char **argv);
enum exit_status command_replay(int argc, char **argv);
enum exit_status command_kernel(int argc, char **argv);
enum exit_status command_record(int argc, char **argv);
enum exit_status command_devices(int argc, char **argv);

#endif
