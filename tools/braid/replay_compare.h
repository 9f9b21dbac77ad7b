// SPDX-License-Identifier: Apache-2.0
// Runs a captured frame twice, and compares what its nodes write.
#ifndef BRAID_TOOL_REPLAY_COMPARE_H
#define BRAID_TOOL_REPLAY_COMPARE_H

#include "replay_device.h"
#include "replay_differences.h"

struct replay_difference {
    bool is_found;
    uint32_t node; // whose output differs; CAPTURE_NONE: no node declares that it writes it
    uint32_t last; // one of `num_writers` nodes from `node` to this one, if these are more than 1
    uint32_t num_writers;
    uint32_t buffer;
    uint64_t at;
    struct replay_value left, right;
};

struct replay_comparison {
    struct replay_graph graph;
    struct replay_tolerance tolerance;
    struct replay_device left, right;
    const char *left_name, *right_name; // for messages
    unsigned char **contents;           // by resource, of the serial run
    unsigned char *room[2];             // for the largest buffer each
    uint64_t *iterations;               // by node: of loops, for messages; 0: not known
    uint64_t most_iterations;           // all loops', one by one
    struct replay_difference found;     // the first one, once it was printed
};

// Whether loops without a condition have no more iterations than that.
enum exit_status replay_check_iterations(const struct capture_file *file, uint64_t most);

// The frame on two devices, after each node. Both are open. Prints the first difference, which is a
// failure.
enum exit_status replay_compare_devices(struct replay_comparison *comparison);
// The nodes one by one, and the frame as planned on so many lanes, on `left`.
enum exit_status replay_compare_runs(struct replay_comparison *comparison, uint32_t num_lanes);

void replay_comparison_finish(struct replay_comparison *comparison);

#endif
