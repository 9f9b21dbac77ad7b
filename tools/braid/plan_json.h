// SPDX-License-Identifier: Apache-2.0
// A plan as JSON; docs/json.md describes it.
#ifndef BRAID_TOOL_PLAN_JSON_H
#define BRAID_TOOL_PLAN_JSON_H

#include <braid/schedule.h>
#include <jansson.h>

#include "dot_file.h"

// Text as a JSON string, which is UTF-8: bytes that are not become U+FFFD.
json_t *plan_json_text(const char *text);

// A time in units of unit_ns nanoseconds: with as many places as it needs.
json_t *plan_json_time(const struct dot_file *file, uint64_t time_ns, uint64_t unit_ns);

// The counts and times of a plan, without its nodes; times in units of unit_ns nanoseconds. NULL
// when memory runs out.
json_t *plan_json_summary(const char *kind, const struct dot_file *file,
                          const braid_schedule *schedule, uint64_t unit_ns);

// Writes the whole plan to `path` ("-": standard output). Reports a failure.
enum exit_status plan_json_write(const char *path, const struct dot_file *file,
                                 const braid_schedule *schedule, const braid_graph *graph,
                                 uint64_t plan_ns);

#endif
