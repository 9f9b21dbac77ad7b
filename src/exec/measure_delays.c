// SPDX-License-Identifier: Apache-2.0
// How much later nodes begin than a cost model expects, from the intervals of frames.
//
// A model has one delay for all kernels. Those that write much memory let the next ones wait for
// longer. The least of several frames counts: it has no delay by other work of the machine. At most
// the time of a wait counts: a node that begins later yet waits for room on the device.
#include "exec/measure_delays.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// ready_ns: when each lane's next node is expected to begin; 0: it stands behind no other. UNKNOWN:
// it stands behind a node that was not timed, such as a loop.
#define UNKNOWN UINT64_MAX

static void walk(const struct measured_frames *frames, struct expected_delays expected,
                 const braid_interval *at, uint64_t *ready_ns, uint64_t *least_ns)
{
    for (size_t i = 0; i < frames->num_steps; i++) {
        const braid_step *step = &frames->steps[i];
        const braid_interval *node = &at[step->node];
        uint64_t *ready = &ready_ns[step->lane];
        bool is_timed = node->end_ns > node->start_ns;
        if (step->kind == BRAID_STEP_RECORD)
            continue;
        if (step->kind == BRAID_STEP_WAIT) {
            *ready = is_timed ? later(*ready, node->end_ns + expected.wait_ns) : UNKNOWN;
            continue;
        }
        uint64_t delay = *ready && node->start_ns > *ready ? node->start_ns - *ready : 0;
        delay = delay < expected.wait_ns ? delay : expected.wait_ns;
        if (delay < least_ns[step->node])
            least_ns[step->node] = delay;
        *ready = is_timed ? node->end_ns + expected.lane_ns : UNKNOWN;
    }
}

braid_status braid_measure_delays(const struct measured_frames *frames,
                                  struct expected_delays expected, uint64_t *out_ns)
{
    uint64_t *ready_ns = braid_allocate_zeroed(frames->num_lanes, sizeof(*ready_ns));
    if (!ready_ns)
        return braid_error_no_memory("the delays of a frame");
    for (uint32_t i = 0; i < frames->num_nodes; i++)
        out_ns[i] = UINT64_MAX;
    for (uint32_t frame = 0; frame < frames->num_frames; frame++) {
        for (uint32_t lane = 0; lane < frames->num_lanes; lane++)
            ready_ns[lane] = 0;
        walk(frames, expected, frames->intervals + (size_t)frame * frames->num_nodes, ready_ns,
             out_ns);
    }
    for (uint32_t i = 0; i < frames->num_nodes; i++)
        out_ns[i] = out_ns[i] == UINT64_MAX ? 0 : out_ns[i];
    free(ready_ns);
    return BRAID_OK;
}
