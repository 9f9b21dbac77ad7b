// SPDX-License-Identifier: Apache-2.0
// The command line of braid run.
#ifndef BRAID_TOOL_RUN_ARGUMENTS_H
#define BRAID_TOOL_RUN_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/exec.h>

#include "dot_limits.h"
#include "message.h"

struct run_arguments {
    const char *costs, *path, *tuned, *saved, *saved_to, *json, *timeline, *trace, *page, *backend;
    uint64_t num_frames;
    double time_scale; // nanoseconds a unit of cost; 0: by the file's cost_unit
    uint32_t ordinal, num_workers;
    uint32_t num_places; // 0 or 1: one
    braid_exec_mode mode;
    braid_schedule_options plan;
    struct dot_limits limits;
    bool is_profiled; // the exec keeps the times of its frames, and they are told
    bool is_help;     // it was printed, and that is all
};

// --device NAME or NAME:ORDINAL, into struct run_arguments.
enum exit_status run_arguments_read_device(char *text, void *arguments);

// How many results go to standard output, where there is no text then.
int run_arguments_on_stdout(const struct run_arguments *arguments);

enum exit_status run_arguments_read(int argc, char **argv, struct run_arguments *arguments);

#endif
