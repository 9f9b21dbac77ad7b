// SPDX-License-Identifier: Apache-2.0
// How much later nodes begin than a cost model expects.
#ifndef BRAID_EXEC_MEASURE_DELAYS_H
#define BRAID_EXEC_MEASURE_DELAYS_H

#include <stddef.h>

#include <braid/schedule.h>
#include <braid/timeline.h>

// lane_ns: from the end of a node to the begin of the next on its lane. wait_ns: from the end of a
// node to the begin of one on another lane that waits for it.
struct expected_delays {
    uint64_t lane_ns, wait_ns;
};

struct measured_frames {
    const braid_step *steps; // of a frame, in issue order
    size_t num_steps;
    const braid_interval *intervals; // num_frames * num_nodes; zero of a node that was not timed
    uint32_t num_frames, num_nodes, num_lanes;
};

// Writes for each node the median delay of the frames over the expected one, twice wait_ns at most.
// It is 0 for nodes that begin as expected, stand behind no other node, or were not timed. Errors:
// BRAID_NO_MEMORY.
braid_status braid_measure_delays(const struct measured_frames *frames,
                                  struct expected_delays expected, uint64_t *out_ns);

#endif
