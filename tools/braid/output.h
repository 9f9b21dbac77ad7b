// SPDX-License-Identifier: Apache-2.0
// Results in files: drawings and JSON.
#ifndef BRAID_TOOL_OUTPUT_H
#define BRAID_TOOL_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include <braid/schedule.h>
#include <braid/timeline.h>
#include <jansson.h>

#include "dot_file.h"
#include "message.h"

// Whether an output path means standard output.
bool output_is_stdout(const char *path);

// Writes what `write` does, which gets `user`, as the others below do.
typedef braid_status output_writer(FILE *file, const void *user);
enum exit_status output_write(const char *path, output_writer *write, const void *user);

// Each writes to `path` ("-": standard output); a file cut short is reported, never left silently.
enum exit_status output_write_json(const char *path, const json_t *json);
enum exit_status output_write_drawing(const char *path, const braid_schedule *schedule,
                                      braid_drawing drawing, const braid_timeline_options *options);

// What a word ends in behind the number: "1 lane", "2 lanes".
const char *output_plural(uint64_t number);

// A line on standard output where nodes have no cost; nothing where all have. In a run each of them
// is a kernel of a unit, in a plan what it is costs.
void output_print_missing_costs(const struct dot_file *file, bool is_run);

// A line on standard output that says what limits the frame as planned.
void output_print_limit(const braid_schedule *schedule);

// Starts a JSON report: { "braid": version, "format": 1, "kind": kind }. NULL without memory.
json_t *output_start_json(const char *kind);

#endif
