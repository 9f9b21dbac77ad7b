// SPDX-License-Identifier: Apache-2.0
// How much later nodes begin than a cost model expects, from the intervals of frames.
//
// A model has one delay for all kernels. Those that write much memory let the next ones wait for
// longer. The median of several frames counts. At most the time of two waits counts: a node that
// begins later yet waits for room on the device.
#include "exec/measure_delays.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/spread.h"

// ready_ns: when each lane's next node is expected to begin; 0: it stands behind no other. UNKNOWN:
// it stands behind a node that was not timed.
#define UNKNOWN UINT64_MAX

static void walk(const struct measured_frames *frames, struct expected_delays expected,
                 const braid_interval *at, uint64_t *ready_ns, uint64_t *delays_ns)
{
    const uint64_t most_ns = 2 * expected.wait_ns;
    for (size_t i = 0; i < frames->num_steps; i++) {
        const braid_step *step = &frames->steps[i];
        const braid_interval *node = &at[step->node];
        uint64_t *ready = &ready_ns[step->lane];
        bool is_timed = node->end_ns > node->start_ns;
        if (step->kind == BRAID_STEP_RECORD)
            continue;
        if (step->kind == BRAID_STEP_WAIT) {
            uint64_t passed_ns = node->end_ns + expected.wait_ns;
            *ready = !is_timed ? UNKNOWN : passed_ns > *ready ? passed_ns : *ready;
            continue;
        }
        uint64_t delay = *ready && node->start_ns > *ready ? node->start_ns - *ready : 0;
        delays_ns[step->node] = delay < most_ns ? delay : most_ns;
        *ready = is_timed ? node->end_ns + expected.lane_ns : UNKNOWN;
    }
}

// delays_ns: of each node in each frame. The lower one of two in the middle.
static void find_medians(const struct measured_frames *frames, const uint64_t *delays_ns,
                         uint64_t *sorted_ns, uint64_t *out_ns)
{
    for (uint32_t i = 0; i < frames->num_nodes; i++) {
        for (uint32_t frame = 0; frame < frames->num_frames; frame++)
            sorted_ns[frame] = delays_ns[(size_t)frame * frames->num_nodes + i];
        sort_numbers(sorted_ns, frames->num_frames);
        out_ns[i] = frames->num_frames ? sorted_ns[(frames->num_frames - 1) / 2] : 0;
    }
}

braid_status braid_measure_delays(const struct measured_frames *frames,
                                  struct expected_delays expected, uint64_t *out_ns)
{
    const size_t num = (size_t)frames->num_frames * frames->num_nodes;
    const size_t num_sorted = frames->num_frames, num_lanes = frames->num_lanes;
    uint64_t *delays_ns = braid_allocate_zeroed(num + num_sorted + num_lanes, sizeof(*delays_ns));
    if (!delays_ns)
        return braid_error_no_memory("the delays of a frame");
    uint64_t *sorted_ns = delays_ns + num, *ready_ns = sorted_ns + num_sorted;
    for (uint32_t frame = 0; frame < frames->num_frames; frame++) {
        const size_t first = (size_t)frame * frames->num_nodes;
        for (uint32_t lane = 0; lane < num_lanes; lane++)
            ready_ns[lane] = 0;
        walk(frames, expected, frames->intervals + first, ready_ns, delays_ns + first);
    }
    find_medians(frames, delays_ns, sorted_ns, out_ns);
    free(delays_ns);
    return BRAID_OK;
}
