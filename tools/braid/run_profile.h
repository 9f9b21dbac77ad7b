// SPDX-License-Identifier: Apache-2.0
// What braid run --profile tells: where the time of the last frames went.
#ifndef BRAID_TOOL_RUN_PROFILE_H
#define BRAID_TOOL_RUN_PROFILE_H

#include <braid/timings.h>
#include <jansson.h>

#include "run_report.h"

// Prints lanes, the longest nodes and the longest waits of the frames that the exec kept.
enum exit_status run_profile_print(const struct run *run);

// The same as JSON, of all nodes and waits. EXIT_FAILED and NULL where the library fails.
enum exit_status run_profile_to_json(const struct run *run, json_t **out_json);
json_t *run_profile_spread_to_json(const braid_spread *spread);

// Puts the times that the exec kept in place of those that the nodes wrote themselves: run->kept
// has room for KEPT_FRAMES, the last ones of num_frames; and when the host launched them.
enum exit_status run_profile_take_intervals(struct run *run, uint64_t num_frames);

#endif
