// SPDX-License-Identifier: Apache-2.0
// The lane walker, for threads that pass lanes on to workers.
#include "backends/cpu/walker/walker_walk.h"

struct cpu_job *braid_cpu_lane_pass(struct cpu_backend *backend, struct cpu_job *job)
{
    struct cpu_lane *lane = cpu_lane_of_job(job);
    const struct cpu_program *program = lane->program;
    struct cpu_lane_clock *clocks = program->profile ? program->profile->clocks : NULL;
    return walk(backend, lane, clocks ? &clocks[lane - program->lanes] : NULL, true);
}
